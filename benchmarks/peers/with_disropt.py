"""DISROPT: one MPI process per node, `mpirun -n 4 python with_disropt.py task.npz`."""

from collections.abc import Callable

import numpy as np
from disropt.agents import Agent
from disropt.algorithms.gradient_tracking import GradientTracking
from disropt.algorithms.subgradient import SubgradientMethod
from disropt.functions import QuadraticForm, Variable
from disropt.problems import Problem
from mpi4py import MPI
from task import Task, answer, given, ring_weights, timed

RANKS = MPI.COMM_WORLD
CASES = {"four on a ring, DSGD": SubgradientMethod, "four on a ring, tracking": GradientTracking}


def make_agent(task: Task) -> Agent:
    rank, weights = RANKS.Get_rank(), ring_weights(task.num_nodes)
    neighbors = [j for j in np.flatnonzero(weights[rank]).tolist() if j != rank]
    agent = Agent(neighbors, neighbors, in_weights=weights[rank].tolist(), auto_local=False)
    linear = task.linear[rank][:, None]
    agent.set_problem(Problem(QuadraticForm(Variable(task.dim), task.hessians[rank] / 2, linear)))
    return agent


def main() -> None:
    task = given()
    for case, method in CASES.items():

        def prepare(method: type = method) -> Callable[[], np.ndarray]:
            algorithm = method(make_agent(task), np.zeros((task.dim, 1)))

            def run() -> np.ndarray:
                algorithm.run(iterations=task.rounds, stepsize=task.lr)
                return np.stack(RANKS.allgather(algorithm.get_result()[:, 0]))

            RANKS.Barrier()
            return run

        seconds, x = timed(prepare, task.repetitions)
        if RANKS.Get_rank() == 0:
            answer(case, "disropt", seconds, x)


if __name__ == "__main__":
    main()
