"""What docs/theory.md derives for a general norm, in each of the family's four geometries."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
import torch
from torch import Tensor

import gossamer as gs
from gossamer.algorithms import Shapes
from gossamer.algorithms.gt_steepest import GTSteepest
from gossamer.theory import Constants, bound

SHAPES = [torch.Size([3, 4]), torch.Size([5])]
SIZES = [shape.numel() for shape in SHAPES]
RANKS = [3, 1]
DIM = sum(SIZES)
NODES = 8


def parts(x: Tensor) -> list[Tensor]:
    return Shapes(SHAPES).tensors(x)


def lengths(x: Tensor) -> Tensor:
    return torch.stack([p.flatten(x.ndim - 1).norm(dim=-1) for p in parts(x)], dim=-1)


def singular(x: Tensor) -> list[Tensor]:
    matrix, vector = parts(x)
    return [torch.linalg.svdvals(matrix), vector.norm(dim=-1, keepdim=True)]


def exact_sign(y: Tensor) -> Tensor:
    """U Vᵀ of the matrix, y/‖y‖ of the vector: what Newton and Schulz approximate."""
    matrix, vector = parts(y)
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    return torch.cat([(u @ v).flatten(-2), vector / vector.norm(dim=-1, keepdim=True)], dim=-1)


def member(kind: type[GTSteepest], y: Tensor) -> Tensor:
    return kind(lr=0.1, momentum=0.5).direction(y, Shapes(SHAPES))


@dataclass(frozen=True)
class Geometry:
    """D, its norm and the dual norm, r = max ‖d‖₂ and a = max ‖z‖ over the other's unit ball."""

    direction: Callable[[Tensor], Tensor]
    norm: Callable[[Tensor], Tensor]
    dual: Callable[[Tensor], Tensor]
    r: float
    a: float
    smoothness: Callable[[Tensor], float]
    """L for the Hessian diag(c), c constant on each tensor."""


ROOTS = torch.tensor(SIZES, dtype=torch.float64).sqrt()
GEOMETRIES = {
    "Euclidean": Geometry(
        lambda y: y / y.norm(dim=-1, keepdim=True),
        lambda x: x.norm(dim=-1),
        lambda g: g.norm(dim=-1),
        1,
        1,
        lambda c: float(c.max()),
    ),
    "layer-wise": Geometry(
        partial(member, gs.GTLayerNSGDm),
        lambda x: (lengths(x) / ROOTS).amax(-1),
        lambda g: (lengths(g) * ROOTS).sum(-1),
        math.sqrt(DIM),
        1 / math.sqrt(min(SIZES)),
        lambda c: float((ROOTS**2 * c).sum()),
    ),
    "sign": Geometry(
        partial(member, gs.GTSignSGDm),
        lambda x: x.abs().amax(-1),
        lambda g: g.abs().sum(-1),
        math.sqrt(DIM),
        1,
        lambda c: float((ROOTS**2 * c).sum()),
    ),
    "matrix sign": Geometry(
        exact_sign,
        lambda x: torch.cat(singular(x), dim=-1).amax(-1),
        lambda g: torch.cat(singular(g), dim=-1).sum(-1),
        math.sqrt(sum(RANKS)),
        1,
        lambda c: float((torch.tensor(RANKS, dtype=torch.float64) * c).sum()),
    ),
}

each_geometry = pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=list(GEOMETRIES))


def draws(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def per_coordinate(curvatures: Tensor) -> Tensor:
    return curvatures.repeat_interleave(torch.tensor(SIZES))


@each_geometry
def test_the_direction_is_steepest_and_of_length_one(geometry: Geometry):
    """⟨y, D(y)⟩ = ‖y‖_*, ‖D(y)‖ = 1, and no other direction of length one does better."""
    y, others = draws(200, DIM), draws(200, DIM, seed=1)
    d = geometry.direction(y)
    torch.testing.assert_close((y * d).sum(-1), geometry.dual(y), rtol=1e-12, atol=0)
    torch.testing.assert_close(geometry.norm(d), torch.ones(200).double(), rtol=1e-12, atol=0)
    others = others / geometry.norm(others)[:, None]
    assert bool((y @ others.T <= geometry.dual(y)[:, None]).all())


@each_geometry
def test_the_constants_of_equivalence_hold_and_are_attained(geometry: Geometry):
    """‖d‖₂ ≤ r ‖d‖ and ‖g‖_* ≤ r ‖g‖₂; ‖z‖ ≤ a ‖z‖₂ and ‖g‖₂ ≤ a ‖g‖_*."""
    z = draws(2000, DIM)
    euclidean = z.norm(dim=-1)
    slack = 1 + 1e-12
    assert bool((euclidean <= slack * geometry.r * geometry.norm(z)).all())
    assert bool((geometry.dual(z) <= slack * geometry.r * euclidean).all())
    assert bool((geometry.norm(z) <= slack * geometry.a * euclidean).all())
    assert bool((euclidean <= slack * geometry.a * geometry.dual(z)).all())
    assert float(geometry.direction(z).norm(dim=-1).max()) == pytest.approx(geometry.r)
    one = torch.eye(DIM, dtype=torch.float64)[-1:]  # of the smaller tensor
    assert float(geometry.norm(one)) == pytest.approx(geometry.a)


def right_side(geometry: Geometry, grad: Tensor, y: Tensor, step: tuple[float, float]) -> Tensor:
    """−α‖∇f‖_* + 2α‖ε‖_* + (α/n) Σ‖y_i − ȳ‖_* + Lα²/2, of trackers `(nodes, cases, dim)`."""
    (lr, smoothness), mean = step, y.mean(0)
    error, apart = geometry.dual(mean - grad), geometry.dual(y - mean).mean(0)
    return lr * (2 * error + apart - geometry.dual(grad)) + smoothness * lr**2 / 2


@each_geometry
@pytest.mark.parametrize("lr", [1e-3, 0.1, 1.0])
def test_the_one_step_inequality(geometry: Geometry, lr: float):
    """f(x̄⁺) − f(x̄) for quadratics, trackers that agree or not, and estimates good and bad."""
    curvatures = torch.tensor([2.0, 0.5], dtype=torch.float64)
    hessian, x = per_coordinate(curvatures), draws(300, DIM, seed=1)
    grad = hessian * x
    spread = 10 ** torch.linspace(-6, 1, 300, dtype=torch.float64)[:, None]
    y = grad + spread * (draws(300, DIM, seed=2) + draws(NODES, 300, DIM, seed=3))
    moved = x - lr * geometry.direction(y).mean(0)
    change = (hessian * (moved**2 - x**2)).sum(-1) / 2
    assert bool(
        (change <= right_side(geometry, grad, y, (lr, geometry.smoothness(curvatures)))).all()
    )


@each_geometry
def test_the_one_step_inequality_is_sharp(geometry: Geometry):
    """With exact trackers and one curvature it is an equality: no smaller L would do."""
    x = draws(50, DIM)
    y = 3.0 * x.expand(NODES, -1, -1)
    smoothness = geometry.smoothness(torch.tensor([3.0, 3.0], dtype=torch.float64))
    moved = x - 0.1 * geometry.direction(y).mean(0)
    change = 1.5 * (moved**2 - x**2).sum(-1)
    expected = right_side(geometry, y[0], y, (0.1, smoothness))
    torch.testing.assert_close(change, expected, rtol=0, atol=1e-11)


def test_newton_and_schulz_is_steepest_up_to_two_constants():
    """c₁ ‖y‖_* ≤ ⟨y, D(y)⟩ and ‖D(y)‖ ≤ c₂, where no singular value of y is tiny."""
    geometry, y = GEOMETRIES["matrix sign"], draws(2000, DIM)
    values = singular(y)[0]
    y = y[values[:, -1] >= 0.01 * values.norm(dim=-1)]
    d = member(gs.DeMuon, y)
    assert len(y) > 1900
    assert bool(((y * d).sum(-1) >= 0.68 * geometry.dual(y)).all())
    assert bool((geometry.norm(d) <= 1.21).all())


def spread_sum(lam: float) -> float:
    """Σ_{k≥1} min(2, √n λᵏ)."""
    terms = [min(2.0, math.sqrt(NODES) * lam**k) for k in range(1, 2000)]
    return sum(terms)


NETWORKS = [gs.ring(NODES), gs.exponential(NODES), gs.line(NODES), gs.complete(NODES)]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_what_is_left_of_disagreement_in_any_norm(network: gs.Network):
    """Rows of Wᵏ − 11ᵀ/n sum to at most min(2, √n λᵏ) in absolute value, and the sum of these."""
    power = torch.eye(NODES, dtype=torch.float64)
    for k in range(1, 60):
        power = network.weights @ power
        rows = (power - 1 / NODES).abs().sum(1)
        assert float(rows.max()) <= min(2, math.sqrt(NODES) * network.lam**k) + 1e-12
    total, gap = spread_sum(network.lam), 1 - network.lam
    assert total <= math.sqrt(NODES) * network.lam / gap + 1e-12
    assert total <= 2 * (1 + max(0.0, math.log(math.sqrt(NODES) / 2))) / gap


@each_geometry
def test_nodes_stay_close_and_the_bound_holds(geometry: Geometry):
    """300 steps of the recursion on nodes that differ, under Gaussian noise, four runs."""
    network, lr, momentum, steps, level = gs.ring(NODES), 0.01, 0.9, 300, 0.1
    hessian = per_coordinate(torch.tensor([2.0, 0.5], dtype=torch.float64))
    centers, runs = draws(NODES, 1, DIM, seed=4), 4
    x = torch.ones(NODES, runs, DIM, dtype=torch.float64)
    v, y, measured = torch.zeros_like(x), torch.zeros_like(x), 0.0
    smoothness = geometry.smoothness(torch.tensor([2.0, 0.5], dtype=torch.float64))
    by_norms = geometry.a * geometry.r * network.lam / (1 - network.lam)
    spread = min(by_norms, spread_sum(network.lam))
    for t in range(steps):
        assert float(geometry.norm(x - x.mean(0)).mean(0).max()) <= spread * lr
        measured += float(geometry.dual(hessian * (x - centers.mean(0))).mean()) / steps
        grad = hessian * (x - centers) + level * draws(NODES, runs, DIM, seed=10 + t)
        new = momentum * v + (1 - momentum) * grad
        y, v = torch.einsum("ij,jrd->ird", network.weights, y + new - v), new
        x = torch.einsum("ij,jrd->ird", network.weights, x - lr * geometry.direction(y))
    start = hessian * (torch.ones(DIM).double() - centers[:, 0])
    gap = float((hessian * (1 - centers.mean(0)) ** 2).sum()) / 2
    sizes = (float(geometry.dual(start.mean(0))), float(start.norm()), level * math.sqrt(DIM))
    known = Constants(NODES, network.lam, smoothness, gap, *sizes, p=2.0)
    assert measured <= general_bound(geometry, known, (steps, lr, momentum), spread)


def general_bound(
    geometry: Geometry, c: Constants, run: tuple[int, float, float], spread: float
) -> float:
    """The page's sum of nine terms; `c` with L, the first gradient, and σ₂ in their own norms."""
    (steps, lr, momentum), r, lag = run, geometry.r, 2 * spread + 1
    paper = bound(c, steps, lr, momentum)
    left = 2 * lag / (1 - momentum) + 3 * spread + 0.5
    left += r * geometry.a * math.sqrt(c.num_nodes) * lag / (1 - c.lam)
    unchanged = paper["initial gap"] + paper["initial gradient"]
    noisy = ("averaged noise", "tracking noise", "heterogeneity", "estimator noise")
    return unchanged + r * sum(paper[name] for name in noisy) + c.smoothness * lr * left


def test_the_general_bound_is_the_papers_in_the_euclidean_norm():
    """Up to 1 + λ ≤ 2, by which the paper rounds two terms up."""
    lam, run = 0.999999, (1000, 0.01, 0.9)
    c = Constants(16, lam, 2.0, 3.0, 0.7, 5.0, 1.3, 1.5)
    ours = general_bound(GEOMETRIES["Euclidean"], c, run, lam / (1 - lam))
    assert ours == pytest.approx(bound(c, *run).total, rel=1e-5)
    assert ours <= bound(c, *run).total
