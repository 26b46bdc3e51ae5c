"""Which network, precision, compression and local steps for which link, with DDP beside them.

Each of the first two commands is started on four machines, or in four network namespaces, with
torchrun's variables; rank 0 adds what was found to benchmarks/slow_links.json.

    RANK=0 WORLD_SIZE=4 MASTER_ADDR=10.0.0.1 MASTER_PORT=29411 \\
        python benchmarks/slow_links.py times --link "20 ms, 50 Mbit/s" --gradient 1

The time of a step: an MLP of 994,570 parameters on one sample, whose backward pass rests for
`--gradient` seconds in all, as if a GPU computed. Told are means over a few steps, or over a period
of a network that talks now and then.

    torchrun --nproc-per-node 4 benchmarks/slow_links.py progress

The steps that are needed: a narrower MLP learns scikit-learn's digits until the loss over all data,
averaged over the ranks' models, has fallen to `TARGET`, with the best step size of a set. The ranks
have samples alike, or digits of their own.

    python benchmarks/slow_links.py tell

Both, and their product, as tables; docs/distributed.md shows part of them.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

import gossamer as gs
from gossamer.data import BatchOrder
from gossamer.distributed import DecentralizedOptimizer, join
from gossamer.provenance import versions

RESULT = Path(__file__).with_suffix(".json")
os.environ["GOSSAMER_SHARED_MEMORY"] = "0"  # namespaces stand for hosts: all messages are sent
NODES = 4
WIDTH = 960  # 64 · 960 + 960 · 960 + 960 · 10 and the biases: 994,570 parameters
NARROW = 128  # 25,994 parameters
CHUNKS, CHUNK = 3, 2  # means of so many steps are told, so many
STEP_SIZES = [0.01 * 2**k for k in range(8)]
SEEDS, STEPS, TARGET = 3, 600, 0.05
BF16 = {"message_dtype": torch.bfloat16}
DSGDM = partial(gs.DSGDm, momentum=0.9)
MT = partial(gs.MomentumTracking, momentum=0.9)
ATC = partial(gs.GTNSGDm, momentum=0.8)
CTA = partial(ATC, order="combine-then-adapt")

Training = tuple[nn.Module, torch.optim.Optimizer]


@dataclass(frozen=True)
class Gossip:
    """A method of a step size, its network, and what else the optimizer is told."""

    method: Callable[[float], gs.Algorithm[Any]]
    network: gs.Network
    options: dict[str, Any] = field(default_factory=dict)

    def training(self, model: nn.Module, lr: float) -> Training:
        """Model and optimizer; a collective."""
        told = (self.method(lr), self.network)
        return model, DecentralizedOptimizer(model.parameters(), *told, **self.options)

    @property
    def period(self) -> int:
        """Steps from one talk to the next."""
        return getattr(self.network, "k", 1)


@dataclass(frozen=True)
class DDP:
    """DistributedDataParallel, its messages behind the backward pass in four buckets or so."""

    rounded: bool = False
    period = 1

    def training(self, model: nn.Module, lr: float) -> Training:
        """Model and optimizer; a collective."""
        copy = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1)
        if self.rounded:
            copy.register_comm_hook(None, fp16_compress_hook)
        return copy, torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)


def contenders() -> dict[str, Gossip | DDP]:
    ring, one_peer = gs.ring(NODES), gs.one_peer_exponential(NODES)
    hidden = {"overlap": True}
    return {
        "DDP": DDP(),
        "DDP, float16": DDP(rounded=True),
        "DSGDm, one peer, bfloat16": Gossip(DSGDM, one_peer, BF16),
        "DSGDm, one peer, bfloat16, every 4th": Gossip(DSGDM, one_peer.every(4), BF16),
        "DSGDm, one peer, bfloat16, every 16th": Gossip(DSGDM, one_peer.every(16), BF16),
        "Momentum Tracking, one peer, bfloat16, hidden": Gossip(MT, one_peer, BF16 | hidden),
        "Momentum Tracking, one peer, bfloat16, every 4th, hidden": Gossip(
            MT, one_peer.every(4), BF16 | hidden
        ),
        "GT-NSGDm, ring, float32": Gossip(ATC, ring),
        "GT-NSGDm, one peer, bfloat16": Gossip(ATC, one_peer, BF16),
        "GT-NSGDm, one peer, bfloat16, hidden": Gossip(CTA, one_peer, BF16 | hidden),
        "GT-NSGDm, one peer, bfloat16, every 4th, hidden": Gossip(
            CTA, one_peer.every(4), BF16 | hidden
        ),
        "GT-NSGDm, one peer, bfloat16, every 16th, hidden": Gossip(
            CTA, one_peer.every(16), BF16 | hidden
        ),
        "GT-NSGDm, ring, top 5 %, hidden": Gossip(CTA, ring.compressed(gs.TopK(0.05)), hidden),
        "GT-NSGDm, ring, top 1 %, hidden": Gossip(CTA, ring.compressed(gs.TopK(0.01)), hidden),
    }


def mlp(width: int) -> nn.Sequential:
    layers = [nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def step(training: Training, loss: Callable[[nn.Module], Tensor]) -> None:
    model, optimizer = training
    optimizer.zero_grad()
    loss(model).backward()
    optimizer.step()


# ---------------------------------------------------------------------- the time of a step


class Rest(torch.autograd.Function):
    """Does nothing, and takes its time on the way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, seconds: float) -> Tensor:
        ctx.seconds = seconds
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        time.sleep(ctx.seconds)
        return grad, None


def resting(model: nn.Sequential, seconds: float) -> nn.Sequential:
    """The model, each of whose layers takes its share of the time on the way back."""
    layers = [layer for layer in model if isinstance(layer, nn.Linear)]
    for layer in layers:
        layer.register_forward_hook(lambda _, __, out: Rest.apply(out, seconds / len(layers)))
    return model


def times(contender: Gossip | DDP, width: int, gradient: float) -> list[float]:
    """Milliseconds per step, the means of `CHUNKS` runs of steps."""
    training, inputs = contender.training(resting(mlp(width), gradient), 1e-3), torch.randn(1, 64)
    take, chunk = partial(step, training, lambda m: m(inputs).sum()), max(CHUNK, contender.period)
    found = []
    for steps in (2, *[chunk] * CHUNKS):
        start = time.perf_counter()
        for _ in range(steps):
            take()
        found.append(1000 * (time.perf_counter() - start) / steps)
    dist.barrier()
    return found[1:]


def time_all(link: str, width: int, gradient: float) -> None:
    rank = join(timeout=300.0)
    parameters = sum(p.numel() for p in mlp(width).parameters())
    place = f"{link}, {gradient:g} s, {parameters:,} parameters"
    for name, contender in missing("times", place).items():
        found = times(contender, width, gradient)
        if rank == 0:
            print(f"  {name:40s} {spread(found)} ms", flush=True)
            keep("times", place, name, found)


# ---------------------------------------------------------------------- the steps needed


@cache
def digits() -> tuple[Tensor, Tensor]:
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return torch.tensor(images / 16).float(), torch.tensor(labels)


def share(rank: int, apart: bool) -> tuple[Tensor, Tensor]:
    """The samples of a rank: a quarter as it comes, or of all samples in the order of digits."""
    inputs, labels = digits()
    order = labels.argsort(stable=True) if apart else torch.arange(len(labels))
    own = order.tensor_split(NODES)[rank] if apart else order[rank::NODES]
    return inputs[own], labels[own]


def steps_to_target(
    contender: Gossip | DDP, lr: float, apart: bool, seed: int, limit: int
) -> int | None:
    """Steps until the loss is at most `TARGET`, seen every 10; None if it takes over `limit`."""
    rank = dist.get_rank()
    torch.manual_seed(seed)
    training, (inputs, labels) = contender.training(mlp(NARROW), lr), share(rank, apart)
    order = BatchOrder(len(inputs), 32, seed, rank)
    for t in range(limit):
        batch = order.at(t)
        step(training, lambda m, b=batch: nn.functional.cross_entropy(m(inputs[b]), labels[b]))
        if (t + 1) % 10 == 0 and mean_loss(training[0]) <= TARGET:
            return t + 1
    return None


def mean_loss(model: nn.Module) -> float:
    """Over all data, averaged over the ranks' models."""
    inputs, labels = digits()
    with torch.no_grad():
        loss = nn.functional.cross_entropy(getattr(model, "module", model)(inputs), labels)
    dist.all_reduce(loss)
    return float(loss) / NODES


def best_step_size(contender: Gossip | DDP, apart: bool) -> dict[str, Any]:
    """The step size that is there first, by the median of the seeds, and their steps.

    From the middle of the set upwards, then downwards, each as long as it gets better.
    """
    best: dict[str, Any] = {"lr": None, "steps": [STEPS]}
    limit: float = STEPS
    middle = len(STEP_SIZES) // 2
    for direction in (STEP_SIZES[middle:], STEP_SIZES[:middle][::-1]):
        for lr in direction:
            found = steps_of_seeds(contender, lr, apart, int(limit))
            if len(found) == SEEDS and statistics.median(found) < statistics.median(best["steps"]):
                best = {"lr": lr, "steps": found}
                limit = min(STEPS, 1.5 * statistics.median(found))
            elif best["lr"] is not None:
                break
    return best


def steps_of_seeds(contender: Gossip | DDP, lr: float, apart: bool, limit: int) -> list[int]:
    """Steps to the target, of the seeds before the first that does not get there."""
    found: list[int] = []
    for seed in range(SEEDS):
        steps = steps_to_target(contender, lr, apart, seed, limit)
        if steps is None:
            break
        found.append(steps)
    return found


def progress() -> None:
    rank = join(timeout=300.0)
    for data, apart in (("alike", False), ("apart", True)):
        for name, contender in missing("steps", data).items():
            found = best_step_size(contender, apart)
            if rank == 0:
                print(f"  {data}: {name:40s} {found}", flush=True)
                keep("steps", data, name, found)


# ---------------------------------------------------------------------- what was found


def kept() -> dict[str, Any]:
    return json.loads(RESULT.read_text()) if RESULT.exists() else {"steps": {}, "times": {}}


def missing(part: str, place: str) -> dict[str, Gossip | DDP]:
    """The contenders of which nothing is kept; all ranks read the same file, or copies of it."""
    known = kept()[part].get(place, {})
    return {name: one for name, one in contenders().items() if name not in known}


def keep(part: str, place: str, name: str, found: Any) -> None:
    result = kept() | {"versions": versions()}
    result[part].setdefault(place, {})[name] = found
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"


def tell() -> None:
    """Tables in Markdown: steps, milliseconds per step, seconds to the target."""
    found = kept()
    print(table({data: needed(rows) for data, rows in found["steps"].items()}))
    times = found["times"].items()
    print(table({place: {n: spread(ms) for n, ms in rows.items()} for place, rows in times}))
    for data, rows in found["steps"].items():
        print(f"Seconds to the target, {data}\n")
        print(table({place: seconds(ms, rows) for place, ms in times}))


def needed(rows: dict[str, Any]) -> dict[str, str]:
    return {n: spread(one["steps"]) if one["lr"] else f"over {STEPS}" for n, one in rows.items()}


def seconds(times: dict[str, list[float]], steps: dict[str, Any]) -> dict[str, str]:
    """Time of a step × steps that are needed, by medians."""
    reached = [name for name in times if steps.get(name, {}).get("lr")]
    taken = {name: statistics.median(steps[name]["steps"]) for name in reached}
    return {n: f"{taken[n] * statistics.median(times[n]) / 1000:,.0f}" for n in reached}


def table(columns: dict[str, dict[str, str]]) -> str:
    lines = [["", *columns], ["---"] * (len(columns) + 1)]
    lines += [[name, *(one.get(name, "–") for one in columns.values())] for name in contenders()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["times", "progress", "tell"])
    parser.add_argument("--link", default="this link", help="What the link is called.")
    parser.add_argument("--gradient", type=float, default=1.0, help="Seconds of a gradient.")
    parser.add_argument("--width", type=int, default=WIDTH)
    options = parser.parse_args()
    if options.what == "times":
        time_all(options.link, options.width, options.gradient)
    elif options.what == "progress":
        progress()
    else:
        tell()


if __name__ == "__main__":
    main()
