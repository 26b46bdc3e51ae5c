"""decent-bench's own iterates of methods that Gossamer has, too."""

from typing import Any

import numpy as np
from agreement import LOCAL_STEPS, OURS
from decent_array import interoperability as iop
from decent_bench.algorithms import p2p
from task import Task, answer, given, ring_weights
from with_decent_bench import make_network


def final_x(task: Task, method: str) -> np.ndarray:
    network, options = make_network(task), dict[str, Any]()
    rounds = task.rounds
    if method == "LED":  # its rounds are exchanges, and it mixes with W where Exact Diffusion has W̄
        options = {"num_local_steps": LOCAL_STEPS, "aux_step_size": 1 / LOCAL_STEPS}
        half = (np.eye(task.num_nodes) + ring_weights(task.num_nodes)) / 2
        network.weights = iop.from_numpy(half)
        rounds //= LOCAL_STEPS
    getattr(p2p, method)(step_size=task.lr, **options).run(network, rounds)
    return np.stack([iop.to_numpy(agent.x) for agent in network.agents()])


def main() -> None:
    iop.set_backend("numpy")
    task = given()
    for method in OURS:
        answer(method, "decent-bench", [], final_x(task, method))


if __name__ == "__main__":
    main()
