"""A run goes from the simulator to real processes and back through one folder."""

from pathlib import Path

import pytest
import torch
from processes import on_ranks
from torch import Tensor, nn

from gossamer.algorithms import DSGD, GTNSGDm
from gossamer.distributed import Checkpoints, DecentralizedOptimizer
from gossamer.errors import InvalidInput
from gossamer.handover import load_stack, save_stack
from gossamer.networks import ring
from gossamer.problems import Quadratic
from gossamer.simulation.stack import Stack

METHOD = GTNSGDm(lr=0.1, momentum=0.8)
PROBLEM = Quadratic(num_nodes=4, dim=6, seed=0)


def stack() -> Stack:
    return Stack(METHOD, PROBLEM, ring(4), noise=None, seeds=[0])


def continue_on_ranks(rank: int, folder: Path) -> Tensor:
    parameter = nn.Parameter(torch.zeros(6, dtype=torch.float64))
    optimizer = DecentralizedOptimizer([parameter], METHOD, ring)
    checkpoints = Checkpoints(folder, optimizer)
    assert checkpoints.resume() == 10
    while optimizer.steps < 15:
        everywhere = parameter.detach().expand(4, 1, 6)
        parameter.grad = PROBLEM.local_grad(everywhere)[rank, 0]
        optimizer.step()
    checkpoints.save()
    return optimizer.x


def test_simulator_to_ranks_and_back(tmp_path):
    simulated, loaded = stack(), stack()
    simulated.advance(10)
    save_stack(tmp_path, simulated)
    simulated.advance(5)
    on_ranks(continue_on_ranks, tmp_path)
    load_stack(tmp_path, loaded)
    assert loaded.t == 15
    torch.testing.assert_close(loaded.x, simulated.x, rtol=0, atol=1e-12)
    for ours, theirs in zip(loaded.state, simulated.state, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    simulated.advance(5)
    loaded.advance(5)
    torch.testing.assert_close(loaded.x, simulated.x, rtol=0, atol=1e-12)


def test_a_stack_of_another_method_is_refused(tmp_path):
    save_stack(tmp_path, stack())
    other = Stack(DSGD(lr=0.1), PROBLEM, ring(4), noise=None, seeds=[0])
    with pytest.raises(InvalidInput, match=r"GTNSGDm of shape \(4, 1, 6\), need DSGD"):
        load_stack(tmp_path, other)
