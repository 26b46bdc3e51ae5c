"""decent-bench: a simulator in one process."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
from decent_array import interoperability as iop
from decent_bench.agents import Agent
from decent_bench.algorithms.p2p import ATC, AugDGM
from decent_bench.costs import QuadraticCost
from decent_bench.networks import P2PNetwork
from task import Task, answer, given, ring_weights, timed

CASES = {"ring of 20, DSGD": ATC, "ring of 20, tracking": AugDGM}


def make_network(task: Task, **schemes: Any) -> P2PNetwork:
    """A ring whose messages obey `schemes`: loss, compression, noise."""
    costs = [
        QuadraticCost(iop.from_numpy(P), iop.from_numpy(q))
        for P, q in zip(task.hessians, task.linear, strict=True)
    ]
    agents = [Agent(cost, state_snapshot_period=task.rounds) for cost in costs]
    network = P2PNetwork(nx.cycle_graph(task.num_nodes), agents, **schemes)
    network.weights = iop.from_numpy(ring_weights(task.num_nodes))
    return network


def main() -> None:
    iop.set_backend("numpy")  # the fastest for small problems
    task = given()
    for case, method in CASES.items():

        def prepare(method: type = method) -> Callable[[], np.ndarray]:
            network, algorithm = make_network(task), method(step_size=task.lr)

            def run() -> np.ndarray:
                algorithm.run(network, task.rounds)
                return np.stack([iop.to_numpy(agent.x) for agent in network.agents()])

            return run

        answer(case, "decent-bench", *timed(prepare, task.repetitions))


if __name__ == "__main__":
    main()
