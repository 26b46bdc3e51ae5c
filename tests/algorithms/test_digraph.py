"""Methods on a directed graph whose Perron weights differ 161-fold: pulled by R, pushed by C."""

import dataclasses
from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest
import torch
from algorithms.contract import agrees_with_its_loop, close, heavy, normal
from algorithms.table import TABLE, Row
from networks.digraphs import PullAndPush, perron_digraph
from torch import Tensor

import gossamer as gs

NODES, DIM = 10, 20
MIX = PullAndPush.of(perron_digraph(NODES))

# fᵢ(x) = ½ Σ_k hᵢₖ (xₖ − bᵢₖ)²: condition 4, every node with an optimum of its own
CURVATURES = 0.25 + 0.75 * torch.rand(NODES, DIM, generator=torch.Generator().manual_seed(0))
CURVATURES = CURVATURES.double()
CURVATURES[:, 0], CURVATURES[:, 1] = 0.25, 1.0
CENTERS = normal(NODES, DIM)
OPTIMUM = (CURVATURES * CENTERS).sum(0) / CURVATURES.sum(0)


def error(method: gs.Algorithm[Any], steps: int, share: Callable[[float], float]) -> float:
    """(1/n) Σ ‖xᵢ − x*‖ after `steps` without noise, with step sizes lr · share(t/steps)."""
    x = torch.zeros(NODES, DIM).double()
    state, lr = method.init(x), method.lr
    for t in range(steps):
        scheduled = dataclasses.replace(method, lr=lr * share(t / steps))
        x, state = scheduled.step(t, x, CURVATURES * (x - CENTERS), state, MIX)
    return float((x - OPTIMUM).norm(dim=1).mean())


def constant(_: float) -> float:
    return 1.0


def linear(done: float) -> float:
    return 1 - done


def quadratic(done: float) -> float:
    return (1 - done) ** 2


def test_the_graph_is_strongly_connected_and_far_from_balanced():
    assert nx.is_strongly_connected(perron_digraph(NODES))
    close(MIX.R.sum(1), torch.ones(NODES).double())
    close(MIX.C.sum(0), torch.ones(NODES).double())
    left, right = (torch.linalg.matrix_power(M, 1000) for M in (MIX.R, MIX.C))
    for weights in (left[0], right[:, 0]):
        assert float(weights.max() / weights.min()) == pytest.approx(161, abs=1)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_every_method_is_its_loop_over_nodes(row: Row):
    pair = MIX.R.numpy(), MIX.C.numpy()
    agrees_with_its_loop(row, NODES, lambda t: pair, lambda t: MIX)


def test_pulled_alone_the_parameters_go_to_another_point():
    assert OPTIMUM.norm() > 1
    assert error(gs.DSGD(lr=0.02), 4000, quadratic) > 1


@pytest.mark.parametrize(
    ("method", "steps", "share", "most"),
    [
        (gs.PushSum(gs.DSGD(lr=0.02)), 4000, quadratic, 0.05),
        (gs.PushSum(gs.GTDSGD(lr=0.04)), 2500, constant, 1e-9),
        (gs.PushSum(gs.GTNSGDm(lr=0.05, momentum=0.5)), 1500, linear, 1e-3),
        (gs.GTDSGD(lr=0.2), 2000, constant, 1e-9),
        (gs.GTAdam(lr=0.02), 2000, constant, 1e-9),
        (gs.GTNSGDm(lr=0.05, momentum=0.5), 1500, linear, 1e-3),
    ],
    ids=lambda given: str(given) if isinstance(given, gs.Algorithm) else "",
)
def test_pushed_totals_lead_to_the_optimum(
    method: gs.Algorithm[Any], steps: int, share: Callable[[float], float], most: float
):
    assert error(method, steps, share) < most


PUSH_SUMS = [row for row in TABLE if row.name.startswith("PushSum")]


@pytest.mark.parametrize("row", PUSH_SUMS, ids=str)
def test_the_total_moves_by_the_plain_sum_of_the_updates(row: Row):
    """Σ wᵢ xᵢ + oᵢ falls by the sum of what the nodes subtract, whatever their weights."""

    def total(x: Tensor, state: Any) -> Tensor:
        return (state.push_weight * x + state.owed).sum(0)

    x = normal(DIM).expand(NODES, DIM).contiguous()
    state = row.algorithm.init(x)
    for t, grad in enumerate(heavy(20, NODES, DIM)):
        x_next, new = row.algorithm.step(t, x, grad, state, MIX)
        update = row.update(row.algorithm, t, grad, state, new)
        close(total(x_next, new), total(x, state) - update.sum(0))
        close(new.push_weight.sum(0), torch.full((1,), NODES).double())
        x, state = x_next, new
