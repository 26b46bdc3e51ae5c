"""What automatic differentiation costs: an own function against the gradient written by hand.

    python benchmarks/function_problem.py    ends with 1 where a goal is missed

Tukey's loss as `FunctionProblem` beside `RobustRegression`: 20 nodes, 20 coordinates, float32; the
gradient alone, and steps of GT-NSGDm with noise. CPU time on one core, taken in turns, so that it
holds on a busy machine too.
"""

import sys

import torch
from rich.console import Console
from rich.table import Table
from sweep import interleaved, summary, use_one_core
from torch import Tensor

import gossamer as gs
from gossamer.memory import keep_freed_memory
from gossamer.problems.robust_regression import TUKEY

NODES, SEEDS, STEPS, REPETITIONS = 20, 5, 20, 15
STACKS = (715, 286, 5, 1)
GOAL = 3.0
"""Times the gradient by hand."""


def tukey(w: Tensor, features: Tensor, labels: Tensor) -> Tensor:
    inside = (1 - ((labels - features @ w) / TUKEY) ** 2).clamp(min=0)
    return TUKEY**2 / 6 * (1 - inside**3).mean()


def problems() -> dict[str, gs.Problem]:
    by_hand, whole = gs.RobustRegression(NODES), gs.RobustRegression(1)
    features, labels = whole._features[0].mT * TUKEY, -whole._offset[0, 0] * TUKEY
    shards = list(zip(features.tensor_split(NODES), labels.tensor_split(NODES), strict=True))
    own = gs.FunctionProblem(tukey, shards, dim=20, optimum=by_hand.optimum)
    both = {"by hand": by_hand, "function": own}
    return {name: problem.to(torch.float32) for name, problem in both.items()}


def simulate(problem: gs.Problem, runs: int) -> gs.Run:
    return gs.simulate(
        gs.GTNSGDm(lr=torch.linspace(0.001, 0.1, runs)[:, None], momentum=0.8),
        problem,
        gs.ring(NODES, hops=2),
        noise=gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1),
        steps=STEPS,
        seeds=[run % SEEDS for run in range(runs)],
        record_every=STEPS,
        metrics=["error"],
        dtype=torch.float32,
    )


def ratio(times: dict[str, list[float]], name: str) -> dict[str, float]:
    pairs = zip(times[name], times["by hand"], strict=True)
    return summary([own / by_hand for own, by_hand in pairs])


def show(what: str, times: dict[str, list[float]], run_steps: int) -> None:
    table = Table(title=f"{what}: µs per run and step; times the one by hand")
    for column in ("", "µs", "ratio", "quartiles"):
        table.add_column(column, justify="right")
    for name, values in times.items():
        shown = ratio(times, name)
        micros = 1e6 * summary(values)["median"] / run_steps
        spread = f"{shown['lower quartile']:.2f}–{shown['upper quartile']:.2f}"
        table.add_row(name, f"{micros:.2f}", f"{shown['median']:.2f}", spread)
    Console(width=100).print(table)


def gradients(tasks: dict[str, gs.Problem], runs: int) -> float:
    """The ratio of the gradients of so many runs, after a check that they agree."""
    x = torch.randn(NODES, runs, 20, generator=torch.Generator().manual_seed(0))
    calls = {name: lambda p=p: p.local_grad(x) for name, p in tasks.items()}
    expected = calls["by hand"]()
    for call in calls.values():
        torch.testing.assert_close(call(), expected, rtol=1e-4, atol=1e-5)
    times = interleaved(calls, 5 * REPETITIONS)
    show(f"the gradient, {runs} runs", times, runs)
    return ratio(times, "function")["median"]


def main() -> None:
    use_one_core()
    keep_freed_memory()
    tasks = problems()
    missed = [runs for runs in STACKS if gradients(tasks, runs) > GOAL]
    for runs in STACKS:
        steps = {name: lambda p=p, runs=runs: simulate(p, runs) for name, p in tasks.items()}
        show(f"the step, {runs} runs", interleaved(steps, REPETITIONS), runs * STEPS)
    sys.exit(f"more than {GOAL:g} times by hand for {missed} runs" if missed else 0)


if __name__ == "__main__":
    main()
