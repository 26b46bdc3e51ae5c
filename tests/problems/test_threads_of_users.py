"""Threads that share a problem compute the same bits as one thread alone."""

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import gossamer as gs
from gossamer.problems.batches import NodeOrders
from gossamer.simulation import block
from gossamer.simulation.block import Block, Piece, advance_apart
from gossamer.simulation.simulation import Simulation

THREADS = 4


@pytest.fixture(autouse=True)
def _restless() -> Iterator[None]:
    """Threads take turns all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def assert_alike(compute: Callable[[Any], Tensor], given: Iterable[Any]) -> None:
    """Whether threads find what one thread finds."""
    given = list(given)
    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(compute, given))
    assert all(map(torch.equal, found, map(compute, given)))


def problem(module: nn.Module, **options: Any) -> gs.ModuleProblem:
    generator = torch.Generator().manual_seed(0)
    inputs, targets = (torch.randn(2, 8, m, generator=generator) for m in (3, 1))
    data = list(zip(inputs, targets, strict=True))
    return gs.ModuleProblem(module, functional.mse_loss, data, batch_size=4, **options)


class Replaced(dict[Any, tuple[int, Tensor]]):
    """What is put here, another thread replaces at once by the next epoch."""

    def __setitem__(self, key: Any, kept: tuple[int, Tensor]) -> None:
        super().__setitem__(key, (kept[0] + 1, kept[1].roll(1)))


def test_batches_are_those_of_the_step():
    orders = NodeOrders([8, 9], batch_size=4)
    expected = [orders.indices(t, [0, 7]) for t in range(6)]
    orders._epochs[0, 7] = Replaced()
    assert all(torch.equal(orders.indices(t, [0, 7]), expected[t]) for t in (0, 4))


@pytest.mark.parametrize("vectorize", [True, False])
@pytest.mark.parametrize("extra", [[], [nn.Dropout(0.5)]], ids=["plain", "dropout"])
def test_gradients_and_losses_of_a_module(extra: list[nn.Module], vectorize: bool):
    """The random numbers of torch, and the parameters of a module, are there only once."""
    made = problem(nn.Sequential(nn.Linear(3, 50), *extra, nn.Linear(50, 1)), vectorize=vectorize)
    x = made.start + torch.arange(30)[:, None, None, None] * torch.ones(2, 1, 1)
    before = torch.get_rng_state()
    assert_alike(lambda t: made.sample_grad(x[t], t, [0]), range(30))
    assert_alike(lambda t: made.local_loss(x[t]), range(30))
    assert torch.equal(torch.get_rng_state(), before)


def test_torchs_fast_attention_is_as_before():
    layer = nn.TransformerEncoderLayer(3, 1, 8, dropout=0.0, batch_first=True)
    made = problem(nn.Sequential(nn.Unflatten(1, (1, 3)), layer, nn.Flatten(), nn.Linear(3, 1)))
    x = made.start.expand(2, 1, -1)
    assert_alike(lambda t: made.local_loss(x), range(40))
    assert torch.backends.mha.get_fastpath_enabled()
    assert torch.backends.cuda.flash_sdp_enabled()


class Slow(dict[str, gs.Problem]):
    """Other threads come before what is put here is read."""

    def __setitem__(self, key: str, problem: gs.Problem) -> None:
        super().__setitem__(key, problem)
        time.sleep(0.1)


def test_workers_of_two_simulations_at_once(monkeypatch: pytest.MonkeyPatch):
    """A worker keeps the problem of one simulation only."""
    monkeypatch.setattr(block, "_given", Slow())
    two = [one_step(seed) for seed in range(2)]
    assert_alike(lambda k: after(advance_apart(two[k % 2])), range(4))


def one_step(seed: int) -> Block:
    simulation = Simulation(problem=gs.Quadratic(3, 2, seed=seed), network=gs.ring(3), steps=1)
    runs = torch.arange(1)
    return Block(simulation, gs.DSGD(0.1), runs, [0], {}, None, 1, math.inf, f"problem {seed}")


def after(piece: Piece) -> Tensor:
    assert piece.checkpoint is not None
    return piece.checkpoint.x
