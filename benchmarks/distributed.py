"""A GT-NSGDm step on 4 gloo ranks against the bare exchange of its bytes, DDP and decent-dp.

    python benchmarks/distributed.py
    python benchmarks/distributed.py --repeats 30 --json numbers.json
    python benchmarks/distributed.py --parameters 50000000 --repeats 5

The model is the paper's GPT (3,018,240 float32 parameters, 12.1 MB) on a tiny batch, so that
communication counts; with `--parameters` it is one vector of so many. decent-dp takes part if it
can be imported:

    python -m venv peers && peers/bin/pip install -e . decent-dp torch==2.13.0

What each sends per rank and step on 4 ranks: GT-NSGDm on the ring 2 messages to 2 neighbours
= 48 MB; DSGD on the ring 24 MB; DDP's ring all-reduce 2 · 3/4 · 12 = 18 MB; decent-dp's "ring"
talks to one neighbour at a time, 12 MB, while the next gradient is being computed.
"""

import argparse
import ctypes
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from gossamer.algorithms import DSGD, GTNSGDm
from gossamer.distributed import DecentralizedOptimizer
from gossamer.models import GPT
from gossamer.networks import ring

RANKS = 4
TOKENS = torch.randint(10208, (2, 17), generator=torch.Generator().manual_seed(0))


def gradient(model: nn.Module) -> None:
    logits = model(TOKENS[:, :-1])
    nn.functional.cross_entropy(logits.flatten(0, 1), TOKENS[:, 1:].flatten()).backward()


def bare_exchange(rank: int, messages: int, dim: int) -> Callable[[], None]:
    """`messages` rounds of `dim` float32 to and from both ring neighbours, and nothing else."""
    peers = [(rank - 1) % RANKS, (rank + 1) % RANKS]
    sent, received = torch.zeros(dim), [torch.empty(dim) for _ in peers]

    def exchange() -> None:
        for _ in range(messages):
            ops = [dist.P2POp(dist.irecv, z, r) for z, r in zip(received, peers, strict=True)]
            ops += [dist.P2POp(dist.isend, sent, r) for r in peers]
            for work in dist.batch_isend_irecv(ops):
                work.wait()

    return exchange


def gossamer_step(algorithm, with_gradient: bool, **options) -> Callable[[], None]:
    model = GPT()
    optimizer = DecentralizedOptimizer(model.parameters(), algorithm, ring(RANKS), **options)
    gradient(model)

    def step() -> None:
        if with_gradient:
            optimizer.zero_grad()
            gradient(model)
        optimizer.step()

    return step


def gradient_alone() -> Callable[[], None]:
    model = GPT()
    return lambda: (model.zero_grad(), gradient(model))


def ddp_step() -> Callable[[], None]:
    model = DistributedDataParallel(GPT())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return lambda: (optimizer.zero_grad(), gradient(model), optimizer.step())


def decent_dp_step() -> Callable[[], None] | None:
    try:
        from decent_dp.ddp import DecentralizedDataParallel
        from loguru import logger
    except ImportError:
        return None
    logger.remove()

    def sgd(named):
        return torch.optim.SGD([p for _, p in named], lr=1e-3)

    model = DecentralizedDataParallel(GPT(), sgd, topology="ring", _local_world_size=1)
    return lambda: gradient(model)  # it steps and talks in hooks of the backward pass


def vector_step(algorithm, dim: int, **options) -> Callable[[], None]:
    parameter = nn.Parameter(torch.zeros(dim))
    optimizer = DecentralizedOptimizer([parameter], algorithm, ring(RANKS), **options)
    parameter.grad = torch.randn(dim)
    return optimizer.step


def contenders_of(rank: int, dim: int) -> dict[str, Callable[[], None] | None]:
    gt, dsgd = GTNSGDm(lr=1e-3, momentum=0.8), DSGD(lr=1e-3)
    return {
        "bare exchange of GT-NSGDm's bytes": bare_exchange(rank, 2, dim),
        "GT-NSGDm step": vector_step(gt, dim),
        "GT-NSGDm step, bfloat16 messages": vector_step(gt, dim, message_dtype=torch.bfloat16),
        "DSGD step": vector_step(dsgd, dim),
    }


def contenders(rank: int) -> dict[str, Callable[[], None] | None]:
    gt, dsgd = GTNSGDm(lr=1e-3, momentum=0.8), DSGD(lr=1e-3)
    dim = sum(p.numel() for p in GPT().parameters())
    return {
        "bare exchange, 48 MB": bare_exchange(rank, messages=2, dim=dim),
        "GT-NSGDm step": gossamer_step(gt, with_gradient=False),
        "GT-NSGDm step, bfloat16 messages": gossamer_step(gt, False, message_dtype=torch.bfloat16),
        "bare exchange, 24 MB": bare_exchange(rank, messages=1, dim=dim),
        "DSGD step": gossamer_step(dsgd, with_gradient=False),
        "gradient": gradient_alone(),
        "gradient + GT-NSGDm": gossamer_step(gt, with_gradient=True),
        "gradient + DSGD": gossamer_step(dsgd, with_gradient=True),
        "gradient + DDP with SGD": ddp_step(),
        "gradient + decent-dp with SGD": decent_dp_step(),
    }


def time_all(rank: int, repeats: int, dim: int | None) -> dict[str, float]:
    """Median milliseconds of each, taken in turn so that all see the same machine."""
    all_of_them = contenders_of(rank, dim) if dim else contenders(rank)
    steps = {name: step for name, step in all_of_them.items() if step is not None}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for repeat in range(repeats + 3):
        for name, step in steps.items():
            dist.barrier()
            start = time.perf_counter()
            step()
            if repeat >= 3:
                times[name].append(1000 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in times.items()}


def memory() -> dict[str, float]:
    """Bytes of a rank that trains with GT-NSGDm on the ring, in units of the model's."""
    model = GPT()
    optimizer = DecentralizedOptimizer(model.parameters(), GTNSGDm(0.1, 0.8), ring(RANKS))
    gradient(model)
    optimizer.step()
    unit = optimizer.x.nbytes
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # what the first step freed is not held
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # start the peak anew
    optimizer.step()
    received = optimizer._node.exchange.transport.received_bytes
    return {
        "parameters": unit / unit,
        "gradients of autograd": sum(p.grad.nbytes for p in model.parameters()) / unit,
        "state v, y": sum(z.nbytes for z in optimizer.algorithm_state) / unit,
        "receive buffers, 2 neighbours": received / unit,
        "temporaries within a step": (_resident("VmHWM") - before) / unit,
    }


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def worker(rank: int, folder: str, repeats: int, dim: int | None) -> None:
    torch.set_num_threads(1)
    store, limit = f"file://{folder}/store", timedelta(seconds=120)
    dist.init_process_group("gloo", store, rank=rank, world_size=RANKS, timeout=limit)
    used = {} if dim else memory()
    result = {"milliseconds": time_all(rank, repeats, dim), "memory": used}
    if rank == 0:
        Path(folder, "result.json").write_text(json.dumps(result))
    dist.barrier()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--parameters", type=int)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, (folder, options.repeats, options.parameters), nprocs=RANKS)
        result = json.loads(Path(folder, "result.json").read_text())
    times = result["milliseconds"]
    print(
        f"{RANKS} ranks on {os.cpu_count()} cores, torch {torch.__version__}, {platform.machine()}"
    )
    for name, value in times.items():
        dim = options.parameters
        each = f"{1e6 * value / dim:8.1f} ns per parameter" if dim else ""
        print(f"  {name:36s} {value:8.1f} ms{each}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))
    if options.parameters:
        return
    for step, bare in (("GT-NSGDm step", "48"), ("DSGD step", "24")):
        ratio = times[step] / times[f"bare exchange, {bare} MB"]
        print(f"  {step} / bare exchange of its bytes = {ratio:.2f}")
    print("memory of a rank, in models:")
    for name, value in result["memory"].items():
        print(f"  {name:36s} {value:8.2f}")


if __name__ == "__main__":
    main()
