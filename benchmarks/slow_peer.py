"""One rank of four is five times slower: what the others keep of their speed, and where all end.

    python benchmarks/slow_peer.py
    python benchmarks/slow_peer.py --parameters 100000 --gradient 0.2

GT-DSGD with constant step on a ring, heterogeneous quadratics without noise. The gradient is a
pause of `--gradient` seconds, as on a GPU, five times as long on rank 2 where it is slow. Runs with
and without waiting, with and without the slow rank, take turns; speeds are steps per second, the
median over the other ranks and over the turns. Then come two longer runs beside the slow rank: the
error is the largest distance of a node to the optimum of the sum of all objectives.
"""

import argparse
import itertools
import json
import math
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

RANKS, SLOW, FACTOR, LR, NEAR = 4, 2, 5, 1.2, 1e-6
WAY = {True: "waits", False: "does not wait"}


class Training:
    """Node `rank` with its quadratic; `slow` says whether its gradient takes longer on one rank."""

    def __init__(self, rank: int, options: argparse.Namespace, wait: bool, slow: bool) -> None:
        self.problem, self.rank = Quadratic(RANKS, options.parameters), rank
        self.longest = options.gradient * (FACTOR if slow else 1)
        self.pause = self.longest if rank == SLOW else options.gradient
        self.x = nn.Parameter(torch.zeros(options.parameters, dtype=torch.float64))
        self.optimizer = DecentralizedOptimizer([self.x], GTDSGD(lr=LR), ring, wait=wait)
        self.near_after = math.inf

    def step(self) -> None:
        time.sleep(self.pause)
        points = self.x.detach().expand(RANKS, 1, -1)
        self.x.grad = self.problem.local_grad(points)[self.rank, 0]
        self.optimizer.step()

    def run(self, seconds: float) -> float:
        """Steps per second of this rank; where ranks wait, all take as many."""
        self.optimizer.gather(lambda: "here")
        start, taken, steps = time.perf_counter(), 0, math.ceil(seconds / self.longest)
        with self.optimizer.until_all_end(steps):
            while taken < steps if self.optimizer.wait else time.perf_counter() < start + seconds:
                self.step()
                taken += 1
                if self.error() < NEAR:
                    self.near_after = min(self.near_after, time.perf_counter() - start)
            return taken / (time.perf_counter() - start)

    def error(self) -> float:
        return float(torch.linalg.vector_norm(self.optimizer.x - self.problem.optimum))


def measure(rank: int, options: argparse.Namespace) -> dict:
    """By way and company the speed of this rank in each turn; its way to the optimum."""
    speeds: dict[str, list[float]] = {}
    for _, wait, slow in itertools.product(range(options.turns), (True, False), (False, True)):
        speed = Training(rank, options, wait, slow).run(40 * options.gradient)
        speeds.setdefault(f"{WAY[wait]}, {'one' if slow else 'none'} slow", []).append(speed)
    ends = {}
    for wait in (True, False):
        training = Training(rank, options, wait, slow=True)
        training.run(options.seconds)
        ends[WAY[wait]] = (training.near_after, training.error())
    return {"speeds": speeds, "ends": ends}


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
    parser.add_argument("--seconds", type=float, default=40.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, (folder, options), nprocs=RANKS)
        ranks = [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(RANKS)]
    others = [one["speeds"] for rank, one in enumerate(ranks) if rank != SLOW]
    median = {k: statistics.median([v for one in others for v in one[k]]) for k in others[0]}
    for name, speed in median.items():
        print(f"  {name:28s} {speed:8.2f} steps/s of the others")
    for way in WAY.values():
        kept = median[f"{way}, one slow"] / median[f"{way}, none slow"]
        near, error = (max(one["ends"][way][k] for one in ranks) for k in (0, 1))
        print(f"  {way:28s} {100 * kept:8.0f} % of their speed kept beside a slow rank")
        print(
            f"  {'':28s} {near:8.1f} s until all are within {NEAR:g}; error in the end {error:.1e}"
        )


if __name__ == "__main__":
    main()
