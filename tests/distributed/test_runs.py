"""One store outlives its runs: all ranks started anew are another run."""

import os
import warnings

import pytest
import torch
from processes import Dead, Launched
from torch import nn

from gossamer.algorithms import GTDSGD
from gossamer.distributed import DecentralizedOptimizer
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
