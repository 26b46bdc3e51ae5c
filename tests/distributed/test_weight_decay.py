"""Decoupled weight decay of a param group, on top of whatever the method does."""

import pytest
import torch
from processes import on_ranks
from test_equals_simulator import HYPERPARAMETERS
from torch import Tensor, nn

from gossamer.algorithms import ALGORITHMS, DSGD, Algorithm, Local
from gossamer.algorithms.local import STREAM
from gossamer.distributed import DecentralizedOptimizer
from gossamer.errors import InvalidInput
from gossamer.networks import ring
from gossamer.networks.chance import Coins

STEPS, NODES, DECAY = 3, 4, 0.5
CENTERS = torch.randn(NODES, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
PER_COORDINATE = torch.tensor([DECAY] * 4 + [0.0] * 2, dtype=torch.float64)
EXACT = ("GTDSGD", "DIGing", "ATCTracking", "EXTRA", "ExactDiffusion", "MoTEF")


def made(name: str) -> Algorithm:
    return ALGORITHMS[name](**HYPERPARAMETERS[name])


def on_a_rank(rank: int) -> dict[str, Tensor]:
    """Minimize ½‖x − c‖² with a group of four coordinates that decays, and one of two without."""
    final = {}
    for name in ALGORITHMS:
        ones = torch.ones(2, 2).double(), torch.ones(2).double()
        decaying, other = map(nn.Parameter, ones)
        groups = [{"params": [decaying], "weight_decay": DECAY}, {"params": [other]}]
        optimizer = DecentralizedOptimizer(groups, made(name), ring)

        def closure(decaying=decaying, other=other) -> float:
            x = torch.cat([decaying.flatten(), other])
            decaying.grad = other.grad = None
            loss = (x - CENTERS[rank]).square().sum() / 2
            loss.backward()
            return loss.item()

        for _ in range(STEPS):
            optimizer.step(closure)
        final[name] = optimizer.x
    return final


def by_hand(method: Algorithm, steps: int, decay: Tensor | float) -> Tensor:
    """xᵗ⁺¹ = step(xᵗ) − α λ xᵗ on `(nodes, dim)`."""
    x = torch.ones(NODES, 6, dtype=torch.float64)
    state, mix = method.init(x), ring(NODES).mixer()
    shapes, coins = [torch.Size([2, 2]), torch.Size([2])], Coins.of(0, 0, STREAM)
    for t in range(steps):
        asked = (Local(t, lambda z: z - CENTERS, coins, shapes),) if method.asks_local else ()
        moved, state = method.step(t, x, x - CENTERS, state, mix, *asked)
        x = moved - method.lr * decay * x
    return x


def test_every_method_honours_it():
    ranks = on_ranks(on_a_rank)
    for name in ALGORITHMS:
        expected = by_hand(made(name), STEPS, PER_COORDINATE)
        plain = by_hand(made(name), STEPS, 0.0)
        assert not torch.allclose(expected[:, :4], plain[:, :4]), name
        for rank in range(NODES):
            torch.testing.assert_close(ranks[rank][name], expected[rank], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", EXACT)
def test_without_noise_exact_methods_end_at_the_regularized_optimum(name):
    """argmin f(x) + λ/2 ‖x‖² = c̄/(1 + λ)."""
    x = by_hand(made(name), 2000, DECAY)
    torch.testing.assert_close(x, (CENTERS.mean(0) / (1 + DECAY)).expand_as(x), rtol=0, atol=1e-9)


@pytest.mark.parametrize("decay", [-0.1, float("nan"), "some"])
def test_other_decays_are_refused(decay):
    groups = [{"params": [nn.Parameter(torch.ones(2))], "weight_decay": decay}]
    with pytest.raises(InvalidInput, match=r"weight_decay: got .*, need a number in \[0, ∞\)"):
        DecentralizedOptimizer(groups, DSGD(lr=0.1), ring)


def test_it_follows_the_step_size_and_a_state_dict():
    parameter = nn.Parameter(torch.ones(1))
    groups = [{"params": [parameter], "weight_decay": 0.5}]
    optimizer = DecentralizedOptimizer(groups, DSGD(lr=0.1), ring)
    optimizer.step()
    optimizer.param_groups[0]["lr"] = 0.2
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.step()
    assert parameter.item() == pytest.approx(0.95 * 0.9)
