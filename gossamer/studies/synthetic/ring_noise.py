"""The paper's comparison on the 20-node ring under Gaussian, Student-t and α-stable noise."""

from functools import partial

from gossamer.experiments.experiment import Experiment, Figures, Options, Result, Results, Unit
from gossamer.experiments.verdict import Table, Verdict, judge
from gossamer.studies.synthetic.grids import SYNTHETIC
from gossamer.studies.synthetic.synthetic import (
    NETWORKS,
    NOISES,
    PRINTED_LAMBDA,
    SEARCH_DTYPE,
    final_errors,
    fresh_seeds,
    median_error,
    show_hyperparameters,
    spread,
    steps,
    tune,
    tuning_seeds,
)

HEAVY = ("Student-t", "α-stable")
DASHED = {"DSGD-Clip (shrinking)": 1, "GT-DSGD": 3}
"""Line styles of curves that would hide another or are a second reading."""

NEAR = 2.0
"""A method is near-optimal while its median error is at most this multiple of the lowest."""

ROBUST = 0.5
"""A method is robust where no seed ends above this share of the initial error."""

FAR = 0.25
"""A method fails to reach the optimum where its median ends above this share of the initial."""

STABLE = 2.0
"""A method is stable where no seed ends above this multiple of the initial error."""


class RingNoise(Experiment):
    """Seven methods × three noises, tuned on the paper's grids, reported on fresh seeds."""

    name = "ring-noise"
    title = "Methods on a ring under Gaussian, Student-t and α-stable noise"
    about = (
        "Robust regression on 20 nodes of a 2-hop ring (λ = 0.904). Every method is tuned on the "
        "paper's search set with tuning seeds, then run on five fresh seeds; lines are medians, "
        "bands the range over the seeds. DSGD-Clip is shown in both readings of its clipping "
        "exponent, +2/5 as printed and −2/5; DSGD-GClip is added."
    )

    def units(self, options: Options) -> list[Unit]:
        """A unit per noise and method."""
        return [
            Unit(
                f"{noise} {method}",
                {
                    "method": method,
                    "grid": grid,
                    "noise": repr(NOISES[noise]),
                    "network": NETWORKS["ring"].name,
                    "steps": steps(options),
                    "data_seed": options.seed,
                    "tuning_seeds": tuning_seeds(options),
                    "fresh_seeds": fresh_seeds(options),
                    "device": options.device,
                    "search_dtype": str(SEARCH_DTYPE),
                },
                partial(tune, algorithm, grid, NETWORKS["ring"], NOISES[noise], options),
            )
            for noise in NOISES
            for method, (algorithm, grid) in SYNTHETIC.items()
        ]

    def figures(self, results: Results) -> Figures:
        """Average estimation error over steps, one panel per noise."""
        from gossamer.plots import LINE_STYLES, OKABE_ITO, curve, panels, style

        with style():
            figure, axes = panels(len(NOISES), width=3.9, height=3.4)
            for ax, noise in zip(axes, NOISES, strict=True):
                for i, method in enumerate(SYNTHETIC):
                    chosen = results[f"{noise} {method}"]["grid"]
                    line = LINE_STYLES[DASHED.get(method, 0)]
                    curve(ax, chosen["steps"], chosen["error"], method, OKABE_ITO[i], line)
                ax.set(title=f"{noise} noise", xlabel="step t", yscale="log", ylim=(0.05, 20))
            axes[0].set_ylabel("average estimation error")
            handles, labels = axes[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=len(SYNTHETIC))
        return {"ring-noise": figure}

    def tables(self, results: Results) -> list[Table]:
        """The chosen hyper-parameters, and what halving found at what cost."""
        chosen = [
            [noise, method, show_hyperparameters(r["grid"]["hyperparameters"]), _final(r, "grid")]
            for noise, method, r in _each(results)
        ]
        return [
            Table(
                "Chosen by the full grid; final error on five fresh seeds, median [range]",
                ["noise", "method", "hyper-parameters", "final error"],
                chosen,
            ),
            Table(
                "Halving against the full grid",
                ["noise", "method", "grid", "halving", "ratio", "run-steps"],
                [[noise, method, *_halving(r)] for noise, method, r in _each(results)],
            ),
        ]

    def verdicts(self, results: Results) -> list[Verdict]:
        """Every sentence of the paper about this figure."""
        return [
            _lambda(),
            _gaussian(results),
            _unstable(results),
            _clip(results),
            _robust(results),
            _best(results),
            _search(results),
        ]


def _each(results: Results) -> list[tuple[str, str, Result]]:
    return [(n, m, results[f"{n} {m}"]) for n in NOISES for m in SYNTHETIC]


def _final(result: Result, strategy: str) -> str:
    return spread(final_errors(result[strategy]))


def _halving(result: Result) -> list[str]:
    return [
        _final(result, "grid"),
        _final(result, "halving"),
        f"{_ratio(result):.2f}",
        f"{_cost(result):.0%}",
    ]


def _worst(results: Results, noise: str, method: str) -> float:
    """The largest final error, as a multiple of the initial one."""
    curve = results[f"{noise} {method}"]["grid"]
    return float(max(final_errors(curve)) / curve["error"][0][0])


def _robust_on(results: Results, noise: str, method: str) -> bool:
    return _worst(results, noise, method) < ROBUST


def _compare(results: Results, noises: tuple[str, ...], methods: tuple[str, ...]) -> str:
    """Median and range of every method under every noise."""
    return "\n".join(
        f"{noise}: " + ", ".join(f"{m} {_final(results[f'{noise} {m}'], 'grid')}" for m in methods)
        for noise in noises
    )


def _lambda() -> Verdict:
    ours = NETWORKS["ring"].lam
    agree = abs(ours - PRINTED_LAMBDA["ring"]) < 1e-3
    note = "Metropolis weights 1/5 on a ring with neighbours ±1 and ±2."
    return Verdict("λ = 0.904 for the ring of 20 nodes", f"{ours:.6f}", judge(agree), note)


def _gaussian(results: Results) -> Verdict:
    methods = ("DSGD", "GT-DSGD")
    holds = [_robust_on(results, "Gaussian", method) for method in methods]
    statement = "DSGD and GT-DSGD converge under Gaussian noise"
    return Verdict(statement, _compare(results, ("Gaussian",), methods), judge(*holds))


def _unstable(results: Results) -> Verdict:
    methods = ("DSGD", "GT-DSGD")
    unstable = [not _robust_on(results, noise, m) for noise in HEAVY for m in methods]
    return Verdict(
        "DSGD and GT-DSGD become unstable under heavy-tailed noise",
        _compare(results, HEAVY, methods),
        judge(*unstable),
        "Unstable: with the step size that is best on the tuning seeds, some fresh seed is thrown "
        "off or does not get below half of its initial error.",
    )


def _clip(results: Results) -> Verdict:
    printed, shrinking = "DSGD-Clip", "DSGD-Clip (shrinking)"
    shows = {
        m: all(_stable_but_far(results, noise, m) for noise in HEAVY) for m in (printed, shrinking)
    }
    note = (
        "With the printed clipping level τ(t+1)^(+2/5) DSGD-Clip does reach the optimum; only "
        "the exponent −2/5 shows what the figure describes."
    )
    return Verdict(
        "DSGD-Clip remains stable but fails to reach the optimum",
        _compare(results, tuple(NOISES), (printed, shrinking)),
        "yes" if shows[printed] else judge(shows[shrinking], False),
        note if shows[shrinking] and not shows[printed] else "",
    )


def _stable_but_far(results: Results, noise: str, method: str) -> bool:
    curve = results[f"{noise} {method}"]["grid"]
    far = median_error(curve) >= FAR * curve["error"][0][0]
    return far and _worst(results, noise, method) <= STABLE


def _robust(results: Results) -> Verdict:
    methods = ("GT-NSGDm", "SClip-EF")
    pairs = {f"{m} under {n} noise": (n, m) for n in NOISES for m in methods}
    behind = {name: _over_best(results, *pair) for name, pair in pairs.items()}
    far = [f"{name} {ratio:.1f}" for name, ratio in behind.items() if not ratio <= NEAR]
    loose = [name for name, pair in pairs.items() if not _robust_on(results, *pair)]
    notes = {
        "Not robust, some seed ends above half of its initial error": loose,
        "Not near-optimal, as a multiple of the lowest median": far,
    }
    return Verdict(
        "GT-NSGDm and SClip-EF converge robustly and near-optimally in all scenarios",
        _compare(results, tuple(NOISES), methods),
        judge(
            *(name not in loose for name in pairs), *(ratio <= NEAR for ratio in behind.values())
        ),
        " ".join(f"{why}: {', '.join(cases)}." for why, cases in notes.items() if cases),
    )


def _over_best(results: Results, noise: str, method: str) -> float:
    """Median error as a multiple of the lowest of all methods."""
    medians = {m: median_error(results[f"{noise} {m}"]["grid"]) for m in SYNTHETIC}
    return medians[method] / min(medians.values())


def _best(results: Results) -> Verdict:
    lowest = {
        noise: min(SYNTHETIC, key=lambda m: median_error(results[f"{noise} {m}"]["grid"]))
        for noise in NOISES
    }
    best = [method == "GT-NSGDm" for method in lowest.values()]
    note = (
        "With every method tuned on the paper's own grids it is not the best everywhere: "
        "clipping with a tuned level does as well or better on this problem."
    )
    return Verdict(
        "GT-NSGDm is more robust and efficient than the baselines (abstract)",
        "lowest median error: " + ", ".join(f"{n}: {m}" for n, m in lowest.items()),
        judge(*best),
        "" if all(best) else note,
    )


def _search(results: Results) -> Verdict:
    rows = [(n, m, _ratio(r), _cost(r)) for n, m, r in _each(results)]
    missed = [f"{n} {m} {ratio:.2f}" for n, m, ratio, _ in rows if not ratio <= 1.05]
    met = [ratio <= 1.05 and share <= 0.35 for *_, ratio, share in rows]
    cost = sum(r["halving"]["run_steps"] for _, _, r in _each(results)) / sum(
        r["grid"]["run_steps"] for _, _, r in _each(results)
    )
    found = f"within 5 % in {len(rows) - len(missed)} of {len(rows)}, at {cost:.0%} of run-steps"
    worst = max(share for *_, share in rows)
    return Verdict(
        "Our goal: halving finds a setting within 5 % of the full grid's at ≤ 35 % of its cost",
        found + f" (at most {worst:.0%})",
        judge(*met),
        "Ratio of the medians over fresh seeds where it falls short: " + ", ".join(missed)
        if missed
        else "",
    )


def _ratio(result: Result) -> float:
    """Error of halving's choice over error of the grid's; 1 where both diverge."""
    halving, grid = median_error(result["halving"]), median_error(result["grid"])
    return 1.0 if halving == grid else halving / grid


def _cost(result: Result) -> float:
    return float(result["halving"]["run_steps"] / result["grid"]["run_steps"])
