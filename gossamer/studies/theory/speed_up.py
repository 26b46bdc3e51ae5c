"""Remarks on Theorems 1 and 2: n nodes reduce the noise by n^(1−1/p)."""

from functools import partial

import torch

from gossamer.experiments.experiment import Experiment, Figures, Options, Result, Results, Unit
from gossamer.experiments.verdict import Table, Verdict, judge
from gossamer.networks import complete
from gossamer.noise import AlphaStable, Noise
from gossamer.seeding import stream
from gossamer.studies.theory.measured import measure_rule
from gossamer.studies.theory.rates import ORDERS, skewed_noise, two_camps
from gossamer.theory import Slope, fit_slope

SIZES = [2, 4, 8, 16, 32]
ORDER = 1.45
CASES = {
    "quiet": (0.05, 1),
    "moderate": (0.5, 1),
    "loud": (2.0, 1),
    "very loud": (4.0, 1),
    "loud, 8 dimensions": (2.0, 8),
}
"""Name → noise scale and dimension, beside an initial gradient of 1 in every coordinate."""
BATCHES, BATCH = 50, 2_000


def horizons(options: Options) -> list[int]:
    """T, each four times the one before."""
    return [2**k for k in ((11, 13, 15) if options.full else (10, 12, 14))]


def seeds(options: Options) -> list[int]:
    """The seeds of every size."""
    return [1000 * options.seed + seed for seed in range(32 if options.full else 8)]


def noise_exponent(noise: Noise) -> float:
    """Of E‖(1/n) Σ ξ_i‖ in n: −(1 − 1/α) for α-stable noise, −½ for Gaussian."""
    return -(1 - 1 / noise.tail_index) if isinstance(noise, AlphaStable) else -0.5


def _compute_runs(scale: float, dim: int, options: Options) -> Result:
    noise, T = skewed_noise(ORDER, scale), horizons(options)
    per_size = [
        measure_rule(two_camps(n, dim), complete(n), noise, T, seeds(options)) for n in SIZES
    ]
    halves = torch.stack(per_size, dim=2)  # (2, horizons, sizes, seeds)
    averages, second = halves.mean(0).tolist(), halves[1].tolist()
    return {"horizons": T, "averages": averages, "second_half": second}


def _compute_noise(options: Options) -> Result:
    """E‖(1/n) Σ ξ_i‖ in batches, for every order."""
    result: Result = {}
    for p in ORDERS:
        generator = stream("speed-up", options.seed)
        draws = skewed_noise(p, 1.0).sample((BATCHES, BATCH, SIZES[-1], 1), generator=generator)
        means = [draws[:, :, :n].mean(2).norm(dim=-1).mean(1) for n in SIZES]
        result[f"{p}"] = torch.stack(means).tolist()
    return result


class SpeedUp(Experiment):
    """The averaged noise, and the level of GT-NSGDm under it, against the number of nodes."""

    name = "speed-up"
    title = "Theorems 1 and 2: the speed-up in n"
    about = (
        "Left: the size of the noise averaged over n nodes, E‖(1/n) Σ ξ_i‖, for one-sided α-stable "
        "and Gaussian noise; dashed, n^(−(1−1/α)). Right: GT-NSGDm with the parameters of Theorem "
        "2 on complete graphs of 2 to 32 nodes that pull to 0 and to 2, under 1.5-stable noise "
        "from quiet to very loud: the gradient norm in the second half of the run, where noise "
        "sustains it. The remarks promise a factor n^(1−1/p) where noise leads, and none where it "
        "does not."
    )

    def units(self, options: Options) -> list[Unit]:
        """The noise alone, then a unit per case."""
        listed = {"sizes": SIZES, "seeds": seeds(options), "horizons": horizons(options)}
        batches = {"sizes": SIZES, "batches": [BATCHES, BATCH], "seed": options.seed}
        runs = [
            Unit(
                name,
                {"noise": repr(skewed_noise(ORDER, scale)), "dim": dim, **listed},
                partial(_compute_runs, scale, dim, options),
            )
            for name, (scale, dim) in CASES.items()
        ]
        return [Unit("noise", batches, partial(_compute_noise, options)), *runs]

    def figures(self, results: Results) -> Figures:
        """Averaged noise and gradient norm against n; dashed: the remark's slope."""
        from gossamer.plots import OKABE_ITO, curve, panels, style

        with style():
            figure, (left, right) = panels(2, width=4.0, height=3.4)
            for colour, p in zip(OKABE_ITO, ORDERS, strict=False):
                values, exponent = results["noise"][f"{p}"], noise_exponent(skewed_noise(p, 1))
                curve(left, SIZES, values, f"p = {p:g}", colour)
                first = sum(values[0]) / BATCHES
                guide = [first * (n / SIZES[0]) ** exponent for n in SIZES]
                left.plot(SIZES, guide, "--", color=colour, linewidth=0.9)
            for colour, name in zip(OKABE_ITO, CASES, strict=False):
                curve(right, SIZES, results[name]["second_half"][-1], name, colour)
            for ax, title in ((left, "averaged noise"), (right, "gradient norm, second half")):
                ax.set(xscale="log", yscale="log", xlabel="number of nodes n", title=title)
                ax.set_xticks(SIZES, labels=[str(n) for n in SIZES])
                ax.minorticks_off()
            left.legend()
            right.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return {"speed-up": figure}

    def tables(self, results: Results) -> list[Table]:
        """Slopes in n."""
        rows = [
            [f"noise alone, p = {p:g}", str(slope), f"{noise_exponent(skewed_noise(p, 1)):.3f}"]
            for p, slope in _noise_slopes(results).items()
        ]
        promised = f"{noise_exponent(skewed_noise(ORDER, 1)):.3f}"
        for name in CASES:
            for T, whole, second in _run_slopes(results[name]):
                rows.append([f"{name}, T = {T:,}, second half", str(second), promised])
                rows.append([f"{name}, T = {T:,}, whole run", str(whole), "–"])
        return [Table("Slopes in the number of nodes", ["what", "slope ± s.e.", "theory"], rows)]

    def verdicts(self, results: Results) -> list[Verdict]:
        """The averaged noise, the high-noise regime and its opposite."""
        alone = _noise_slopes(results)
        exponents = {p: noise_exponent(skewed_noise(p, 1)) for p in ORDERS}
        last = {name: _run_slopes(results[name])[-1] for name in CASES}
        T, quiet, _ = last.pop("quiet")
        levels = {name: second for name, (_, _, second) in last.items()}
        promised = exponents[ORDER]
        return [
            Verdict(
                "Averaging over n nodes reduces noise by n^(1−1/p)",
                "; ".join(f"p = {p:g}: {s} ({exponents[p]:.3f})" for p, s in alone.items()),
                judge(*(abs(s.slope - exponents[p]) <= 0.05 for p, s in alone.items())),
                "In brackets −(1−1/α) with α the stable index, the supremum of the admissible p.",
            ),
            Verdict(
                "In the high-noise regime GT-NSGDm has a speed-up factor n^(1−1/p)",
                f"slope of the second half at T = {T:,} (promised {promised:.3f}): "
                + "; ".join(f"{name}: {s}" for name, s in levels.items()),
                judge(
                    all(s.slope < -2 * s.error for s in levels.values()),
                    all(abs(s.slope - promised) <= 2 * s.error for s in levels.values()),
                ),
                "The table has the slopes at shorter T. "
                "Heuristically, the bias of normalization under skewed noise falls as n^(−(1−1/p)) "
                "and the spread of the iterates around it as the square root of that, for slopes "
                f"between {promised / 2:.2f} and {promised:.2f}; the bound covers both.",
            ),
            Verdict(
                "Outside that regime more nodes buy nothing",
                f"slope of the whole average under quiet noise {quiet}",
                judge(abs(quiet.slope) <= 0.03),
            ),
        ]


def _noise_slopes(results: Results) -> dict[float, Slope]:
    return {p: fit_slope(SIZES, results["noise"][f"{p}"]) for p in ORDERS}


def _run_slopes(result: Result) -> list[tuple[int, Slope, Slope]]:
    """T, slope of the whole average and of the second half."""
    rows = zip(result["horizons"], result["averages"], result["second_half"], strict=True)
    return [(T, fit_slope(SIZES, whole), fit_slope(SIZES, second)) for T, whole, second in rows]
