"""What every problem keeps: gradients are derivatives, shapes, L, the optimum, a description."""

import json

import pytest
import torch
from torch import Tensor

import gossamer as gs


def samples(*sizes: int, classes: bool = True, dim: int = 3) -> list[tuple[Tensor, Tensor]]:
    """Random features and labels of nodes that hold so many samples."""
    generator = torch.Generator().manual_seed(len(sizes))
    labels = (torch.randn(m, generator=generator, dtype=torch.float64) for m in sizes)
    shown = ((each > 0).long() if classes else each for each in labels)
    kind = {"generator": generator, "dtype": torch.float64}
    return [(torch.randn(len(each), dim, **kind), each) for each in shown]


def pull(x: Tensor, center: Tensor) -> Tensor:
    return torch.log(torch.cosh(x - center)).sum()


GIVEN = {
    **{f"robust-{n}": gs.RobustRegression(num_nodes=n, seed=n) for n in (1, 3, 7, 20, 40)},
    "robust-small": gs.RobustRegression(num_nodes=4, num_samples=5, dim=4),
    "robust-empty-free": gs.RobustRegression(num_nodes=6, num_samples=6, dim=5),
    "quadratic": gs.Quadratic(5, 3, seed=1),
    "quadratic-one-node": gs.Quadratic(1, 4),
    "quadratic-wide": gs.Quadratic(3, 50, condition=1e3, spread=5.0),
}
FROM_DATA = {
    "logistic": gs.LogisticRegression(samples(4, 7, 5)),
    "logistic-nonconvex": gs.LogisticRegression(samples(5, 5), penalty=gs.NonconvexPenalty(0.3)),
    "least-squares": gs.LeastSquares(samples(4, 7, 5, classes=False)),
    "least-squares-ridge": gs.LeastSquares(
        samples(1, 2, classes=False, dim=6), penalty=gs.L2Penalty(0.2)
    ),
    "function": gs.FunctionProblem(pull, torch.arange(8.0).view(4, 2), dim=2, smoothness=1.0),
    "function-unequal": gs.FunctionProblem(
        lambda x, a, b: ((a @ x - b) ** 2).mean() / 2,
        samples(4, 7, 4, 5, classes=False),
        start=torch.ones(3),
        penalty=lambda x: x.square().sum(),
    ),
}
PROBLEMS = GIVEN | FROM_DATA
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
given_problem = pytest.mark.parametrize("problem", GIVEN.values(), ids=GIVEN)


def which(attribute: str) -> pytest.MarkDecorator:
    """The problems that know something."""
    those = {n: p for n, p in PROBLEMS.items() if getattr(p, attribute) is not None}
    return pytest.mark.parametrize("problem", those.values(), ids=those)


def points(problem: gs.Problem, count: int = 6, scale: float = 2.0, seed: int = 0) -> Tensor:
    """Some points of every node, `(nodes, points, dim)`."""
    generator = torch.Generator().manual_seed(seed)
    shape = (problem.num_nodes, count, problem.dim)
    return scale * torch.randn(shape, generator=generator, dtype=torch.float64)


def close(actual: Tensor, expected: Tensor, tolerance: float = 1e-12) -> None:
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


@every_problem
def test_local_grad_is_the_derivative_of_local_loss(problem: gs.Problem):
    for scale in (0.1, 2.0, 30.0):  # inside the biweight's core, across its edge, beyond it
        x = points(problem, scale=scale).requires_grad_()
        (derivative,) = torch.autograd.grad(problem.local_loss(x).sum(), x)
        close(problem.local_grad(x.detach()), derivative)


@every_problem
def test_shapes(problem: gs.Problem):
    x = points(problem)
    assert problem.local_loss(x).shape == x.shape[:2]
    assert problem.local_grad(x).shape == x.shape
    assert problem.loss(x[0]).shape == (6,)
    assert problem.grad(x[0]).shape == (6, problem.dim)
    assert problem.loss(x[0, :0]).shape == (0,)
    assert problem.start.shape == (problem.dim,)


@every_problem
def test_the_global_objective_is_the_mean_of_the_nodes(problem: gs.Problem):
    x = points(problem)[0]
    everywhere = x.expand(problem.num_nodes, *x.shape)
    close(problem.loss(x), problem.local_loss(everywhere).mean(0))
    close(problem.grad(x), problem.local_grad(everywhere).mean(0))


@every_problem
def test_nodes_and_points_are_independent(problem: gs.Problem):
    x = points(problem)
    changed = x.clone()
    changed[0, 0] += 1.0
    same = torch.ones(x.shape[:2], dtype=torch.bool)
    same[0, 0] = False
    close(problem.local_grad(changed)[same], problem.local_grad(x)[same])
    assert torch.equal(problem.local_grad(x), problem.local_grad(x.clone()))


@every_problem
def test_evaluation_leaves_the_points_alone(problem: gs.Problem):
    x = points(problem)
    before = x.clone()
    problem.local_grad(x), problem.local_loss(x), problem.sample_grad(x, 3, range(6))
    assert torch.equal(x, before)


@every_problem
def test_without_randomness_the_sampled_gradient_is_exact(problem: gs.Problem):
    x = points(problem)
    assert torch.equal(problem.sample_grad(x, 5, range(6)), problem.local_grad(x))


@which("smoothness")
@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0])
def test_smoothness_bounds_every_pair(problem: gs.Problem, scale: float):
    x, y = points(problem, 200, scale, seed=1), points(problem, 200, scale, seed=2)
    rise = (problem.local_grad(x) - problem.local_grad(y)).norm(dim=-1)
    assert (rise <= problem.smoothness * (x - y).norm(dim=-1) * (1 + 1e-12)).all()


@which("optimum")
def test_the_optimum_is_stationary_with_the_stated_minimum(problem: gs.Problem):
    optimum = problem.optimum[None]
    assert problem.grad(optimum).abs().max() < 1e-12
    assert float(problem.loss(optimum)) == pytest.approx(problem.minimum, abs=1e-12)
    near = optimum + points(problem, scale=0.1)[0]
    assert (problem.loss(near) > problem.minimum).all()


@every_problem
def test_description_is_plain_json_and_tells_problems_apart(problem: gs.Problem):
    described = problem.describe()
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert described["num_nodes"] == problem.num_nodes
    assert described["name"] == type(problem).__name__
    others = [other.describe() for other in PROBLEMS.values() if other is not problem]
    assert described not in others


@given_problem
def test_shows_itself_in_a_line_with_its_sizes(problem: gs.Problem):
    shown = repr(problem)
    assert shown.startswith(f"{type(problem).__name__}(num_nodes={problem.num_nodes}, ")
    assert f"dim={problem.dim}" in shown
    assert eval(shown, vars(gs)).describe() == problem.describe()


def test_given_quadratics_and_own_problems_show_themselves_too():
    class Mine(gs.RobustRegression):
        __repr__ = gs.Problem.__repr__

    given = gs.Quadratic.from_centers(torch.zeros(4, 2))
    assert repr(given) == "Quadratic.from_centers(num_nodes=4, dim=2)"
    assert repr(Mine(3)).endswith("Mine(num_nodes=3, dim=20)")


@every_problem
def test_moves_as_tensors_and_modules_do(problem: gs.Problem):
    for arguments in (
        ("cpu", torch.float32), (torch.float32,), ("meta",), ("meta", torch.float16),
        (torch.device("meta"), None), (None, torch.float32), (),
    ):  # fmt: skip
        moved, start = problem.to(*arguments), problem.start.to(*[a for a in arguments if a])
        assert (moved.start.device, moved.start.dtype) == (start.device, start.dtype)
    assert problem.to(dtype=torch.float32, device="meta").start.dtype == torch.float32
    for there in ((), ("cpu",), (torch.float64,), ("cpu", torch.float64)):
        assert problem.to(*there) is problem


def test_two_precisions_or_a_whole_one_are_refused():
    problem = gs.Quadratic(2, 2)
    with pytest.raises(gs.InvalidInput, match=r"to: got two precisions, torch.float32 and torch"):
        problem.to(torch.float32, torch.float64)
    with pytest.raises(gs.InvalidInput, match=r"dtype: got torch.int64, need a floating-point one"):
        problem.to(torch.int64)


@every_problem
def test_precision_changes_everything_and_only_a_copy(problem: gs.Problem):
    single = problem.to("cpu", torch.float32)
    x = points(problem)
    assert single.local_grad(x.float()).dtype == torch.float32
    assert single.loss(x[0].float()).dtype == torch.float32
    assert single.start.dtype == torch.float32
    assert single.optimum is None or single.optimum.dtype == torch.float32
    torch.testing.assert_close(
        single.local_grad(x.float()).double(), problem.local_grad(x), rtol=1e-4, atol=1e-4
    )
    assert problem.local_grad(x).dtype == problem.start.dtype == torch.float64


def test_integer_tensors_move_without_a_cast():
    problem = gs.Quadratic(2, 2)
    problem.tokens = torch.arange(3)
    moved = problem.to("meta", torch.float32)
    assert (moved.tokens.device.type, moved.tokens.dtype) == ("meta", torch.int64)


class Squeezed(gs.Problem):
    """Forgets the axis of points."""

    num_nodes, dim, start = 4, 3, torch.ones(3)

    def local_loss(self, x: Tensor) -> Tensor:
        return x.square().sum(-1)

    def local_grad(self, x: Tensor) -> Tensor:
        return 2 * x[:, 0]

    def describe(self) -> dict[str, str]:
        return {"name": "squeezed"}


def test_gradients_of_a_wrong_shape_are_refused_wherever_they_are_asked_for():
    problem = Squeezed()
    found = r"local_grad: got shape \(4, 3\) at points of shape \(4, \d, 3\), need one gradient"
    for call in (
        lambda: problem.grad(torch.zeros(2, 3)),
        lambda: gs.simulate(gs.DSGD(0.1), problem, gs.ring(4), steps=2),
        lambda: gs.simulate(gs.DSGD(0.1), problem, gs.ring(4), steps=2, metrics=["grad_norm"]),
    ):
        with pytest.raises(gs.InvalidInput, match=found):
            call()
