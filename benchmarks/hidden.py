"""A step whose messages travel while the gradient is computed, on links of your own.

Start a rank on every machine, or in every network namespace, with torchrun's variables:

    RANK=0 WORLD_SIZE=4 MASTER_ADDR=10.0.0.1 MASTER_PORT=29411 python benchmarks/hidden.py

The gradient is a pause of `--gradient` seconds, as on a GPU; rank 0 prints the median time of a
step of every contender, all of them on the same parameters and links. DDP averages gradients.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

import gossamer as gs
from gossamer.distributed import DecentralizedOptimizer, join

CTA = gs.GTNSGDm(lr=1e-3, momentum=0.8, order="combine-then-adapt")
ATC = gs.GTNSGDm(lr=1e-3, momentum=0.8)
BF16 = {"message_dtype": torch.bfloat16}


def decentralized(dim: int, method, network, **options) -> Callable[[float], None]:
    parameter = torch.nn.Parameter(torch.zeros(dim))
    optimizer = DecentralizedOptimizer([parameter], method, network, **options)
    parameter.grad = torch.randn(dim)

    def step(pause: float) -> None:
        time.sleep(pause)
        optimizer.step()

    return step


def all_reduce(dim: int) -> Callable[[float], None]:
    """What DDP sends, in four parts that become ready during the gradient."""
    parts = torch.randn(dim).chunk(4)

    def step(pause: float) -> None:
        works = []
        for part in parts:
            time.sleep(pause / len(parts))
            works.append(dist.all_reduce(part, async_op=True))
        for work in works:
            work.wait()

    return step


def contenders(dim: int, nodes: int) -> dict[str, Callable[[float], None]]:
    one_peer, ring = gs.one_peer_exponential(nodes), gs.ring(nodes)
    top = {"network": ring.compressed(gs.TopK(0.05)), "overlap": True}
    every = {"network": one_peer.every(4), "overlap": True, **BF16}
    return {
        "one-peer bfloat16, adapt then combine": decentralized(dim, ATC, one_peer, **BF16),
        "one-peer bfloat16, combine then adapt": decentralized(dim, CTA, one_peer, **BF16),
        "the same, hidden": decentralized(dim, CTA, one_peer, overlap=True, **BF16),
        "ring, top 5 %, hidden": decentralized(dim, CTA, **top),
        "one-peer bfloat16, every 4, hidden": decentralized(dim, CTA, **every),
        "all-reduce, as DDP": all_reduce(dim),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dim", type=int, default=1_000_000)
    parser.add_argument("--gradient", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=8)
    options = parser.parse_args()
    rank = join(timeout=120.0)
    for name, step in contenders(options.dim, dist.get_world_size()).items():
        times = []
        for _ in range(options.steps + 2):
            start = time.perf_counter()
            step(options.gradient)
            times.append(1000 * (time.perf_counter() - start))
        dist.barrier()
        if rank == 0:
            print(f"  {name:40s} {statistics.median(times[2:]):8.1f} ms", flush=True)


if __name__ == "__main__":
    main()
