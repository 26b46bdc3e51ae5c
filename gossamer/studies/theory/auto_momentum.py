"""The momentum chosen from noise samples, against the grid's best and the rule for unknown p."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from gossamer.algorithms import GTNSGDm
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
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.plots import panels, style
from gossamer.problems import RobustRegression
from gossamer.seeding import stream
from gossamer.simulation import simulate, sweep
from gossamer.simulation.search_sets import MOMENTA, STEP_SIZES
from gossamer.simulation.words import spread
from gossamer.studies.records import hundredth
from gossamer.studies.searched import Size
from gossamer.studies.seeds import fresh_seeds, tuning_seeds
from gossamer.studies.synthetic.task import NETWORKS, NOISES
from gossamer.theory import momentum_from_noise, momentum_rule

WAYS = ("from data", "p unknown", "grid's best")
FACTOR = 1.25
"""An error up to this factor above the grid's best counts as equal."""


@dataclass(frozen=True, kw_only=True)
class Momenta(Unit):
    """GT-NSGDm with every momentum of a grid and of two rules, the step size tuned for each."""

    noise: Noise
    network: Network
    samples: int
    steps: int
    momenta: tuple[float, ...]
    step_sizes: tuple[float, ...]
    data_seed: int
    tuning_seeds: tuple[int, ...]
    fresh_seeds: tuple[int, ...]
    search_dtype: torch.dtype = torch.float32

    def run(self, device: str) -> Result:
        """The momenta, the step size chosen for each, and the errors on fresh seeds."""
        problem = RobustRegression(self.network.num_nodes, seed=self.data_seed)
        generator = stream("auto-momentum", self.data_seed)
        draws = self.noise.sample((self.samples, problem.dim), generator=generator)
        choice = momentum_from_noise(draws, self.steps)
        momenta = [*self.momenta, momentum_rule(self.steps), choice.momentum]
        shared: dict[str, Any] = {
            "noise": self.noise,
            "steps": self.steps,
            "record_every": hundredth(self.steps),
            "device": device,
        }
        found = sweep(
            GTNSGDm,
            {"momentum": momenta, "lr": self.step_sizes},
            problem,
            self.network,
            seeds=self.tuning_seeds,
            dtype=self.search_dtype,
            **shared,
        )
        scores = found.scores().view(len(momenta), len(self.step_sizes))
        best = [self.step_sizes[i] for i in scores.argmin(1).tolist()]
        tuned = [GTNSGDm(lr, beta) for lr, beta in zip(best, momenta, strict=True)]
        seeds, metrics = self.fresh_seeds, ["error"]
        runs = [
            simulate(method, problem, self.network, seeds=seeds, metrics=metrics, **shared)
            for method in tuned
        ]
        return {
            "p": choice.p,
            "momenta": momenta,
            "lr": best,
            "tuning": scores.min(1).values.tolist(),
            "errors": [run.final().tolist() for run in runs],
        }


@dataclass(frozen=True, kw_only=True)
class MomentaSize(Size):
    """How long and how often, and how many noise vectors the momentum is computed from."""

    samples: int = 10_000


class AutoMomentum(Experiment[MomentaSize]):
    """Three ways to choose β, the step size tuned for each, on the study's noises."""

    name = "auto-momentum"
    study = "theory"
    title = "Choosing the momentum from noise samples"
    about = (
        "`momentum_from_noise` estimates p from 10,000 noise vectors and returns Theorem 1's "
        "β = 1 − T^(−p/(3p−2)). On the paper's robust regression and its ring, the final error "
        "with this β is compared with that of Theorem 2's β = 1 − T^(−1/2) and with the best β of "
        "the paper's grid; for each β the step size is tuned on other seeds "
        "than those whose results are reported."
    )

    sizes: ClassVar[Mapping[SizeName, MomentaSize]] = {
        "test": MomentaSize(steps=60, tuning_seeds=1, fresh_seeds=2, every=6, samples=1_000),
        "quick": MomentaSize(steps=2_000, tuning_seeds=1),
        "full": MomentaSize(steps=10_000, tuning_seeds=3),
    }

    def units(self, size: MomentaSize, seed: int) -> list[Unit]:
        """A unit per noise."""
        return [
            Momenta(
                name,
                noise=noise,
                network=NETWORKS["ring"],
                samples=size.samples,
                steps=size.steps,
                momenta=tuple(MOMENTA[:: size.every]),
                step_sizes=tuple(STEP_SIZES[:: size.every]),
                data_seed=seed,
                tuning_seeds=tuning_seeds(seed, size.tuning_seeds),
                fresh_seeds=fresh_seeds(seed, size.fresh_seeds),
            )
            for name, noise in NOISES.items()
        ]

    def figures(self, results: Results) -> Figures:
        """Final error against 1 − β, a panel per noise, the two rules marked."""
        with style():
            figure, axes = panels(len(NOISES), width=3.2, height=3.0)
            for ax, (name, result) in zip(axes, results.items(), strict=True):
                size = len(result["momenta"]) - 2
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
        against = {
            way: {f"{n} noise": m["from data"] / m[way] for n, m in medians.items()} for way in WAYS
        }
        against_grid, against_unknown = against["grid's best"], against["p unknown"]
        return [
            Verdict(
                "The momentum β computed from noise samples is as good as the best β of a grid",
                _ratios(medians, against_grid, "grid's best"),
                {noise: ratio <= FACTOR for noise, ratio in against_grid.items()},
                f"It holds if the error is at most {FACTOR} times that with the grid's best β. The "
                f"grid took {len(MOMENTA)} times as many runs.",
                source="ours",
            ),
            Verdict(
                "Knowing p helps: β computed from an estimate of p is at least as good as "
                "β = 1 − T^(−1/2)",
                _ratios(medians, against_unknown, "p unknown"),
                {noise: ratio <= 1.05 for noise, ratio in against_unknown.items()},
                "It holds if the error is at most 5 % higher. Under Gaussian noise p is 2, and "
                "both rules give the same β.",
                source="ours",
            ),
        ]


def _choice(result: Result, way: str) -> tuple[float, float, list[float]]:
    """β, step size and errors of one way; the grid's best is the best on the tuning seeds."""
    size = len(result["momenta"]) - 2
    on_grid = result["tuning"][:size]
    best = on_grid.index(min(on_grid))
    index = {"p unknown": size, "from data": size + 1, "grid's best": best}[way]
    return result["momenta"][index], result["lr"][index], result["errors"][index]


def _ratios(medians: dict[str, dict[str, float]], ratios: Mapping[str, float], other: str) -> str:
    return "final error against that with the other β (ratio): " + "; ".join(
        f"{noise}: {m['from data']:.3f} against {m[other]:.3f} ({ratio:.2f})"
        for (noise, m), ratio in zip(medians.items(), ratios.values(), strict=True)
    )
