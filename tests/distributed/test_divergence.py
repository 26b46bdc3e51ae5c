"""A run whose x is no longer finite ends on all ranks, with one reason."""

import copy
import pickle
import time
import warnings

import pytest
import torch
from processes import Processes, on_ranks
from torch import nn

from gossamer.algorithms import DSGD
from gossamer.distributed import DecentralizedOptimizer, Diverged
from gossamer.errors import InvalidInput
from gossamer.networks import line, ring


def diverging(rank: int, policy: str) -> None:
    """Node 2 has a gradient that is finite, and a step that is not, at step 5."""
    warnings.simplefilter("ignore")
    parameter = nn.Parameter(torch.ones(3))
    options = {"on_peer_failure": policy, "timeout": 5}
    optimizer = DecentralizedOptimizer([parameter], DSGD(lr=10.0), line, **options)
    try:
        for t in range(30):
            parameter.grad = torch.full((3,), 3e38 if (rank, t) == (2, 5) else 0.0)
            optimizer.step()
    finally:
        assert torch.equal(optimizer.x, torch.ones(3))  # as before that step


@pytest.mark.parametrize("policy", ["raise", "drop"])
def test_all_ranks_name_the_first_node_and_its_step(policy):
    start = time.monotonic()
    answers = Processes(diverging, policy).results(deadline=60)
    said = {str(answer.error) for answer in answers}
    assert all(isinstance(answer.error, Diverged) for answer in answers)
    assert len(said) == 1
    assert "node 2: x is no longer finite in step 5; lower lr, 10, or go back to a" in said.pop()
    assert time.monotonic() - start < 40


def copied(rank: int) -> None:
    parameter = nn.Parameter(torch.ones(3))
    optimizer = DecentralizedOptimizer([parameter], DSGD(lr=10.0), line, timeout=5)
    twin = pickle.loads(pickle.dumps(optimizer))
    (parameter,) = twin.parameters()
    for t in range(9):
        parameter.grad = torch.full((3,), 3e38 if (rank, t) == (2, 5) else 0.0)
        twin.step()


def test_all_ranks_of_an_optimizer_that_was_pickled_name_it_too():
    answers = Processes(copied).results(deadline=60)
    assert all(isinstance(answer.error, Diverged) for answer in answers)
    assert len({str(answer.error) for answer in answers}) == 1


def copied_with_drop(rank: int) -> str:
    options = {"on_peer_failure": "drop"}
    optimizer = DecentralizedOptimizer([nn.Parameter(torch.ones(3))], DSGD(0.1), ring, **options)
    try:
        copy.deepcopy(optimizer)
    except InvalidInput as error:
        return str(error)
    return ""


def test_an_optimizer_that_drops_is_not_copied_to_one_that_does_not():
    for said in on_ranks(copied_with_drop, size=2):
        assert said.startswith('on_peer_failure: got a copy or a pickle of an optimizer with "drop')


def test_a_process_of_its_own_says_so_too():
    parameter = nn.Parameter(torch.ones(1))
    optimizer = DecentralizedOptimizer([parameter], DSGD(lr=10.0), ring)
    parameter.grad = torch.full((1,), 3e38)
    with pytest.raises(Diverged, match="node 0: x is no longer finite in step 0"):
        optimizer.step()


def test_large_numbers_are_finite():
    """Their sum is not."""
    parameter = nn.Parameter(torch.full((3,), 3e38))
    DecentralizedOptimizer([parameter], DSGD(lr=0.1), ring).step()
    assert torch.equal(parameter, torch.full((3,), 3e38))
