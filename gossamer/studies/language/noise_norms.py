"""Norms of the gradient noise of one node, measured where its training pauses."""

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from gossamer.algorithms import DSGD
from gossamer.experiments.experiment import Options, Result
from gossamer.networks import complete
from gossamer.problems.module_problem import ModuleProblem
from gossamer.simulation import Stack
from gossamer.studies.language.language import DTYPE, Task, machine, problem
from gossamer.studies.synthetic.synthetic import fresh_seeds

LR = 0.1
"""The paper prints no step size for this figure."""

MEASURED = (0, 6, 10)
"""Epochs, of twelve, at whose beginning the noise is measured."""

PASSES = 8
"""Passes over the data, each in its own order, whose batches are measured."""


def measured_epochs(task: Task) -> list[int]:
    """Epochs 0, 6 and 10 of twelve, in proportion for a shorter training."""
    return [epoch * task.epochs // 12 for epoch in MEASURED]


def training_seed(options: Options) -> int:
    """The order of the batches that the model is trained on."""
    return fresh_seeds(options)[0]


def noise_seeds(options: Options) -> list[int]:
    """The orders of the batches that noise is measured on, no other study's."""
    return [1000 * options.seed + 700 + k for k in range(PASSES)]


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


def measure_training(task: Task, options: Options) -> Result:
    """Train a node, and measure the noise where training pauses."""
    began = time.perf_counter()
    language, seeds = problem(options, task), [training_seed(options)]
    stack = Stack(DSGD(LR), language, complete(1), None, seeds, DTYPE, options.device)
    measured = []
    for epoch in measured_epochs(task):
        stack.advance(epoch * language.steps_per_epoch - stack.t)
        measured.append({"epoch": epoch, **_measure(language, stack.x, noise_seeds(options))})
    stack.advance(task.epochs * language.steps_per_epoch - stack.t)
    return {
        "measured": measured,
        "final_validation_loss": _validation_loss(language, stack.x),
        "parameters": language.dim,
        "steps_per_epoch": language.steps_per_epoch,
        "machine": machine(options),
        "seconds": round(time.perf_counter() - began, 1),
    }


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
