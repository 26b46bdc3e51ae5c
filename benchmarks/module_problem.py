"""What is faster on this CPU, all nodes at once or one after the other, and is it chosen?

    python benchmarks/module_problem.py

For each model: milliseconds per gradient of eight nodes by `vmap`, by the loop and by default,
the least of several taken in turns; the default must take at most 1.1 times the better of the two.
"""

import sys
import time

import torch
from torch import Tensor, nn

import gossamer as gs

NODES, BATCH, REPETITIONS, GOAL = 8, 32, 9, 1.1


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
    return 1e3 * (time.perf_counter() - start) / steps


def main() -> None:
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    print(f"{'ms per gradient of 8 nodes × 32':34} {'vmap':>7} {'loop':>7} {'default':>8}")
    worst = 0.0
    for name, make in MODELS.items():
        torch.manual_seed(0)
        ways = [problem(make(), way) for way in (True, False, None)]
        x = ways[0].start.expand(NODES, 1, -1).contiguous()
        rounds = [[milliseconds(way, x) for way in ways] for _ in range(REPETITIONS)]
        found = [min(times) for times in zip(*rounds, strict=True)]
        worst = max(worst, found[2] / min(found))
        shown = "{:7.2f} {:7.2f} {:8.2f}".format(*found)
        print(f"{name:34} {shown}   ({ways[2].way})", flush=True)
    print(f"default / better of both, worst: {worst:.2f} (goal {GOAL})")
    sys.exit(worst > GOAL)


if __name__ == "__main__":
    main()
