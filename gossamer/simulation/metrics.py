"""What is measured of a stack, one number per run.

Norms are Euclidean over the parameters; x̄ = (1/n) Σ x_i is the network's average.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.problems import Problem
from gossamer.simulation.stack import Stack

ELEMENTS_AT_ONCE = 2**21
"""Elements of the largest tensor built when ∇f is evaluated at every node's point."""


def error(stack: Stack) -> Tensor:
    """(1/n) Σ ‖x_i − x*‖, the paper's average estimation error."""
    assert stack.problem.optimum is not None
    return _mean_norm(stack.x - stack.problem.optimum)


def loss(stack: Stack) -> Tensor:
    """f(x̄), the global objective at the network's average."""
    return stack.problem.loss(stack.x.mean(0))


def validation_loss(stack: Stack) -> Tensor:
    """The loss of x̄ on data held out."""
    return stack.problem.validation_loss(stack.x.mean(0))


def grad_norm(stack: Stack) -> Tensor:
    """(1/n) Σ ‖∇f(x_i)‖, the quantity the theorems bound."""
    nodes, runs, dim = stack.x.shape
    points = stack.x.reshape(nodes * runs, dim)
    pieces = points.split(max(1, ELEMENTS_AT_ONCE // (nodes * dim)))
    grads = torch.cat([stack.problem.grad(piece) for piece in pieces])
    return _mean_norm(grads.view(nodes, runs, dim))


def consensus_error(stack: Stack) -> Tensor:
    """(1/n) Σ ‖x_i − x̄‖, how far the nodes disagree."""
    return _mean_norm(stack.x - stack.x.mean(0))


def tracker_error(stack: Stack) -> Tensor:
    """(1/n) Σ ‖y_i − (1/n) Σ_r ∇f_r(x_r)‖: how far the trackers are from what they track.

    y is the tracker of the last step taken, ∇f_r(x_r) the exact gradients at the points it led to.
    """
    assert stack.algorithm.tracker is not None
    tracked = stack.problem.local_grad(stack.x).mean(0)
    return _mean_norm(getattr(stack.state, stack.algorithm.tracker) - tracked)


def _mean_norm(z: Tensor) -> Tensor:
    return torch.linalg.vector_norm(z, dim=-1).mean(0)


METRICS: dict[str, Callable[[Stack], Tensor]] = {
    metric.__name__: metric
    for metric in (error, loss, validation_loss, grad_norm, consensus_error, tracker_error)
}


def main_metric(problem: Problem) -> str:
    """What a problem is judged by: the error, or the loss where the optimum is unknown."""
    return "loss" if problem.optimum is None else "error"


def available_metrics(
    problem: Problem, algorithm: Algorithm[Any] | type[Algorithm[Any]]
) -> list[str]:
    """The metrics that exist here: an error has an optimum, a tracker's error a tracker."""
    missing = {
        "error": problem.optimum is None,
        "validation_loss": not problem.has_validation,
        "tracker_error": algorithm.tracker is None,
    }
    return [name for name in METRICS if not missing.get(name, False)]
