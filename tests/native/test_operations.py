"""Every operation in C is that of torch, at numbers that are hard as well."""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

import gossamer as gs
from gossamer.native import build
from gossamer.native.loop import NativeLoop
from gossamer.native.trace import OneRun

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="this machine has no C compiler")

INF, NAN = torch.inf, torch.nan
HARD = [0.0, -0.0, 0.3, 0.7, -0.4, 1.0, 2.0, -3.0, 1e-3, 1e20, -1e20, INF, -INF, NAN, 0.5, -0.5]
MASK = torch.tensor([True, False] * 8)
NODES, DIM = 2, len(HARD)


def tame(x: Tensor) -> Tensor:
    """Finite numbers in [−1, 1]."""
    return x.nan_to_num(0.1, 1.0, -1.0).clamp(-1, 1)


def by_autograd(x: Tensor) -> Tensor:
    with torch.enable_grad():
        point = tame(x).detach().requires_grad_()
        smooth = (point.exp() * point.sigmoid() + point.tanh()).sum()
        return torch.autograd.grad(smooth + point[..., 1::2].relu().sum(), point)[0]


def in_place(x: Tensor) -> Tensor:
    return torch.zeros_like(x).add_(x).mul_(x > 0.3).sub_(torch.ones(DIM, dtype=x.dtype).mul_(2))


OPERATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "x > 0.5": lambda x: (x > 0.5).to(x.dtype),
    "x >= -0.4": lambda x: (x >= -0.4).to(x.dtype),
    "x == 0.7": lambda x: (x == 0.7).to(x.dtype),
    "x != 0.7": lambda x: (x != 0.7).to(x.dtype),
    "x > float64 of no axes": lambda x: (x > torch.tensor(0.7).double()).to(x.dtype),
    "x > -x": lambda x: (x > -x).to(x.dtype),
    "where": lambda x: torch.where(x > 0.5, x, -x),
    "where, constant": lambda x: torch.where(MASK, x, -x),
    "mask x": lambda x: MASK * x,
    "integers x": lambda x: torch.arange(DIM) * x,
    "bool": lambda x: x.bool().to(x.dtype),
    "bool or bool": lambda x: ((x > 0) + (x < 5)).to(x.dtype),
    "bool / bool": lambda x: (x > 0) / (x < 5),
    "1 / bool": lambda x: (1 / (x > 0)).to(x.dtype),
    "sign": torch.sign,
    "abs": torch.abs,
    "neg": torch.neg,
    "clamp": lambda x: x.clamp(-0.4, 0.6),
    "clamp, low above high": lambda x: x.clamp(0.6, -0.4),
    "clamp min": lambda x: x.clamp(min=0.1),
    "clamp max": lambda x: x.clamp(max=0.1),
    "clamp, tensors": lambda x: x.clamp(-x.abs(), x.abs() / 2),
    "clamp, NaN bound": lambda x: torch.ones_like(x).mul(2).clamp(max=x),
    "maximum": lambda x: torch.maximum(x, -2 * x),
    "minimum": lambda x: torch.minimum(x, x * x),
    "nan_to_num": torch.nan_to_num,
    "nan_to_num, given": lambda x: x.nan_to_num(nan=3.0, posinf=1.0, neginf=2.0),
    **{f"x ** {p}": lambda x, p=p: x**p for p in (2, 3, 0.5, -0.5, -1, -2, 0, 1, 0.3, 4, -0.2)},
    "|x| ** x": lambda x: x.abs() ** x,
    **{f"lerp {w}": lambda x, w=w: torch.lerp(x, 1 - x, w) for w in (0.3, 0.9, -0.9, 0.5)},
    "lerp, tensor": lambda x: torch.lerp(x, 2 * x, tame(x).abs()),
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "sgn": torch.sgn,
    "masked_fill": lambda x: x.masked_fill(x > 0.3, -0.7),
    "and, or, not": lambda x: ((x > 0.3) & (x < 2) | ~(x > -1)).to(x.dtype),
    "logical": lambda x: torch.logical_and(x, ~torch.logical_or(x > 1, x < -1)).to(x.dtype),
    **{f.__name__: f for f in (torch.exp, torch.expm1, torch.log, torch.log1p, torch.tanh)},
    "sin": lambda x: tame(x).sin(),
    "cos": lambda x: tame(x).cos(),
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "x + a |x|": lambda x: torch.add(x, x.abs(), alpha=-2.5),
    "3 - x": lambda x: 3 - x,
    "addcmul": lambda x: torch.addcmul(x, x, x.abs(), value=-0.5),
    "times a float64 of no axes": lambda x: x * torch.tensor(0.1, dtype=torch.float64),
    "in float64": lambda x: (x.double() * 0.1).to(x.dtype),
    "in float32": lambda x: (x.float() + 1).to(x.dtype),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=-1, keepdim=True).expand_as(x),
    "norm, huge": lambda x: torch.linalg.vector_norm(1e20 * tame(x), dim=-1)[..., None] + 0 * x,
    "norm of one number": lambda x: torch.linalg.vector_norm(x.unsqueeze(-1), dim=-1),
    "norm, tiny": lambda x: torch.linalg.vector_norm(1e-30 * tame(x), dim=-1)[..., None] + 0 * x,
    "sum over two axes": lambda x: x + tame(x).sum((0, 2), keepdim=True),
    "sum, axes dropped": lambda x: x + tame(x).sum((2, 0)).view(1, -1, 1),
    "sum over nodes": lambda x: x + tame(x).sum(0),
    "mean": lambda x: x + tame(x).mean((0, -1), keepdim=True),
    "cat of nodes": lambda x: torch.cat([x[1:], x[:1]], 0),
    "cat of coordinates": lambda x: torch.cat([x[..., 4:], x[..., :4] * 2], -1),
    "slices with a step": lambda x: torch.cat([x[..., ::2], x[..., 1::2]], -1),
    "split": lambda x: torch.cat(x.split([3, 5, 8], -1)[::-1], -1),
    "transposed": lambda x: x.view(NODES, -1, 4, 4).mT.reshape(x.shape),
    "padded": lambda x: torch.nn.functional.pad(x[..., :9], (0, 7)),
    "one coordinate": lambda x: x * x[:1, :, 2:3],
    "product with a constant": lambda x: torch.bmm(tame(x), _matrix(x).expand(NODES, DIM, DIM)),
    "product with itself": lambda x: (_square(x) @ _square(x).mT).view(x.shape),
    "baddbmm": lambda x: torch.baddbmm(x, tame(x), _matrix(x).expand(NODES, DIM, DIM)),
    "by automatic differentiation": by_autograd,
    "in place": in_place,
    "past autograd": lambda x: x.data * 2,
}


def _square(x: Tensor) -> Tensor:
    return tame(x).view(NODES, -1, 4, 4)


def _matrix(x: Tensor) -> Tensor:
    return torch.linspace(-1, 1, DIM * DIM, dtype=x.dtype).view(DIM, DIM)


State: Any = namedtuple("State", [f"field{k}" for k in range(len(OPERATIONS))])


@dataclass(frozen=True)
class AllOperations(gs.Algorithm[Any]):
    """x stays, and every field of the state is what an operation makes of it."""

    def init(self, x: Tensor) -> Any:
        return State(*(torch.zeros_like(x) for _ in OPERATIONS))

    def step(self, t: int, x: Tensor, grad: Tensor, state: Any, mix: gs.algorithms.Mix) -> Any:
        return x, State(*(made(x).to(x.dtype) for made in OPERATIONS.values()))


def hard_points(nodes: int, runs: int, dtype: torch.dtype) -> Tensor:
    """Every number at every coordinate sooner or later."""
    rows = [[torch.tensor(HARD).roll(k + 5 * i) for k in range(runs)] for i in range(nodes)]
    return torch.stack([torch.stack(row) for row in rows]).to(dtype)


FLAGS = build.FLAGS  # before they are replaced
CASES = [(1, torch.float32, False), (17, torch.float32, True), (17, torch.float64, False)]


@pytest.mark.parametrize(("runs", "dtype", "optimized"), CASES)
@torch.no_grad()
def test_operations(monkeypatch, runs: int, dtype: torch.dtype, optimized: bool):
    if optimized:
        monkeypatch.setattr(build, "FLAGS", FLAGS)
    problem = gs.Quadratic(NODES, DIM).to("cpu", dtype)
    mixer = gs.complete(NODES).mixer(dtype, "cpu")
    method = AllOperations()
    loop = NativeLoop.of(OneRun.of(method, [], problem, None, mixer), runs)
    x = hard_points(NODES, runs, dtype)
    _, state = loop.advance(0, [method], x, method.init(x), None, None)
    for (name, operation), found in zip(OPERATIONS.items(), state, strict=True):
        expected = operation(x).to(dtype)
        message = lambda told, name=name: f"{name}: {told}"  # noqa: E731
        eps, summed = torch.finfo(dtype).eps, name.startswith(("sum", "mean", "product", "badd"))
        close = {"rtol": 32 * eps, "atol": 32 * eps if summed else 1e-36}  # of 32 numbers at most
        torch.testing.assert_close(found, expected, **close, equal_nan=True, msg=message)


@torch.no_grad()
def test_t_is_exact_in_any_precision():
    @dataclass(frozen=True)
    class Counts(gs.Algorithm[Any]):
        def init(self, x: Tensor) -> gs.algorithms.Stateless:
            return gs.algorithms.Stateless()

        def step(self, t: int, x: Tensor, grad: Tensor, state: Any, mix: gs.algorithms.Mix) -> Any:
            return x + ((t + 1) - t), state

    problem = gs.Quadratic(2, 3).to("cpu", torch.float32)
    one = OneRun.of(Counts(), [], problem, None, gs.complete(2).mixer(torch.float32, "cpu"))
    x = torch.zeros(2, 3, 3)
    after, _ = NativeLoop.of(one, 3).advance(2**30, [Counts()] * 5, x, one.state, None, None)
    assert after.unique().tolist() == [5.0]
