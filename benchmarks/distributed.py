"""What a step on gloo ranks costs beside the bare exchange of its bytes, and beside DDP.

    python benchmarks/distributed.py                        five runs, every contender
    python benchmarks/distributed.py --only steps --json numbers.json
    python benchmarks/distributed.py --parameters 50000000 --repeats 5

The model is the paper's GPT (3,018,240 float32 parameters, 12.1 MB) on a tiny batch, so that
communication counts; with `--parameters` it is one vector of so many. A run starts the ranks anew
and takes all contenders in turn, so that all see the same machine. Told are medians over the runs,
with the least and the largest. "CPU" is the time that all ranks have computed, in the kernel too,
without that in which they waited: beside other busy processes it is steadier than the clock.

decent-dp takes part if it can be imported:

    python -m venv peers && peers/bin/pip install -e . decent-dp torch==2.13.0

What each sends per rank and step on 4 ranks: GT-NSGDm on the ring 2 messages to 2 neighbours
= 48 MB; DSGD on the ring 24 MB; DDP's ring all-reduce 2 · 3/4 · 12 = 18 MB; decent-dp's "ring"
talks to one neighbour at a time, 12 MB, while the next gradient is being computed.
"""

import argparse
import ctypes
import gc
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
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
TRACKING, SGD = GTNSGDm(lr=1e-3, momentum=0.8), DSGD(lr=1e-3)
BARE_GT, BARE_DSGD = "bare exchange of GT-NSGDm's bytes", "bare exchange of DSGD's bytes"
GT, PLAIN = "GT-NSGDm step", "DSGD step"
GT_BF16, PLAIN_BF16 = f"{GT}, bfloat16 messages", f"{PLAIN}, bfloat16 messages"
RATIOS = {
    "GT-NSGDm / bare exchange (goal 1.3)": (GT, BARE_GT),
    "DSGD / bare exchange (goal 1.25)": (PLAIN, BARE_DSGD),
    "GT-NSGDm, bfloat16 / float32 messages (goal below 1)": (GT_BF16, GT),
    "DSGD, bfloat16 / float32 messages (goal below 1)": (PLAIN_BF16, PLAIN),
}
TOKENS = torch.randint(10208, (2, 17), generator=torch.Generator().manual_seed(0))


KINDS = ("clock", "CPU")
Times = dict[str, dict[str, float]]
"""Contender → milliseconds by the clock and by the CPU."""


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


def steps(rank: int, dim: int | None, algorithm) -> dict[str, Callable[[], None] | None]:
    """Steps without a gradient, of the GPT or of a vector, and the exchange of their bytes."""
    make = partial(vector_step, dim=dim) if dim else partial(gossamer_step, with_gradient=False)
    size = dim or sum(p.numel() for p in GPT().parameters())
    names = (BARE_GT, GT, GT_BF16) if algorithm is TRACKING else (BARE_DSGD, PLAIN, PLAIN_BF16)
    bare = bare_exchange(rank, messages=2 if algorithm is TRACKING else 1, dim=size)
    made = (bare, make(algorithm), make(algorithm, message_dtype=torch.bfloat16))
    return dict(zip(names, made, strict=True))


def trainings() -> dict[str, Callable[[], None] | None]:
    """Steps with the gradient of the GPT."""
    gt, dsgd = TRACKING, SGD
    return {
        "gradient": gradient_alone(),
        "gradient + GT-NSGDm": gossamer_step(gt, with_gradient=True),
        "gradient + DSGD": gossamer_step(dsgd, with_gradient=True),
        "gradient + DDP with SGD": ddp_step(),
        "gradient + decent-dp with SGD": decent_dp_step(),
    }


def time_all(contenders: dict[str, Callable[[], None] | None], repeats: int) -> Times:
    """Median milliseconds of each by the clock and by the CPU, taken in turn."""
    taken = {name: step for name, step in contenders.items() if step is not None}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in taken}
    for repeat in range(repeats + 3):
        for name, step in taken.items():
            dist.barrier()
            start, used = time.perf_counter(), time.process_time()
            step()
            clock, computed = time.perf_counter() - start, torch.tensor(time.process_time() - used)
            dist.all_reduce(computed)
            if repeat >= 3:
                times[name].append((1000 * clock, 1000 * computed.item()))
    return {
        name: {kind: statistics.median(pair[k] for pair in pairs) for k, kind in enumerate(KINDS)}
        for name, pairs in times.items()
    }


def memory(algorithm, dim: int | None) -> dict[str, float]:
    """Bytes of a rank that trains on the ring, in units of the model's."""
    model = nn.ParameterList([nn.Parameter(torch.zeros(dim))]) if dim else GPT()
    optimizer = DecentralizedOptimizer(model.parameters(), algorithm, ring(RANKS))
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer.step()
    give_back_freed()  # what the first step freed is not held
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # start the peak anew
    optimizer.step()
    peak, unit = _resident("VmHWM") - before, optimizer.x.nbytes
    state = sum(z.nbytes for z in optimizer.algorithm_state)
    exchange = optimizer._node.exchange
    received = sum(buffer.nbytes for buffer in exchange.transport._own.buffers.values())
    boards = sum(board.content.nbytes for board in exchange.carrier._own.boards.values())
    held = (2 * unit + state + received + boards) / unit
    return {"held": held, "peak": held + peak / unit}


def give_back_freed() -> None:
    """To the system, which else would run out of memory with 50 million parameters."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def worker(rank: int, folder: str, repeats: int, dim: int | None, only_steps: bool) -> None:
    torch.set_num_threads(1)
    store, limit = f"file://{folder}/store", timedelta(seconds=300)
    dist.init_process_group("gloo", store, rank=rank, world_size=RANKS, timeout=limit)
    used = {name: memory(method, dim) for name, method in ((GT, TRACKING), (PLAIN, SGD))}
    times = {}
    for method in (TRACKING, SGD):
        give_back_freed()
        times |= time_all(steps(rank, dim, method), repeats)
    if not (only_steps or dim):
        times |= time_all(trainings(), repeats)
    if rank == 0:
        Path(folder, "result.json").write_text(json.dumps({"milliseconds": times, "memory": used}))
    dist.barrier()
    os._exit(0)


def run_once(*options) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, (folder, *options), nprocs=RANKS)
        return json.loads(Path(folder, "result.json").read_text())


def spread(values: list[float], digits: int) -> str:
    median, least, most = statistics.median(values), min(values), max(values)
    return f"{median:8.{digits}f}  ({least:.{digits}f} to {most:.{digits}f})"


def tell(runs: list[dict], dim: int | None) -> None:
    times = {name: [run["milliseconds"][name] for run in runs] for name in runs[0]["milliseconds"]}
    for name, each in times.items():
        clock, cpu = ([one[kind] for one in each] for kind in KINDS)
        print(f"  {name:36s} {spread(clock, 1)} ms, CPU {spread(cpu, 1)}")
        if dim:
            print(f"  {'':36s} {spread([1e6 * ms / dim for ms in clock], 1)} ns per parameter")
    for name, (step, other) in RATIOS.items():
        pairs = list(zip(times[step], times[other], strict=True))
        clock, cpu = ([a[kind] / b[kind] for a, b in pairs] for kind in KINDS)
        print(f"  {name}: {spread(clock, 2)}, CPU {spread(cpu, 2)}")
    for name, used in runs[0]["memory"].items():
        found = ", ".join(
            f"{what} {spread([run['memory'][name][what] for run in runs], 2)}" for what in used
        )
        print(f"  memory of a rank in models, {name}: {found}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--parameters", type=int)
    parser.add_argument("--only", choices=["steps"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    given = (options.repeats, options.parameters, options.only == "steps")
    load = os.getloadavg()[0]
    runs = [run_once(*given) for _ in range(options.runs)]
    print(f"{RANKS} ranks on {os.cpu_count()} cores, load {load:.1f}, torch {torch.__version__}")
    tell(runs, options.parameters)
    if options.json:
        options.json.write_text(json.dumps(runs, indent=1))


if __name__ == "__main__":
    main()
