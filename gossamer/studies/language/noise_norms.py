"""Norms of the gradient noise of one node, measured where its training pauses."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.algorithms import DSGD
from gossamer.experiments import Result, Unit
from gossamer.networks import complete
from gossamer.problems.module_problem import ModuleProblem
from gossamer.simulation import Stack
from gossamer.studies.language.task import Task, machine


@dataclass(frozen=True)
class NoiseAlongTraining(Unit):
    """One node trains by SGD; where it pauses, the noise of its gradients is measured."""

    task: Task
    lr: float

    epochs: tuple[int, ...]
    """At whose beginning the noise is measured."""

    training_seed: int
    """The order of the batches that the model is trained on."""

    noise_seeds: tuple[int, ...]
    """The orders of the batches that noise is measured on."""

    def run(self, device: str) -> Result:
        """Train, and measure the noise where training pauses."""
        began = time.perf_counter()
        task, problem = self.task, self.task.problem(device)
        method, seeds = DSGD(self.lr), [self.training_seed]
        stack = Stack(method, problem, complete(1), None, seeds, task.dtype, device)
        measured = []
        for epoch in self.epochs:
            stack.advance(epoch * problem.steps_per_epoch - stack.t)
            measured.append({"epoch": epoch, **_measure(problem, stack.x, self.noise_seeds)})
        stack.advance(task.epochs * problem.steps_per_epoch - stack.t)
        return {
            "measured": measured,
            "final_validation_loss": _validation_loss(problem, stack.x),
            "parameters": problem.dim,
            "steps_per_epoch": problem.steps_per_epoch,
            **machine(device, began),
        }


def full_gradient(problem: ModuleProblem, x: Tensor, seed: int) -> Tensor:
    """∇f(x) as the mean of g(x, ξ) over the batches of one epoch, `(1, 1, dim)` → the same.

    An epoch holds every sample once, but for those that fill no batch, fewer than `batch_size`.
    Evaluated like the batches, so that rounding of x to bfloat16 is no part of their difference.
    """
    total = torch.zeros_like(x, dtype=torch.float64)
    for t in range(problem.steps_per_epoch):
        total += problem.sample_grad(x, t, [seed])
    return (total / problem.steps_per_epoch).to(x.dtype)


def noise_norms(
    problem: ModuleProblem, x: Tensor, gradient: Tensor, seeds: Sequence[int]
) -> Tensor:
    """‖g(x, ξ) − ∇f(x)‖ of every batch ξ of one epoch of each of the seeds.

    Args:
        problem: of one node.
        x: where the model stands, `(1, 1, dim)`.
        gradient: ∇f(x), of the same shape.
        seeds: of the orders; evaluated at once.

    Returns the norms in float64, `(steps_per_epoch, seeds)`.
    """
    points = x.expand(1, len(seeds), -1)
    norms = []
    for t in range(problem.steps_per_epoch):
        noise = problem.sample_grad(points, t, seeds) - gradient
        norms.append(torch.linalg.vector_norm(noise, dim=-1, dtype=torch.float64))
    return torch.cat(norms)


def _measure(problem: ModuleProblem, x: Tensor, seeds: Sequence[int]) -> Result:
    gradient = full_gradient(problem, x, seeds[0])
    norms = noise_norms(problem, x, gradient, seeds)
    return {
        "validation_loss": _validation_loss(problem, x),
        "gradient_norm": _five_digits(float(gradient.norm())),
        "norms": [_five_digits(norm) for norm in norms.flatten().tolist()],
    }


def _validation_loss(problem: ModuleProblem, x: Tensor) -> float:
    return _five_digits(float(problem.validation_loss(x[0])))


def _five_digits(value: float) -> float:
    return float(f"{value:.5g}")
