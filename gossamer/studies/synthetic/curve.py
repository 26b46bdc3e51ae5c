"""GT-NSGDm with given parameters on one network under one noise."""

from dataclasses import dataclass

from gossamer.algorithms import GTNSGDm
from gossamer.experiments import Result, SizeName, Unit
from gossamer.networks import Network
from gossamer.noise import AlphaStable, Noise
from gossamer.problems import RobustRegression
from gossamer.simulation import simulate
from gossamer.studies.records import hundredth
from gossamer.studies.seeds import fresh_seeds
from gossamer.studies.synthetic.task import curves

METHOD = GTNSGDm(lr=0.005, momentum=0.8)
STEPS = 4_000
"""One (α, β, T) for every curve of the figures on λ, σ and n; the paper prints none."""

NAMED = f"α = {METHOD.lr}, β = {METHOD.momentum}, T = {STEPS:,}"

STABLE = AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)


@dataclass(frozen=True)
class Size:
    """Of the figures on λ, σ and n."""

    steps: int = STEPS
    seeds: int = 5
    neighbour_seeds: int = 2
    """Of the runs with other parameters, see `nodes`."""

    def reported(self, shift: int) -> tuple[int, ...]:
        """Fresh seeds, by fives."""
        blocks = range(-(-self.seeds // 5))
        return tuple(s + 100 * k for k in blocks for s in fresh_seeds(shift, min(5, self.seeds)))


SIZES: dict[SizeName, Size] = {
    "test": Size(steps=40, seeds=2),
    "quick": Size(),
    "full": Size(seeds=20, neighbour_seeds=20),
}


@dataclass(frozen=True)
class Curve(Unit):
    """The error of a method over the steps, for every seed."""

    network: Network
    noise: Noise
    steps: int
    data_seed: int
    seeds: tuple[int, ...]
    method: GTNSGDm = METHOD

    def run(self, device: str) -> Result:
        """Steps, and the error of every seed at each."""
        return curves(
            simulate(
                self.method,
                RobustRegression(self.network.num_nodes, seed=self.data_seed),
                self.network,
                noise=self.noise,
                steps=self.steps,
                record_every=hundredth(self.steps),
                seeds=self.seeds,
                metrics=["error"],
                device=device,
            )
        )


def curve_unit(name: str, network: Network, noise: Noise, size: Size, seed: int) -> Curve:
    """A curve of the figures on λ, σ and n."""
    return Curve(name, network, noise, size.steps, seed, size.reported(seed))
