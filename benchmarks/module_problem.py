"""What is faster, all nodes at once or one after the other, and is it chosen?

    python benchmarks/module_problem.py
    python benchmarks/module_problem.py --device cuda
    python benchmarks/module_problem.py --device cuda --models "GPT, bfloat16" --ways compiled

For each model: milliseconds per gradient of eight nodes by `vmap`, by the loop and by default,
the least of several taken in turns; on a CPU the default must take at most 1.1 times the better of
the two. On CUDA also a step of `gs.simulate`, which must take at most 1.1 times the gradient, and
the error of the gradient against the loop in float64.
"""

import argparse
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from speeds import Speed, keep
from torch import Tensor, nn
from torch.nn import functional

import gossamer as gs
from gossamer.errors import first_line
from gossamer.memory import keep_freed_memory
from gossamer.models import GPT
from gossamer.problems.language import token_loss

NODES, BATCH, REPETITIONS, GOAL = 8, 32, 9, 1.1
GOALS_MS = {"ResNet-20, float32": 5.0, "ResNet-20, TF32": 5.0, "GPT, bfloat16": 3.2}


def convolutions(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(2 * width * 16, 10),
    )  # fmt: skip


MODELS = {
    "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(256, 10)),
    "one hidden layer of 64": lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(256, 64), nn.Tanh(), nn.Linear(64, 10)
    ),
    "CNN, 4 and 8 channels": lambda: convolutions(4),
    "CNN, 16 and 32 channels": lambda: convolutions(16),
}


def problem(model: nn.Module, vectorize: bool | None) -> gs.ModuleProblem:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(NODES, BATCH, 1, 16, 16, generator=generator)
    labels = torch.randint(10, (NODES, BATCH), generator=generator)
    data = list(zip(images, labels, strict=True))
    loss = nn.functional.cross_entropy
    return gs.ModuleProblem(model, loss, data, batch_size=BATCH, vectorize=vectorize)


def milliseconds(made: gs.ModuleProblem, x: Tensor, steps: int = 5) -> float:
    start = time.perf_counter()
    for t in range(steps):
        made.sample_grad(x, t, [0])
    if x.is_cuda:
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start) / steps


def least_milliseconds(ways: list[gs.ModuleProblem], x: Tensor) -> list[float]:
    """In turns there and back, so that each way comes as often after another as after itself."""
    best = [math.inf] * len(ways)
    for _ in range(REPETITIONS):
        for k in (*range(len(ways)), *reversed(range(len(ways)))):
            best[k] = min(best[k], milliseconds(ways[k], x))
    return best


class Residual(nn.Module):
    """Two convolutions of a ResNet with GroupNorm, and the way around them."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.GroupNorm(8, out), nn.ReLU(),
            nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.GroupNorm(8, out),
        )  # fmt: skip
        around = nn.Conv2d(channels, out, 1, stride, bias=False)
        self.around = nn.Identity() if channels == out else around

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.around(x) + self.body(x))


def resnet_20() -> nn.Module:
    blocks = (
        [(16, 16, 1)] * 3 + [(16, 32, 2)] + [(32, 32, 1)] * 2 + [(32, 64, 2)] + [(64, 64, 1)] * 2
    )
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.GroupNorm(8, 16), nn.ReLU(),
        *(Residual(*block) for block in blocks),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def image_problem(**options: Any) -> gs.ModuleProblem:
    torch.manual_seed(0)
    data = [
        (torch.randn(2 * BATCH, 3, 32, 32), torch.randint(10, (2 * BATCH,))) for _ in range(NODES)
    ]
    loss = functional.cross_entropy
    return gs.ModuleProblem(resnet_20(), loss, data, batch_size=BATCH, **options)


def text_problem(**options: Any) -> gs.ModuleProblem:
    torch.manual_seed(0)
    data = [torch.randint(10208, (2, 128, 64)).unbind() for _ in range(NODES)]
    given = {"batch_size": 64, "autocast": torch.bfloat16, **options}
    return gs.ModuleProblem(GPT(), token_loss, data, **given)


WAYS: dict[str, dict[str, bool]] = {
    "loop": {"vectorize": False, "compile": False},
    "vmap": {"vectorize": True, "compile": False},
    "loop captured": {"vectorize": False},
    "vmap captured": {"vectorize": True},
    "compiled": {"compile": True},
    "default": {},
}


def on_gpu(models: list[str], ways: list[str]) -> None:
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(f"{'ms per gradient of 8 nodes':28} {'way':16} {'gradient':>8} {'step':>8} {'error':>9}")
    for name in models:
        torch.backends.cuda.matmul.allow_tf32 = "TF32" in name
        make: Callable[..., gs.ModuleProblem] = text_problem if "GPT" in name else image_problem
        exact, rows = exact_gradient(make), {}
        for way in ways:
            rows[way] = gpu_row(partial(make, **WAYS[way]), exact)
            print(f"{name:28} {way:16} {rows[way]}", flush=True)
        goal = GOALS_MS[name]
        print(f"{name:28} {'goal':16} {goal:8.2f} {GOAL * goal:8.2f}")
        if ways == list(WAYS):
            keep("cuda", against_goal(name, [row for row in rows.values() if isinstance(row, Row)]))


def exact_gradient(make: Callable[..., gs.ModuleProblem]) -> Tensor:
    """By the loop in float64."""
    problem = make(vectorize=False, compile=False, autocast=None).to("cuda", torch.float64)
    return problem.sample_grad(problem.start.expand(NODES, 1, -1), 0, [0])


class Row(NamedTuple):
    """Milliseconds of a gradient and of a step, the error, and how it was evaluated."""

    gradient: float
    step: float
    error: float
    way: str

    def __str__(self) -> str:
        return f"{self.gradient:8.2f} {self.step:8.2f} {self.error:9.1e}   {self.way}"


def gpu_row(make: Callable[[], gs.ModuleProblem], exact: Tensor) -> Row | str:
    """What was measured, or what failed."""
    try:
        problem = make().to("cuda", torch.float32)
        x = problem.start.expand(NODES, 1, -1).contiguous()
        milliseconds(problem, x)
        gradient = min(milliseconds(problem, x) for _ in range(3))
        error = float((problem.sample_grad(x, 0, [0]) - exact).norm() / exact.norm())
        return Row(gradient, step_milliseconds(problem), error, problem.way)
    except Exception as reason:
        return f"{type(reason).__name__}: {first_line(reason)}"
    finally:
        torch.cuda.empty_cache()


def against_goal(name: str, rows: list[Row]) -> list[Speed]:
    """The fastest gradient, which a long run gets, and its step."""
    best, loop = min(rows), next(row.gradient for row in rows if row.way == "loop")
    return [
        Speed(f"{name}, gradient", best.gradient, "ms", GOALS_MS[name], None, "loop", loop),
        Speed(f"{name}, step / gradient", best.step / best.gradient, "times", GOAL),
    ]


def step_milliseconds(problem: gs.ModuleProblem, steps: int = 100) -> float:
    """Of `gs.simulate`, without what it takes to begin."""

    def seconds(count: int) -> float:
        start, method = time.perf_counter(), gs.GTNSGDm(lr=0.01, momentum=0.8)
        kept = {"metrics": ["consensus_error"], "record_every": count, "progress": False}
        place = {"device": "cuda", "dtype": torch.float32}
        gs.simulate(method, problem, gs.ring(NODES), steps=count, **kept, **place)
        return time.perf_counter() - start

    seconds(20)
    return 1e3 * min(seconds(20 + steps) - seconds(20) for _ in range(2)) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--models", nargs="*", choices=list(GOALS_MS), default=list(GOALS_MS))
    parser.add_argument("--ways", nargs="*", choices=list(WAYS), default=list(WAYS))
    options = parser.parse_args()
    if options.device == "cuda":
        on_gpu(options.models, options.ways)
    else:
        on_cpu()


def on_cpu() -> None:
    keep_freed_memory()  # as every simulation and every optimizer does
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    print(f"{'ms per gradient of 8 nodes × 32':34} {'vmap':>7} {'loop':>7} {'default':>8}")
    worst = 0.0
    for name, make in MODELS.items():
        torch.manual_seed(0)
        ways = [problem(make(), way) for way in (True, False, None)]
        x = ways[0].start.expand(NODES, 1, -1).contiguous()
        found = least_milliseconds(ways, x)
        worst = max(worst, found[2] / min(found))
        shown = "{:7.2f} {:7.2f} {:8.2f}".format(*found)
        print(f"{name:34} {shown}   ({ways[2].way})", flush=True)
    print(f"default / better of both, worst: {worst:.2f} (goal {GOAL})")
    keep("cpu", [Speed("small models, default / better of vmap and loop", worst, "times", GOAL)])


if __name__ == "__main__":
    main()
