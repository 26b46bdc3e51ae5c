"""Gossamer's iterates of the methods that decent-bench has, too."""

from typing import Any

from agreement import LOCAL_STEPS, OURS
from task import answer, given
from with_gossamer import LeastSquares

import gossamer as gs


def main() -> None:
    task = given()
    problem, ring = LeastSquares(task), gs.ring(task.num_nodes)
    local = gs.ExactDiffusion(task.lr, correction=1 / LOCAL_STEPS)
    cases: dict[str, tuple[gs.Algorithm[Any], gs.Network]] = {
        "ATC": (gs.DSGD(task.lr), ring),
        "EXTRA": (gs.EXTRA(task.lr), ring),
        "ED": (gs.ExactDiffusion(task.lr), ring),
        "ATC_Tracking": (gs.ATCTracking(task.lr), ring),
        "LED": (local, ring.every(LOCAL_STEPS)),
    }
    for name in OURS:
        method, network = cases[name]
        run = gs.simulate(method, problem, network, steps=task.rounds, metrics=["error"])
        answer(name, "gossamer", [], run.x[:, 0].numpy())


if __name__ == "__main__":
    main()
