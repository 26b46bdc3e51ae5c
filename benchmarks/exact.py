"""Does a method end in the optimum, without noise, on a bad network?

    python benchmarks/exact.py          prints a table, writes benchmarks/exact.json

Ten heterogeneous quadratics of condition 4 in 20 dimensions, exact gradients. The one-way network
is a chain that also sends three and seven places back: the Perron weights of its nodes differ
161-fold. GT-NSGDm moves by its step size wherever it is, so that falls from lr to lr/10⁵; that of
PushSum(DSGD) is min(lr, 4/t), as its bias is proportional to it.
"""

import argparse
import dataclasses
import json
import multiprocessing
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

import gossamer as gs
from gossamer.simulation import Stack

NODES, DIM = 10, 20
CHAIN = [
    (i, i + step) for i in range(NODES) for step in (1, -3, -7) if 0 <= i + step < NODES
]  # fmt: skip


def digraph() -> gs.Network:
    return gs.from_digraph(CHAIN, name="digraph")


NETWORKS: dict[str, Callable[[], gs.Network]] = {
    "ring": lambda: gs.ring(NODES),
    "digraph": digraph,
    "digraph, 30 % lost one way": lambda: digraph().drops(0.3),
    "ring, 30 % lost both ways in bursts": lambda: gs.ring(NODES).drops(0.3, True, 4),
    "digraph, every 5": lambda: digraph().every(5),
    "digraph, TopK(0.1)": lambda: digraph().compressed(gs.TopK(0.1)),
    "digraph, RandK(0.1)": lambda: digraph().compressed(gs.RandK(0.1)),
    "digraph, QSGD(4)": lambda: digraph().compressed(gs.QSGD(4)),
    "digraph, Sign()": lambda: digraph().compressed(gs.Sign()),
    "digraph, Cast(float8)": lambda: digraph().compressed(gs.Cast("float8_e4m3fn")),
    "ring, accelerated 3": lambda: gs.ring(NODES).accelerated(3),
    "random matching": lambda: gs.random_matching(NODES),
    "random graphs": lambda: gs.erdos_renyi_each_round(NODES, 0.3),
    "digraph, 10 % lost, every 4": lambda: digraph().drops(0.1).every(4),
    "ring, bursts, QSGD(4)": lambda: gs.ring(NODES).drops(0.2, True, 4).compressed(gs.QSGD(4)),
    "digraph, 10 % lost, TopK(0.1), every 4": lambda: (
        digraph().drops(0.1).compressed(gs.TopK(0.1)).every(4)
    ),
}

Schedule = Callable[[float, int, int], float]
"""From lr, t and the number of steps to the step size."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """A method, how its step size goes, for how long, and what is asked of it."""

    method: gs.Algorithm[Any]
    schedule: Schedule
    steps: int
    most: float


def constant(lr: float, t: int, steps: int) -> float:
    return lr


def falling(lr: float, t: int, steps: int) -> float:
    return float(lr * 10 ** (-5 * t / steps))


def inverse(lr: float, t: int, steps: int) -> float:
    return min(lr, 4 / (t + 1))


SETTINGS = {
    "GT-DSGD": Setting(gs.GTDSGD(lr=0.03), constant, 20_000, 1e-9),
    "GT-Adam": Setting(gs.GTAdam(lr=0.004, eps=1e-2), constant, 20_000, 1e-9),
    "GT-NSGDm": Setting(gs.GTNSGDm(lr=0.1, momentum=0.5), falling, 8_000, 1e-3),
    "PushSum(DSGD)": Setting(gs.PushSum(gs.DSGD(lr=0.01)), inverse, 60_000, 0.05),
}


def problem(method: str) -> gs.Quadratic:
    """Push-sum without a tracker has a bias in proportion to how far the optima are apart."""
    spread = 1.0 if method == "PushSum(DSGD)" else 5.0
    return gs.Quadratic(NODES, DIM, condition=4.0, spread=spread, seed=3)


@torch.no_grad()
def final_error(job: tuple[str, str]) -> tuple[str, str, float | str]:
    """(1/n) Σ ‖x_i − x*‖ in the end, or why the method does not run there."""
    torch.set_num_threads(1)
    network, name = job
    setting, task = SETTINGS[name], problem(name)
    try:
        stack = Stack(setting.method, task, NETWORKS[network](), None, [0])
    except gs.InvalidInput:
        return network, name, "refused"
    lr = setting.method.lr  # type: ignore[attr-defined]
    for t in range(setting.steps):
        now = setting.schedule(lr, t, setting.steps)
        stack.algorithm = dataclasses.replace(setting.method, lr=now)
        stack.advance(1)
    optimum = task.optimum
    assert optimum is not None
    return network, name, float((stack.x[:, 0] - optimum).norm(dim=1).mean())


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    found: dict[str, dict[str, float | str]] = {network: {} for network in NETWORKS}
    jobs = [(network, name) for name in reversed(SETTINGS) for network in NETWORKS]
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for network, name, error in pool.imap_unordered(final_error, jobs):
            found[network][name] = error
    print(f"{'':40}" + "".join(f"{name:>15}" for name in SETTINGS))
    for network, errors in found.items():
        shown = (errors[name] for name in SETTINGS)
        cells = (e if isinstance(e, str) else f"{e:.1e}" for e in shown)
        print(f"{network:40}" + "".join(f"{cell:>15}" for cell in cells))
    facts = {
        name: {"method": repr(s.method), "step size": s.schedule.__name__, "steps": s.steps,
               "start": float(problem(name).optimum.norm()), "asked for": s.most}
        for name, s in SETTINGS.items()
    }  # fmt: skip
    path = Path(os.environ.get("OUT", Path(__file__).parent)) / "exact.json"
    path.write_text(json.dumps({"settings": facts, "errors": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
