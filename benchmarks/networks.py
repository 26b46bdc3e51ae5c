"""What does a bad network cost the simulator? Against the same sweep on a network without fault.

    python benchmarks/networks.py               prints a table
    python benchmarks/networks.py --one-core    CPU time on one core: holds on a busy machine too

The workload is that of `sweep.py`, GT-NSGDm with 143 hyper-parameters × 5 seeds in float32, on a
ring of 20 nodes; then one run alone, where a step is mostly overhead.
"""

import argparse
from collections.abc import Callable
from functools import partial

import torch
from rich.table import Table
from sweep import (
    LR,
    MOMENTUM,
    SEEDS,
    SETTINGS,
    Times,
    console,
    interleaved,
    our_run,
    summary,
    use_one_core,
)

import gossamer as gs

STEPS, SINGLE_STEPS, REPETITIONS = 64, 500, 5
PLAIN = "ring(20)"
PROBLEM = gs.RobustRegression(num_nodes=20, seed=0)
NOISE = gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)

RING = gs.ring(20)
GOALS: dict[gs.Network, float | None] = {
    RING: None,
    RING.every(5): 1.0,
    RING.drops(0.1, both_ways=True): 1.8,
    RING.drops(0.1, both_ways=True, burst=4): 1.8,
    RING.drops(0.1): 4.0,
    RING.compressed(gs.TopK(0.1)): 4.0,
    RING.compressed(gs.RandK(0.1)): 4.0,
    RING.compressed(gs.QSGD(4)): 2.5,
    RING.compressed(gs.Sign()): 2.5,
    RING.compressed(gs.Cast("bfloat16")): 2.5,
    RING.accelerated(3): 1.1,
    gs.random_matching(20): 1.8,
    gs.erdos_renyi_each_round(20, 0.1): 1.8,
    gs.random_digraph(20, degree=3).drops(0.1).compressed(gs.TopK(0.1)).every(4): None,
}
"""The most time that each may take, as a multiple of the plain network's."""


def sweep(network: gs.Network) -> gs.Sweep:
    return gs.sweep(
        gs.GTNSGDm,
        {"lr": LR, "momentum": [MOMENTUM]},
        PROBLEM,
        network,
        noise=NOISE,
        steps=STEPS,
        seeds=range(SEEDS),
        record_every=STEPS,
        metrics=["error"],
        dtype=torch.float32,
    )


def single(network: gs.Network) -> gs.Run:
    return our_run(PROBLEM, network, NOISE, SINGLE_STEPS)


def measured(work: Callable[[gs.Network], object]) -> Times:
    calls = {network.name: partial(work, network) for network in GOALS}
    return interleaved(calls, REPETITIONS)


def show(stacked: Times, alone: Times) -> None:
    table = Table(title=f"{SETTINGS} × {SEEDS} runs in a stack, and one run alone: medians")
    for column in ("network", "µs per run-step", "ratio", "goal", "alone: µs per step"):
        table.add_column(column, justify="left" if column == "network" else "right")
    plain = stacked[PLAIN]
    for network, goal in GOALS.items():
        taken = stacked[network.name]
        micros = summary([1e6 * t / (STEPS * SETTINGS * SEEDS) for t in taken])
        ratio = summary([t / p for t, p in zip(taken, plain, strict=True)])
        per_step = summary([1e6 * t / SINGLE_STEPS for t in alone[network.name]])
        table.add_row(
            network.name,
            f"{micros['median']:.2f}",
            f"{ratio['median']:.2f}",
            "" if goal is None else f"≤ {goal}",
            f"{per_step['median']:.0f}",
        )
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one-core", action="store_true")
    if parser.parse_args().one_core:
        use_one_core()
    show(measured(sweep), measured(single))


if __name__ == "__main__":
    main()
