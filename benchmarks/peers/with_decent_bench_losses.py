"""decent-bench with its own loss and compression: `UniformDropRate` and `TopK` of `P2PNetwork`."""

import random
from typing import Any

import numpy as np
from decent_array import interoperability as iop
from decent_bench.algorithms import p2p
from decent_bench.schemes import TopK, UniformDropRate
from losses import LOST, SEEDS, SENT, SLOWER, answer_errors
from task import Task, given
from with_decent_bench import make_network

METHODS = (
    "DGD",
    "ATC",
    "AugDGM",
    "ATC_Tracking",
    "SimpleGT",
    "WangElia",
    "EXTRA",
    "ED",
    "NIDS",
)
NETWORKS: dict[str, dict[str, Any]] = {
    "whole": {},
    "lossy": {"message_drop": UniformDropRate(LOST)},
    "compressed": {"message_compression": TopK(SENT)},
}


def final_error(task: Task, method: str, schemes: dict[str, Any], seed: int) -> float:
    random.seed(seed)  # which messages are lost
    network = make_network(task, **schemes)
    getattr(p2p, method)(step_size=SLOWER * task.lr).run(network, task.rounds)
    return task.error(np.stack([iop.to_numpy(agent.x) for agent in network.agents()]))


def main() -> None:
    iop.set_backend("numpy")
    task = given()
    for method in METHODS:
        for name, schemes in NETWORKS.items():
            errors = [final_error(task, method, schemes, seed) for seed in range(SEEDS[name])]
            answer_errors("decent-bench", method, name, errors)


if __name__ == "__main__":
    main()
