"""Is a problem's gradient the derivative of its loss? Finite differences tell."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.errors import InvalidInput, require, whole
from gossamer.problems.problem import Problem
from gossamer.seeding import stream

STEP = 1e-4
"""h, relative to coordinates larger than 1."""
POINTS = 3
"""At how many random points every node is checked."""
NUMBERS_AT_ONCE = 2**21
"""Size of the largest tensor built."""


def check_gradient(problem: Problem, *, coordinates: int = 100, seed: int = 0) -> float:
    """Compare `local_grad` with finite differences of `local_loss`, node by node, in float64.

    At random points around the start, the derivative along coordinate k is estimated from
    f_i(x ± h e_k) and f_i(x ± 2h e_k) by Richardson's extrapolation. The gradient may differ from
    this estimate by as much as the finite differences with steps h and 2h differ from each other,
    plus the rounding error of f_i divided by h.

    Args:
        problem: any problem; it is not changed.
        coordinates: the number of coordinates to check; they are chosen at random if there are
            more.
        seed: seed of the points and of the choice of coordinates.

    Returns:
        The largest difference found. A wrong gradient is refused; the error names the node and the
        coordinate where it is farthest off.

    >>> from gossamer.problems import Quadratic
    >>> check_gradient(Quadratic(5, 3)) < 1e-9
    True
    """
    whole("coordinates", coordinates, 1)
    problem, generator = problem.to(torch.float64), stream("check gradient", seed)
    shape = problem.num_nodes, POINTS, problem.dim
    offset = torch.randn(shape, generator=generator, dtype=torch.float64)
    x = problem.start + offset.to(problem.start.device)
    grads = problem.local_grad(x)
    require(grads.shape == shape, "local_grad", f"shape {tuple(grads.shape)}", f"shape {shape}")
    chosen = torch.randperm(problem.dim, generator=generator)[:coordinates].sort().values
    at_once = max(1, NUMBERS_AT_ONCE // x.numel())
    found = [_compared(problem, x, grads, some) for some in chosen.to(x.device).split(at_once)]
    worst = max(found, key=lambda difference: difference.excess)
    if worst.excess > 0:
        raise InvalidInput(worst.told(problem))
    return max(difference.size for difference in found)


@dataclass(frozen=True)
class Difference:
    """Where a gradient is furthest from the derivative, and how far it is there."""

    node: int
    coordinate: int
    given: float
    derivative: float
    excess: float
    """Beyond what the finite difference leaves open."""
    size: float
    """The largest difference, whether or not it means anything."""

    def told(self, problem: Problem) -> str:
        """The way out for whoever wrote the gradient."""
        return (
            f"local_grad of {type(problem).__name__}: got {self.given:.10g} at node {self.node}, "
            f"coordinate {self.coordinate}, need {self.derivative:.10g}, the derivative of "
            "local_loss there by finite differences; gs.FunctionProblem computes gradients itself"
        )


def _compared(problem: Problem, x: Tensor, grads: Tensor, coordinates: Tensor) -> Difference:
    """The gradient along some coordinates, at all nodes and points, against differences."""
    h = STEP * x[..., coordinates].abs().clamp(min=1)  # (nodes, points, coordinates)
    near, scale = _central(problem, x, coordinates, h)
    far, _ = _central(problem, x, coordinates, 2 * h)
    derivative, given = (4 * near - far) / 3, grads[..., coordinates]
    rounding = 8 * torch.finfo(torch.float64).eps * scale / h
    allowed = (near - far).abs() + rounding + 1e-11 * given.abs()
    size = (given - derivative).abs().nan_to_num(torch.inf)
    excess = size - allowed.nan_to_num(0, posinf=0)
    node, point, place = torch.unravel_index(excess.argmax(), excess.shape)
    at = (node, point, place)
    return Difference(
        int(node),
        int(coordinates[place]),
        float(given[at]),
        float(derivative[at]),
        float(excess[at]),
        float(size.max()),
    )


def _central(problem: Problem, x: Tensor, coordinates: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """[f_i(x + h e_k) − f_i(x − h e_k)] / 2h for every k, and the size of f_i there."""
    shift = torch.zeros(*h.shape, x.shape[-1], dtype=x.dtype, device=x.device)
    shift[..., torch.arange(len(coordinates)), coordinates] = h
    above, below = (problem.local_loss((x[:, :, None] + s).flatten(1, 2)) for s in (shift, -shift))
    difference = (above - below).view(h.shape) / (2 * h)
    return difference, torch.maximum(above.abs(), below.abs()).view(h.shape)
