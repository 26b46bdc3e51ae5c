"""Which network, precision, compression and local steps for which link, with DDP beside them.

The time of a step: start a rank on every machine, or in every network namespace, with torchrun's
variables; rank 0 prints the mean of every contender, all of them on the same links.

    RANK=0 WORLD_SIZE=4 MASTER_ADDR=10.0.0.1 MASTER_PORT=29411 python benchmarks/slow_links.py

The gradient is a pause of `--gradient` seconds, as on a GPU.

The steps that are needed: `python benchmarks/slow_links.py --progress` trains a narrower MLP on
scikit-learn's digits in the simulator, whose steps are those of the processes, and prints how many
steps each contender takes until the loss over all data, averaged over the nodes' models, has fallen
to `TARGET`, with the best step size of a set.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

import gossamer as gs
from gossamer.distributed import DecentralizedOptimizer, join

NODES = 4
WIDTH = 960  # 64 · 960 + 960 · 960 + 960 · 10 and the biases: 994,570 parameters
NARROW = 128  # 25,994 parameters
STEP_SIZES = [0.02 * 2**k for k in range(7)]
STEPS, TARGET = 400, 0.05
BF16 = {"message_dtype": torch.bfloat16}
CTA = partial(gs.GTNSGDm, momentum=0.8, order="combine-then-adapt")


@dataclass(frozen=True)
class Contender:
    """A method of a step size, its network, and what else the optimizer is told."""

    method: Callable[[float], gs.Algorithm[Any]]
    network: gs.Network
    options: dict[str, Any] = field(default_factory=dict)

    def step(self, model: nn.Module, pause: float) -> Callable[[], None]:
        parameters = list(model.parameters())
        optimizer = DecentralizedOptimizer(
            parameters, self.method(1e-3), self.network, **self.options
        )
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)

        def step() -> None:
            time.sleep(pause)
            optimizer.step()

        return step

    @property
    def simulated(self) -> gs.Network:
        """The network with its messages rounded as the optimizer rounds them."""
        rounded = "message_dtype" in self.options
        return self.network.compressed(gs.Cast(torch.bfloat16)) if rounded else self.network


class Pause(torch.autograd.Function):
    """Does nothing, and takes its time on the way back."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, seconds: float) -> torch.Tensor:
        ctx.seconds = seconds
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        time.sleep(ctx.seconds)
        return grad, None


class DDP:
    """DistributedDataParallel with its messages behind the backward pass, in four buckets or so.

    In the simulator: SGD with momentum on a complete network.
    """

    method, simulated = partial(gs.DSGDm, momentum=0.9), gs.complete(NODES)

    def step(self, model: nn.Module, pause: float) -> Callable[[], None]:
        copy = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        inputs = torch.randn(1, 64)

        def step() -> None:
            optimizer.zero_grad()
            copy(inputs).sum().backward()
            optimizer.step()

        for layer in (layer for layer in model if isinstance(layer, nn.Linear)):
            layer.register_forward_hook(lambda _, __, out: Pause.apply(out, pause / 3))
        return step


def contenders() -> dict[str, Contender | DDP]:
    ring, one_peer = gs.ring(NODES), gs.one_peer_exponential(NODES)
    hidden = {"overlap": True}
    return {
        "DDP": DDP(),
        "ring, float32": Contender(partial(gs.GTNSGDm, momentum=0.8), ring),
        "one peer, bfloat16": Contender(partial(gs.GTNSGDm, momentum=0.8), one_peer, BF16),
        "one peer, bfloat16, hidden": Contender(CTA, one_peer, BF16 | hidden),
        "one peer, bfloat16, every 4th, hidden": Contender(CTA, one_peer.every(4), BF16 | hidden),
        "one peer, bfloat16, every 16th, hidden": Contender(CTA, one_peer.every(16), BF16 | hidden),
        "ring, top 5 %, hidden": Contender(CTA, ring.compressed(gs.TopK(0.05)), hidden),
        "ring, top 1 %, hidden": Contender(CTA, ring.compressed(gs.TopK(0.01)), hidden),
    }


def mlp(width: int) -> nn.Sequential:
    layers = [nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def time_steps(width: int, pause: float, steps: int) -> None:
    rank = join(timeout=300.0)
    for name, contender in contenders().items():
        step, times = contender.step(mlp(width), pause), []
        for _ in range(steps + 2):
            start = time.perf_counter()
            step()
            times.append(1000 * (time.perf_counter() - start))
        dist.barrier()
        if rank == 0:
            print(f"  {name:40s} {statistics.mean(times[2:]):8.1f} ms", flush=True)


def problem() -> gs.ModuleProblem:
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    inputs, targets = torch.tensor(images / 16).float(), torch.tensor(labels)
    shares = [(inputs[i::NODES], targets[i::NODES]) for i in range(NODES)]
    torch.manual_seed(0)
    return gs.ModuleProblem(mlp(NARROW), nn.functional.cross_entropy, shares, batch_size=32)


def steps_needed() -> None:
    task = problem()
    for name, contender in contenders().items():
        found = {}
        for lr in STEP_SIZES:
            run = gs.simulate(
                contender.method(lr),
                task,
                contender.simulated,
                steps=STEPS,
                record_every=10,
                metrics=["loss"],
                dtype=torch.float32,
            )
            below = (run.metrics["loss"].flatten() <= TARGET).nonzero()
            found[lr] = int(run.steps[int(below[0])]) if len(below) else None
            print(f"    {name:40s} lr {lr:<6g} {found[lr]}", flush=True)
        reached = {steps: lr for lr, steps in found.items() if steps is not None}
        best = min(reached, default=None)
        print(f"  {name:40s} {best} steps at lr {reached.get(best)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--progress", action="store_true", help="Steps needed, in the simulator.")
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--gradient", type=float, default=1.0, help="Seconds of a gradient.")
    parser.add_argument("--steps", type=int, default=16)
    options = parser.parse_args()
    if options.progress:
        steps_needed()
    else:
        time_steps(options.width, options.gradient, options.steps)


if __name__ == "__main__":
    main()
