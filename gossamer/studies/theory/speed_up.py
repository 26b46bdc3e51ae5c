"""Theorems 1 and 2: how much more nodes reduce the noise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch

from gossamer.colours import OKABE_ITO
from gossamer.experiments import (
    Experiment,
    Figures,
    Result,
    Results,
    SizeName,
    Table,
    Unit,
    Verdict,
)
from gossamer.networks import complete
from gossamer.noise import AlphaStable, Noise
from gossamer.plots import curve, panels, style
from gossamer.seeding import stream
from gossamer.studies.seeds import fresh_seeds
from gossamer.studies.theory.measured import measure_rule
from gossamer.studies.theory.rates import ORDERS, skewed_noise, two_camps
from gossamer.theory import Slope, fit_slope

NODES = (2, 4, 8, 16, 32)
ORDER = 1.45
CASES = {
    "quiet": (0.05, 1),
    "moderate": (0.5, 1),
    "loud": (2.0, 1),
    "very loud": (4.0, 1),
    "loud, 8 dimensions": (2.0, 8),
}
"""Name → noise scale and dimension, beside an initial gradient of 1 in every coordinate."""


@dataclass(frozen=True)
class Size:
    """Horizons, seeds, and batches of averaged noise."""

    horizons: tuple[int, ...]
    seeds: int
    batches: int = 50


@dataclass(frozen=True)
class Levels(Unit):
    """Averaged gradient norms with the parameters of Theorem 2 on complete graphs."""

    noise: Noise
    dim: int
    nodes: tuple[int, ...]
    horizons: tuple[int, ...]
    seeds: tuple[int, ...]

    def run(self, device: str) -> Result:
        """For every horizon and n: the average over the whole run and over its second half."""
        per_size = [
            measure_rule(two_camps(n, self.dim), complete(n), self.noise, self.horizons, self.seeds)
            for n in self.nodes
        ]
        halves = torch.stack(per_size, dim=2)  # (2, horizons, sizes, seeds)
        averages, second = halves.mean(0).tolist(), halves[1].tolist()
        return {"horizons": self.horizons, "averages": averages, "second_half": second}


@dataclass(frozen=True)
class AveragedNoise(Unit):
    """E‖(1/n) Σ ξ_i‖ in batches, for every noise."""

    noises: Mapping[str, Noise]
    nodes: tuple[int, ...]
    batches: int
    seed: int
    batch: int = 2_000

    def run(self, device: str) -> Result:
        """Noise → a row for every n, in it a mean for every batch."""
        result: Result = {}
        for name, noise in self.noises.items():
            shape = (self.batches, self.batch, max(self.nodes), 1)
            draws = noise.sample(shape, generator=stream("speed-up", self.seed))
            means = [draws[:, :, :n].mean(2).norm(dim=-1).mean(1) for n in self.nodes]
            result[name] = torch.stack(means).tolist()
        return result


def noise_exponent(noise: Noise) -> float:
    """Of E‖(1/n) Σ ξ_i‖ in n: −(1 − 1/α) for α-stable noise, −½ for Gaussian."""
    return -(1 - 1 / noise.tail_index) if isinstance(noise, AlphaStable) else -0.5


class SpeedUp(Experiment[Size]):
    """The averaged noise, and the level of GT-NSGDm under it, against the number of nodes."""

    name = "speed-up"
    study = "theory"
    title = "Theorems 1 and 2: the speed-up in n"
    about = (
        "Left: the size of the noise averaged over n nodes, E‖(1/n) Σ ξ_i‖, for one-sided α-stable "
        "and Gaussian noise; dashed, n^(−(1−1/α)). Right: GT-NSGDm with the parameters of Theorem "
        "2 on complete graphs of 2 to 32 nodes that pull to 0 and to 2, under 1.5-stable noise "
        "from quiet to very loud: the gradient norm in the second half of the run, where noise "
        "sustains it. The remarks promise a factor n^(1−1/p) where noise leads, and none where it "
        "does not."
    )

    sizes: ClassVar[Mapping[SizeName, Size]] = {
        "test": Size((32, 64), seeds=2, batches=5),
        "quick": Size((2**9, 2**11, 2**13), seeds=8),
        "full": Size((2**11, 2**13, 2**15), seeds=32),
    }

    def units(self, size: Size, seed: int) -> list[Unit]:
        """The noise alone, then a unit per case."""
        noises = {f"{p}": skewed_noise(p, 1.0) for p in ORDERS}
        seeds = fresh_seeds(seed, size.seeds)
        runs = [
            Levels(name, skewed_noise(ORDER, scale), dim, NODES, size.horizons, seeds)
            for name, (scale, dim) in CASES.items()
        ]
        return [AveragedNoise("noise", noises, NODES, size.batches, seed), *runs]

    def finding(self, results: Results) -> str:
        """The slopes in n beside the promised one."""
        promised = noise_exponent(skewed_noise(ORDER, 1))
        slopes = sorted(_last_slopes(results).values(), key=lambda s: s.slope)
        return (
            "Where noise leads, GT-NSGDm's error changes with the number n of nodes as n to the "
            f"power of {slopes[0].slope:.2f} to {slopes[-1].slope:.2f}; the remarks on the "
            f"theorems promise {promised:.2f}."
        )

    def figures(self, results: Results) -> Figures:
        """Averaged noise and gradient norm against n; dashed: the remark's slope."""
        with style():
            figure, (left, right) = panels(2, width=4.0, height=3.4)
            for colour, p in zip(OKABE_ITO, ORDERS, strict=False):
                values, exponent = results["noise"][f"{p}"], noise_exponent(skewed_noise(p, 1))
                curve(left, NODES, values, f"p = {p:g}", colour)
                first = sum(values[0]) / len(values[0])
                guide = [first * (n / NODES[0]) ** exponent for n in NODES]
                left.plot(NODES, guide, "--", color=colour, linewidth=0.9, label=f"_p = {p:g}")
            for colour, name in zip(OKABE_ITO, CASES, strict=False):
                curve(right, NODES, results[name]["second_half"][-1], name, colour)
            for ax, title in ((left, "averaged noise"), (right, "gradient norm, second half")):
                ax.set(xscale="log", yscale="log", xlabel="number of nodes n", title=title)
                ax.set_xticks(NODES, labels=[str(n) for n in NODES])
                ax.minorticks_off()
            figure.supxlabel("dashed: the slope of the remark")
            left.legend()
            right.legend()
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
        return [_averaging(results), _high_noise(results), _quiet(results)]


def _averaging(results: Results) -> Verdict:
    alone = _noise_slopes(results)
    exponents = {p: noise_exponent(skewed_noise(p, 1)) for p in ORDERS}
    return Verdict(
        "Averaging over n nodes reduces noise by n^(1−1/p)",
        "slope of the averaged noise against n (promised): "
        + "; ".join(f"p = {p:g}: {s} ({exponents[p]:.3f})" for p, s in alone.items()),
        {f"p = {p:g}": abs(s.slope - exponents[p]) <= 0.05 for p, s in alone.items()},
        "It holds if the slope is within 0.05 of the promised −(1−1/α), where α is the tail index "
        "of the noise.",
    )


def _high_noise(results: Results) -> Verdict:
    promised = noise_exponent(skewed_noise(ORDER, 1))
    T, levels = results["loud"]["horizons"][-1], _last_slopes(results)
    falls = all(s.slope < -2 * s.error for s in levels.values())
    return Verdict(
        "In the high-noise regime GT-NSGDm has a speed-up factor n^(1−1/p)",
        "slope of the gradient norm in the second half of the run against n, at "
        f"T = {T:,} (promised: {promised:.3f}): "
        + "; ".join(f"{name}: {s}" for name, s in levels.items()),
        {name: abs(s.slope - promised) <= 2 * s.error for name, s in levels.items()},
        "It holds if the slope is within two standard errors of the promised one. "
        + ("All slopes are below 0 by more than that, so there is a speed-up." if falls else ""),
    )


def _last_slopes(results: Results) -> dict[str, Slope]:
    """Case in which noise leads → the slope of the second half at the longest horizon."""
    return {name: _run_slopes(results[name])[-1][2] for name in CASES if name != "quiet"}


def _quiet(results: Results) -> Verdict:
    _, whole, _ = _run_slopes(results["quiet"])[-1]
    return Verdict(
        "Outside that regime more nodes do not help",
        f"slope of the average over the whole run against n, under quiet noise: {whole}",
        abs(whole.slope) <= 0.03,
        "It holds if the slope is within 0.03 of 0.",
    )


def _noise_slopes(results: Results) -> dict[float, Slope]:
    return {p: fit_slope(NODES, results["noise"][f"{p}"]) for p in ORDERS}


def _run_slopes(result: Result) -> list[tuple[int, Slope, Slope]]:
    """T, slope of the whole average and of the second half."""
    rows = zip(result["horizons"], result["averages"], result["second_half"], strict=True)
    return [(T, fit_slope(NODES, whole), fit_slope(NODES, second)) for T, whole, second in rows]
