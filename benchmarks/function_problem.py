"""What automatic differentiation costs: an own function against the gradient written by hand.

    python benchmarks/function_problem.py

Tukey's loss as `FunctionProblem`, eager and compiled, beside `RobustRegression`: 20 nodes, 20
coordinates, 715 runs, float32; the gradient alone, and steps of GT-NSGDm with noise. CPU time on
one core, taken in turns, so that it holds on a busy machine too. Compiling needs a C++ compiler.
"""

import torch
from rich.console import Console
from rich.table import Table
from sweep import interleaved, summary, use_one_core
from torch import Tensor

import gossamer as gs
from gossamer.memory import keep_freed_memory
from gossamer.problems.robust_regression import TUKEY

NODES, RUNS, SEEDS, STEPS, REPETITIONS = 20, 715, 5, 20, 15


def tukey(w: Tensor, features: Tensor, labels: Tensor) -> Tensor:
    inside = (1 - ((labels - features @ w) / TUKEY) ** 2).clamp(min=0)
    return TUKEY**2 / 6 * (1 - inside**3).mean()


def problems() -> dict[str, gs.Problem]:
    by_hand, whole = gs.RobustRegression(NODES), gs.RobustRegression(1)
    features, labels = whole._features[0].mT * TUKEY, -whole._offset[0, 0] * TUKEY
    shards = list(zip(features.tensor_split(NODES), labels.tensor_split(NODES), strict=True))
    own = {
        name: gs.FunctionProblem(tukey, shards, dim=20, optimum=by_hand.optimum, compile=on)
        for name, on in {"function": False, "compiled": True}.items()
    }
    return {name: p.to(torch.float32) for name, p in {"by hand": by_hand, **own}.items()}


def simulate(problem: gs.Problem) -> gs.Run:
    return gs.simulate(
        gs.GTNSGDm(lr=torch.linspace(0.001, 0.1, RUNS)[:, None], momentum=0.8),
        problem,
        gs.ring(NODES, hops=2),
        noise=gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1),
        steps=STEPS,
        seeds=[run % SEEDS for run in range(RUNS)],
        record_every=STEPS,
        metrics=["error"],
        dtype=torch.float32,
    )


def show(what: str, times: dict[str, list[float]], run_steps: int) -> None:
    table = Table(title=f"{what}: µs per run and step; times the one by hand")
    for column in ("", "µs", "ratio", "quartiles"):
        table.add_column(column, justify="right")
    for name, values in times.items():
        ratio = summary([a / b for a, b in zip(values, times["by hand"], strict=True)])
        micros = 1e6 * summary(values)["median"] / run_steps
        spread = f"{ratio['lower quartile']:.2f}–{ratio['upper quartile']:.2f}"
        table.add_row(name, f"{micros:.2f}", f"{ratio['median']:.2f}", spread)
    Console(width=100).print(table)


def main() -> None:
    use_one_core()
    keep_freed_memory()
    tasks = problems()
    for runs in (RUNS, 1):
        x = torch.randn(NODES, runs, 20, generator=torch.Generator().manual_seed(0))
        gradients = {name: lambda p=p, x=x: p.local_grad(x) for name, p in tasks.items()}
        expected = gradients["by hand"]()
        for gradient in gradients.values():
            torch.testing.assert_close(gradient(), expected, rtol=1e-4, atol=1e-5)
        show(f"the gradient, {runs} runs", interleaved(gradients, 5 * REPETITIONS), runs)
    steps = {name: lambda p=p: simulate(p) for name, p in tasks.items()}
    show(f"the step, {RUNS} runs", interleaved(steps, REPETITIONS), RUNS * STEPS)


if __name__ == "__main__":
    main()
