"""PushSum on a process of its own: its weight is one number of the node, x stays u/w."""

import copy
import io
import pickle
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gossamer.algorithms import DSGD, Algorithm, GTNSGDm, PushSum, QGDSGDm
from gossamer.distributed import Checkpoints, DecentralizedOptimizer, NeighborExchange
from gossamer.distributed.node import Node
from gossamer.handover import load_stack, save_stack
from gossamer.networks import ring
from gossamer.problems import Quadratic
from gossamer.simulation.stack import Stack

WEIGHT = 0.25
METHODS = [DSGD(lr=0.1), QGDSGDm(lr=0.1), GTNSGDm(lr=0.1, momentum=0.8)]


def make(method: Algorithm, dtype: torch.dtype = torch.float64):
    torch.manual_seed(0)
    model = nn.Linear(3, 2).to(dtype)
    return model, DecentralizedOptimizer(model.parameters(), PushSum(method), ring)


def weighed(method: Algorithm, dtype: torch.dtype = torch.float64):
    """A node that has given most of its weight away."""
    model, optimizer = make(method, dtype)
    optimizer.algorithm_state.push_weight.fill_(WEIGHT)
    return model, optimizer


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 3) -> Tensor:
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(3, dtype=model.weight.dtype)).square().sum().backward()
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_alone_it_is_the_method(method: Algorithm):
    model, optimizer = make(method)
    plain = copy.deepcopy(model)
    expected = train(plain, DecentralizedOptimizer(plain.parameters(), method, ring))
    torch.testing.assert_close(train(model, optimizer), expected, rtol=1e-12, atol=1e-12)
    assert optimizer.algorithm_state.push_weight.tolist() == [1.0]


def test_a_node_of_little_weight_moves_no_further_and_owes_the_rest():
    model, optimizer = weighed(DSGD(lr=0.1))
    start = optimizer.x.clone()
    twin = copy.deepcopy(model)
    moved = train(model, optimizer, steps=1)
    expected = train(twin, torch.optim.SGD(twin.parameters(), lr=0.1), steps=1)
    torch.testing.assert_close(moved, expected, rtol=1e-12, atol=1e-12)
    owed = (1 - WEIGHT) * (expected - start)
    torch.testing.assert_close(optimizer.algorithm_state.owed, owed, rtol=1e-12, atol=1e-12)


def test_the_weight_is_shown_under_every_parameter_as_one_number():
    model, optimizer = weighed(DSGD(lr=0.1))
    train(model, optimizer)
    shown = [optimizer.state[p]["push_weight"] for p in model.parameters()]
    assert all(weight is optimizer.algorithm_state.push_weight for weight in shown)
    assert (shown[0].shape, shown[0].dtype) == ((1,), torch.float64)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_state_dict_and_pickle_resume_exactly(method: Algorithm, dtype: torch.dtype):
    model, optimizer = weighed(method, dtype)
    optimizer.algorithm_state.push_weight.fill_(1 / 3)  # has no short form
    train(model, optimizer)
    resumed, other = make(method, dtype)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file)
    resumed.load_state_dict(saved["model"])
    other.load_state_dict(saved["optimizer"])
    assert other.algorithm_state.push_weight.item() == 1 / 3
    both = pickle.loads(pickle.dumps((model, optimizer)))
    expected = train(model, optimizer)
    assert torch.equal(train(*both), expected)
    assert torch.equal(train(resumed, other), expected)


def test_parameters_that_join_later_have_the_node_s_weight():
    _, optimizer = weighed(DSGD(lr=0.1))
    head, twin = nn.Linear(2, 1).double(), nn.Linear(2, 1).double()
    twin.load_state_dict(head.state_dict())
    optimizer.add_param_group({"params": head.parameters()})
    assert optimizer.algorithm_state.push_weight.tolist() == [WEIGHT]
    head(torch.ones(2).double()).sum().backward()
    optimizer.step()
    for after, before in zip(head.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(after, before - 0.1, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("method", "kept"), [(PushSum(DSGD(lr=0.1)), 1.0), (DSGD(lr=0.1), None)])
def test_totals_start_anew_with_other_neighbours(method: Algorithm, kept: float | None):
    x = torch.ones(2)
    exchange = NeighborExchange(ring(1), 0, x, group=None)
    node = Node(method, x, method.init(x), exchange)
    if kept is not None:
        node.state.push_weight.fill_(WEIGHT)
    node.reconnect(exchange, step=0)
    assert getattr(node.state, "push_weight", None) == kept


def test_simulator_to_process_and_back(tmp_path: Path):
    problem, method = Quadratic(num_nodes=1, dim=6), PushSum(DSGD(lr=0.1))

    def stack() -> Stack:
        return Stack(method, problem, ring(1), noise=None, seeds=[0])

    simulated, loaded = stack(), stack()
    simulated.state.push_weight.fill_(WEIGHT)
    simulated.advance(5)
    save_stack(tmp_path, simulated)
    parameter = nn.Parameter(torch.zeros(6, dtype=torch.float64))
    optimizer = DecentralizedOptimizer([parameter], method, ring)
    checkpoints = Checkpoints(tmp_path, optimizer, None)
    assert checkpoints.resume() == 5
    parameter.grad = problem.local_grad(parameter.detach()[None, None])[0, 0]
    optimizer.step()
    checkpoints.save()
    load_stack(tmp_path, loaded)
    simulated.advance(1)
    torch.testing.assert_close(loaded.x, simulated.x, rtol=0, atol=1e-12)
    assert loaded.state.push_weight.tolist() == [[[WEIGHT]]]
