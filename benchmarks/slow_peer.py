"""One rank of four is five times slower: what the others keep of their speed, and where all end.

    python benchmarks/slow_peer.py
    python benchmarks/slow_peer.py --parameters 1000000 --gradient 0.2 --seconds 60

GT-DSGD with constant step on a ring, heterogeneous quadratics without noise. The gradient is a
pause of `--gradient` seconds, as on a GPU, five times as long on rank 2 where it is slow. Runs with
and without waiting, with and without the slow rank, take turns; speeds are steps per second, the
median over the other ranks and over the turns. The error is the largest distance of a node to the
optimum of the sum of all objectives, after `--seconds` of a run in which nobody waits.
"""

import argparse
import itertools
import json
import os
import statistics
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

from gossamer.algorithms import GTDSGD
from gossamer.distributed import DecentralizedOptimizer
from gossamer.networks import ring
from gossamer.problems import Quadratic

RANKS, SLOW, FACTOR, LR = 4, 2, 5, 1.2
STEPS = 40
"""Of a turn in which ranks wait; turns in which they do not are as long as the slow rank needs."""


class Training:
    """Node `rank` with its quadratic, and a gradient that takes `pause` seconds."""

    def __init__(self, rank: int, dim: int, pause: float, wait: bool) -> None:
        self.problem, self.rank, self.pause = Quadratic(RANKS, dim), rank, pause
        self.x = nn.Parameter(torch.zeros(dim, dtype=torch.float64))
        self.optimizer = DecentralizedOptimizer([self.x], GTDSGD(lr=LR), ring, wait=wait)

    def step(self) -> None:
        time.sleep(self.pause)
        points = self.x.detach().expand(RANKS, 1, -1)
        self.x.grad = self.problem.local_grad(points)[self.rank, 0]
        self.optimizer.step()

    def speed(self, seconds: float) -> float:
        """Steps per second of this rank; where ranks wait, all take as many."""
        start, taken = time.perf_counter(), 0
        with self.optimizer.until_all_end(STEPS):
            while taken < STEPS if self.optimizer.wait else time.perf_counter() < start + seconds:
                self.step()
                taken += 1
            return taken / (time.perf_counter() - start)

    def error(self) -> float:
        return float(torch.linalg.vector_norm(self.optimizer.x - self.problem.optimum))


def measure(rank: int, options: argparse.Namespace) -> dict:
    """By (wait, slow) the speed of this rank in each turn, and its error in the end."""
    speeds: dict[str, list[float]] = {}
    for _, wait, slow in itertools.product(range(options.turns), (True, False), (False, True)):
        pause = options.gradient * (FACTOR if slow and rank == SLOW else 1)
        training = Training(rank, options.parameters, pause, wait)
        name = f"{'waits' if wait else 'does not wait'}, {'one' if slow else 'none'} slow"
        speeds.setdefault(name, []).append(training.speed(STEPS * options.gradient))
        dist.barrier()
    pause = options.gradient * (FACTOR if rank == SLOW else 1)
    training = Training(rank, options.parameters, pause, wait=False)
    training.speed(options.seconds)
    return {"speeds": speeds, "error": training.error()}


def worker(rank: int, folder: str, options: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    store, limit = f"file://{folder}/store", timedelta(seconds=120)
    dist.init_process_group("gloo", store, rank=rank, world_size=RANKS, timeout=limit)
    Path(folder, f"{rank}.json").write_text(json.dumps(measure(rank, options)))
    dist.barrier()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parameters", type=int, default=1000)
    parser.add_argument("--gradient", type=float, default=0.05)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, (folder, options), nprocs=RANKS)
        ranks = [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(RANKS)]
    others = [one["speeds"] for rank, one in enumerate(ranks) if rank != SLOW]
    median = {k: statistics.median([v for one in others for v in one[k]]) for k in others[0]}
    for name, speed in median.items():
        print(f"  {name:28s} {speed:8.2f} steps/s of the others")
    for way in ("waits", "does not wait"):
        kept = median[f"{way}, one slow"] / median[f"{way}, none slow"]
        print(f"  {way:28s} {100 * kept:8.0f} % of their speed kept beside a slow rank")
    print(f"  error in the end             {max(one['error'] for one in ranks):8.1e}")


if __name__ == "__main__":
    main()
