"""How GT-NSGDm depends on λ, σ and n: what the three experiments share."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from gossamer.algorithms import GTNSGDm
from gossamer.experiments.experiment import Options, Result, Unit
from gossamer.networks import Network
from gossamer.noise import AlphaStable, Noise
from gossamer.simulation import simulate
from gossamer.studies.synthetic.synthetic import curves, fresh_seeds, problem

LR, MOMENTUM, STEPS = 0.005, 0.8, 4_000
"""One (α, β, T) for every curve of the three studies."""

STABLE = AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)

NAMED = f"α = {LR}, β = {MOMENTUM}, T = {STEPS:,}"


def seeds(options: Options) -> list[int]:
    """Five fresh seeds, twenty in the full study."""
    return [s + 100 * k for k in range(4 if options.full else 1) for s in fresh_seeds(options)]


def unit(name: str, network: Network, noise: Noise, options: Options) -> Unit:
    """One curve."""
    return Unit(name, config(network, noise, options), partial(compute, network, noise, options))


def config(network: Network, noise: Noise, options: Options) -> dict[str, Any]:
    """All that determines a curve."""
    return {
        "lr": LR,
        "momentum": MOMENTUM,
        "steps": STEPS,
        "network": network.name,
        "noise": repr(noise),
        "data_seed": options.seed,
        "seeds": seeds(options),
        "device": options.device,
    }


def compute(network: Network, noise: Noise, options: Options) -> Result:
    """The error of GT-NSGDm over the steps, for every seed."""
    run = simulate(
        GTNSGDm(LR, MOMENTUM),
        problem(options, network.num_nodes),
        network,
        noise=noise,
        steps=STEPS,
        seeds=seeds(options),
        metrics=["error"],
        device=options.device,
    )
    return curves(run)


def increasing(values: Sequence[float]) -> bool:
    """Whether each value exceeds the one before."""
    return all(a < b for a, b in pairwise(values))
