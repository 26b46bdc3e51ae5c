"""decent-dp: one process per node, `torchrun --nproc-per-node 4 with_decent_dp.py task.npz`."""

from collections.abc import Callable

import numpy as np
import torch
import torch.distributed as dist
from decent_dp.ddp import DecentralizedDataParallel
from loguru import logger
from module import LeastSquares, gathered
from task import answer, given, timed


def main() -> None:
    logger.remove()
    dist.init_process_group("gloo")
    task, rank = given(), dist.get_rank()

    def sgd(named: list) -> torch.optim.Optimizer:
        return torch.optim.SGD([p for _, p in named], lr=task.lr)

    def prepare() -> Callable[[], np.ndarray]:
        node = LeastSquares(task, rank)
        model = DecentralizedDataParallel(node, sgd, topology="ring")

        def run() -> np.ndarray:
            for _ in range(task.rounds):
                model().backward()  # updates and talks on the way
            return gathered(node.x)

        dist.barrier()
        return run

    seconds, x = timed(prepare, task.repetitions)
    if rank == 0:
        answer("four in pairs, DSGD", "decent-dp", seconds, x)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
