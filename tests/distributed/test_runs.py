"""One store outlives its runs: all ranks started anew are another run."""

import os
import warnings

import pytest
import torch
import torch.distributed as dist
from processes import Dead, Launched
from torch import nn

from gossamer.algorithms import GTDSGD
from gossamer.distributed import DecentralizedOptimizer
from gossamer.distributed.runs import all_are_late, begin, come_in, present_run
from gossamer.networks import ring


def three_steps(rank: int, policy: str, marks) -> int:
    """The first of these runs is killed, the second one ends well."""
    warnings.simplefilter("ignore")
    parameter = nn.Parameter(torch.zeros(1))
    options = {"timeout": 20.0, "on_peer_failure": policy}
    optimizer = DecentralizedOptimizer([parameter], GTDSGD(lr=0.1), ring, **options)
    first = not (marks / str(rank)).exists()
    (marks / str(rank)).touch()
    for _ in range(3):
        parameter.grad = torch.ones(1)
        optimizer.step()
    optimizer.mean()
    if first:
        os._exit(1)
    return optimizer.network.num_nodes


@pytest.mark.parametrize("policy", ["drop", "raise"])
def test_all_ranks_can_be_started_again_after_a_run_with_the_same_store(tmp_path, policy):
    run = Launched(three_steps, policy, tmp_path, size=2)
    assert [isinstance(run.answer(rank), Dead) for rank in (0, 1)] == [True, True]
    for _ in range(2):
        again = [run.start(rank) for rank in (0, 1)]
        assert [run.answer(place) for place in again] == [2, 2]
    run.kill_all()


def test_a_rank_that_was_let_in_is_not_late_any_more():
    store = dist.HashStore()
    run, _ = present_run(store, rank=0, size=2)
    begin(run)
    assert [present_run(store, 0, 2)[1], present_run(store, 0, 1)[1]] == [True, False]
    come_in(run, 0, 2)
    assert present_run(store, 1, 2)[1]
    assert not all_are_late(run, 2)
    assert not present_run(store, 0, 2)[1]
    assert all_are_late(run, 2)
