"""Gossamer's simulator: all nodes in one process, alone and as a sweep over 100 step sizes."""

from typing import Any

import torch
from cases import CASES, STACKED, Case
from task import Array, Task, answer, given, timed
from torch import Tensor

import gossamer as gs


class LeastSquares(gs.Problem):
    """f_i(x) = ½ xᵀP_i x + q_iᵀx."""

    def __init__(self, task: Task) -> None:
        self.num_nodes, self.dim = task.linear.shape
        self.start = torch.zeros(self.dim, dtype=torch.float64)
        self.optimum = torch.tensor(task.optimum)
        self._hessians, self._linear = (
            torch.tensor(task.hessians),
            torch.tensor(task.linear)[:, None],
        )

    def local_loss(self, x: Tensor) -> Tensor:
        return ((0.5 * x @ self._hessians + self._linear) * x).sum(-1)

    def local_grad(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self._linear, x, self._hessians)  # P is symmetric

    def describe(self) -> dict[str, Any]:
        return {"name": "LeastSquares", "num_nodes": self.num_nodes, "dim": self.dim}


def main() -> None:
    task = given()
    problem = LeastSquares(task)
    options: dict[str, Any] = {"steps": task.rounds, "record_every": task.rounds}
    options["metrics"] = ["error"]
    for name, case in CASES.items():
        if case.network.num_nodes != task.num_nodes:
            continue
        setting = (problem, case.network)

        def run(case: Case = case, setting: Any = setting) -> Array:
            return gs.simulate(case.algorithm(task), *setting, **options).x[:, 0]

        def sweep(case: Case = case, setting: Any = setting) -> Array:
            grid = {"lr": [task.lr] * STACKED}
            return gs.sweep(case.method, grid, *setting, **options).x[:, 0, 0]

        answer(f"{name}: simulator", "gossamer", *timed(lambda: run, task.repetitions))
        if not case.real_processes:
            stacked = timed(lambda: sweep, task.repetitions)
            answer(f"{name}: {STACKED} stacked", "gossamer", *stacked)


if __name__ == "__main__":
    main()
