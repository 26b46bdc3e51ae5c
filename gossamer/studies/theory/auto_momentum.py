"""The momentum chosen from noise samples, against the grid's best and the rule for unknown p."""

import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any

from gossamer.algorithms import GTNSGDm
from gossamer.experiments.experiment import Experiment, Figures, Options, Result, Results, Unit
from gossamer.experiments.verdict import Table, Verdict, judge
from gossamer.noise import Noise
from gossamer.seeding import stream
from gossamer.simulation import simulate, sweep
from gossamer.studies.synthetic.grids import MOMENTA, STEP_SIZES
from gossamer.studies.synthetic.synthetic import (
    NETWORKS,
    NOISES,
    SEARCH_DTYPE,
    fresh_seeds,
    problem,
    spread,
    steps,
    tuning_seeds,
)
from gossamer.theory import momentum_from_noise, momentum_rule

NETWORK = NETWORKS["ring"]
SAMPLES = 10_000
WAYS = ("from data", "p unknown", "grid's best")
FACTOR = 1.25
"""An error up to this factor above the grid's best counts as as good."""


def _compute(noise: Noise, options: Options) -> Result:
    task, T = problem(options), steps(options)
    draws = noise.sample((SAMPLES, task.dim), generator=stream("auto-momentum", options.seed))
    choice = momentum_from_noise(draws, T)
    grid = [*MOMENTA, momentum_rule(T), choice.momentum]
    arguments: dict[str, Any] = {"noise": noise, "steps": T, "device": options.device}
    found = sweep(
        GTNSGDm,
        {"momentum": grid, "lr": STEP_SIZES},
        task,
        NETWORK,
        seeds=tuning_seeds(options),
        dtype=SEARCH_DTYPE,
        **arguments,
    )
    scores = found.scores().view(len(grid), len(STEP_SIZES))
    best_lr = [STEP_SIZES[i] for i in scores.argmin(1).tolist()]
    errors = [
        simulate(
            GTNSGDm(lr, momentum),
            task,
            NETWORK,
            seeds=fresh_seeds(options),
            metrics=["error"],
            **arguments,
        )
        .final()
        .tolist()
        for momentum, lr in zip(grid, best_lr, strict=True)
    ]
    tuning = scores.min(1).values.tolist()
    return {"p": choice.p, "momenta": grid, "lr": best_lr, "tuning": tuning, "errors": errors}


class AutoMomentum(Experiment):
    """Three ways to choose β, the step size tuned for each, on the study's noises."""

    name = "auto-momentum"
    title = "Choosing the momentum from noise samples"
    about = (
        f"`momentum_from_noise` estimates p from {SAMPLES:,} noise vectors and returns Theorem 1's "
        "β = 1 − T^(−p/(3p−2)). On the synthetic task and its ring, the final error with this β is "
        "compared with that of Theorem 2's β = 1 − T^(−1/2) and with the best β of the paper's "
        "grid; for each β the step size is tuned on seeds that are not reported."
    )

    def units(self, options: Options) -> list[Unit]:
        """A unit per noise."""
        shared: dict[str, Any] = {
            "device": options.device,
            "search_dtype": str(SEARCH_DTYPE),
            "samples": SAMPLES,
            "steps": steps(options),
            "momenta": MOMENTA,
            "step_sizes": STEP_SIZES,
            "tuning_seeds": tuning_seeds(options),
            "seeds": fresh_seeds(options),
        }
        return [
            Unit(name, {"noise": repr(noise), **shared}, partial(_compute, noise, options))
            for name, noise in NOISES.items()
        ]

    def figures(self, results: Results) -> Figures:
        """Final error against 1 − β, a panel per noise, the two rules marked."""
        from gossamer.plots import OKABE_ITO, panels, style

        with style():
            figure, axes = panels(len(NOISES), width=3.2, height=3.0)
            for ax, (name, result) in zip(axes, results.items(), strict=True):
                size = len(MOMENTA)
                forgetting = [1 - beta for beta in result["momenta"]]
                medians = [statistics.median(e) for e in result["errors"]]
                ax.plot(forgetting[:size], medians[:size], "o-", color=OKABE_ITO[7], label="grid")
                for k, way in ((size, "p unknown"), (size + 1, "from data")):
                    colour = OKABE_ITO[k - size]
                    ax.plot(forgetting[k], medians[k], "D", color=colour, markersize=8, label=way)
                ax.set(xscale="log", yscale="log", xlabel="1 − β", title=name)
            axes[0].set_ylabel("final error, step size tuned")
            axes[0].legend()
        return {"auto-momentum": figure}

    def tables(self, results: Results) -> list[Table]:
        """β, step size and final error of the three ways."""
        rows = [
            [noise, f"{result['p']:.2f}", way, f"{beta:.4f}", f"{lr:g}", spread(errors)]
            for noise, result in results.items()
            for way in WAYS
            for beta, lr, errors in [_choice(result, way)]
        ]
        columns = ["noise", "p from data", "β chosen", "β", "step size", "final error"]
        return [Table("Final errors, median [range] over the seeds", columns, rows)]

    def verdicts(self, results: Results) -> list[Verdict]:
        """Against the grid, and against the rule that does not need p."""
        medians = {
            noise: {way: statistics.median(_choice(result, way)[2]) for way in WAYS}
            for noise, result in results.items()
        }
        against_grid = [m["from data"] / m["grid's best"] for m in medians.values()]
        against_unknown = [m["from data"] / m["p unknown"] for m in medians.values()]
        return [
            Verdict(
                "β from noise samples is as good as the best β of a grid",
                _ratios(medians, against_grid, "grid's best"),
                judge(*(ratio <= FACTOR for ratio in against_grid)),
                f"Within a factor {FACTOR}; the grid had {len(MOMENTA)} times the runs.",
            ),
            Verdict(
                "Knowing p helps: β from samples is at least as good as β = 1 − T^(−1/2)",
                _ratios(medians, against_unknown, "p unknown"),
                judge(*(ratio <= 1.05 for ratio in against_unknown)),
                "With Gaussian noise both rules agree, p = 2.",
            ),
        ]


def _choice(result: Result, way: str) -> tuple[float, float, list[float]]:
    """β, step size and errors of one way; the grid's best is the best on the tuning seeds."""
    size = len(MOMENTA)
    on_grid = result["tuning"][:size]
    best = on_grid.index(min(on_grid))
    index = {"p unknown": size, "from data": size + 1, "grid's best": best}[way]
    return result["momenta"][index], result["lr"][index], result["errors"][index]


def _ratios(medians: dict[str, dict[str, float]], ratios: Sequence[float], other: str) -> str:
    return "; ".join(
        f"{noise}: {m['from data']:.3f} against {m[other]:.3f} ({ratio:.2f})"
        for (noise, m), ratio in zip(medians.items(), ratios, strict=True)
    )
