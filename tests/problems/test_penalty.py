"""Penalties: their gradients and curvature, and that every problem adds them once."""

import pytest
import torch
from torch import Tensor, nn

import gossamer as gs
from gossamer.problems.penalty import FunctionPenalty, Penalty, as_penalty

PENALTIES = [gs.L2Penalty(0.3), gs.NonconvexPenalty(0.3), FunctionPenalty(lambda x: (x**4).sum())]
every_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=["l2", "nonconvex", "function"])


def points(*shape: int, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return scale * torch.randn(shape, generator=generator, dtype=torch.float64)


@every_penalty
def test_grad_is_the_derivative_at_points_of_any_number_of_axes(penalty: Penalty):
    x = points(2, 3, 4).requires_grad_()
    values = penalty(x)
    assert values.shape == (2, 3)
    (derivative,) = torch.autograd.grad(values.sum(), x)
    torch.testing.assert_close(penalty.grad(x.detach()), derivative, rtol=1e-12, atol=1e-12)
    assert penalty(x[0, 0].detach()).shape == ()


@pytest.mark.parametrize("penalty", PENALTIES[:2], ids=["l2", "nonconvex"])
def test_the_smoothness_is_the_largest_curvature(penalty: Penalty):
    """Both are steepest at 0."""
    x, y = points(500, 1), points(500, 1, scale=0.5).flip(0)
    rise = (penalty.grad(x) - penalty.grad(y)).abs() / (x - y).abs()
    assert rise.max() <= penalty.smoothness * (1 + 1e-12)
    near = torch.tensor([1e-6], dtype=torch.float64)
    assert float(penalty.grad(near) / near) == pytest.approx(penalty.smoothness, rel=1e-9)


def test_a_function_is_a_penalty_of_unknown_smoothness():
    penalty = as_penalty(lambda x: x.abs().sum(), torch.ones(2))
    assert penalty.smoothness is None
    assert "x.abs().sum()" in penalty.describe()
    assert as_penalty(None, torch.ones(2)) is None


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda x: x.abs(), r"which returns \(3,\), need .* scalar.*take the sum"),
        (lambda x: x.sum().item(), "which returns float, need"),
        (lambda x: x @ torch.ones(4), r"which fails at x⁰ \(.*\), need a function"),
        (0.1, "got 0.1, need a function"),
    ],
)
def test_what_is_no_function_to_a_scalar_is_refused_at_once(function: object, found: str):
    parts = (nn.Linear(3, 1, bias=False), nn.functional.mse_loss)
    data, centers = [(torch.zeros(2, 3), torch.zeros(2, 1))], [torch.zeros(3)]
    for make in (
        lambda: gs.ModuleProblem(*parts, data, batch_size=1, penalty=function),
        lambda: gs.FunctionProblem(lambda x, c: (x - c).sum(), centers, dim=3, penalty=function),
    ):
        with pytest.raises(gs.InvalidInput, match=f"penalty: .*{found}"):
            make()


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), "much"])
def test_weights_are_numbers_of_at_least_zero(weight: float):
    for kind in (gs.L2Penalty, gs.NonconvexPenalty):
        with pytest.raises(gs.InvalidInput, match=r"weight: got .*, need a number in \[0, ∞\)"):
            kind(weight)


@pytest.mark.parametrize("vectorize", [True, False])
def test_modules_add_it_to_losses_and_to_gradients_of_batches(vectorize: bool):
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).double()
    labels = torch.tensor([0, 1, 0, 1, 1])
    held = [(points(5, 4, scale=k + 1.0), labels) for k in range(3)]
    loss, penalty = nn.functional.cross_entropy, gs.NonconvexPenalty(0.3)
    options = {"batch_size": 2, "vectorize": vectorize, "validation": held[0]}
    plain = gs.ModuleProblem(module, loss, held, **options)
    with_it = gs.ModuleProblem(module, loss, held, penalty=penalty, **options)
    x = plain.start + points(3, 2, plain.dim)
    for found, without, more in (
        (with_it.local_loss(x), plain.local_loss(x), penalty(x)),
        (with_it.local_grad(x), plain.local_grad(x), penalty.grad(x)),
        (with_it.sample_grad(x, 3, [0, 1]), plain.sample_grad(x, 3, [0, 1]), penalty.grad(x)),
    ):
        torch.testing.assert_close(found - without, more, rtol=0, atol=1e-12)
    assert torch.equal(with_it.validation_loss(x[0]), plain.validation_loss(x[0]))
    assert with_it.describe()["penalty"] == "NonconvexPenalty(weight=0.3)"


def norm(x: Tensor) -> Tensor:
    return x.norm()


def test_problems_show_their_penalty_by_name_and_no_address():
    assert repr(as_penalty(norm, torch.ones(3))) == "FunctionPenalty(norm)"
    parts = (nn.Linear(3, 1), nn.functional.mse_loss, [(torch.zeros(2, 3), torch.zeros(2, 1))])
    centers = [torch.zeros(3)]
    for problem in (
        gs.ModuleProblem(*parts, batch_size=1, penalty=norm),
        gs.FunctionProblem(lambda x, c: (x - c).square().sum(), centers, dim=3, penalty=norm),
    ):
        assert "penalty=FunctionPenalty(norm)" in repr(problem)
    assert "penalty" not in repr(gs.ModuleProblem(*parts, batch_size=1))
