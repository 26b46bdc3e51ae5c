"""Gossamer's simulator with its own loss and compression: `drops` and `compressed`."""

from losses import LOST, NODES, NORMALIZED, SEEDS, SENT, SLOWER, answer_errors
from task import given
from with_gossamer import LeastSquares

import gossamer as gs

RING = gs.ring(NODES)
NETWORKS = {
    "whole": RING,
    "lossy": RING.drops(LOST),
    "compressed": RING.compressed(gs.TopK(SENT)),
}


def main() -> None:
    task = given()
    problem, lr = LeastSquares(task), SLOWER * task.lr
    methods = (gs.DSGD(lr), gs.GTDSGD(lr), gs.GTNSGDm(NORMALIZED, momentum=0.8))
    for method in methods:
        for name, network in NETWORKS.items():
            run = gs.simulate(
                method,
                problem,
                network,
                steps=task.rounds,
                seeds=range(SEEDS[name]),
                record_every=task.rounds,
                metrics=["error"],
            )
            errors = [task.error(run.x[:, seed]) for seed in range(len(run.config["seeds"]))]
            answer_errors("gossamer", method.label, name, errors)


if __name__ == "__main__":
    main()
