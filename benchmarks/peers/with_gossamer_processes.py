"""Gossamer on real processes: `torchrun --nproc-per-node 4 with_gossamer_processes.py task.npz`."""

from collections.abc import Callable

from cases import CASES, Case
from module import LeastSquares, gathered
from task import Array, answer, given, timed
from torch import distributed as dist

import gossamer as gs
from gossamer.distributed import join


def main() -> None:
    rank, task = join(), given()
    for name, case in CASES.items():
        if not case.real_processes:
            continue

        def prepare(case: Case = case) -> Callable[[], Array]:
            model, method = LeastSquares(task, rank), case.algorithm(task)
            optimizer = gs.DecentralizedOptimizer(model.parameters(), method, case.network)

            def run() -> Array:
                for _ in range(task.rounds):
                    optimizer.zero_grad()
                    model().backward()
                    optimizer.step()
                return gathered(model.x)

            dist.barrier()
            return run

        seconds, x = timed(prepare, task.repetitions)
        if rank == 0:
            answer(f"{name}: processes", "gossamer", seconds, x)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
