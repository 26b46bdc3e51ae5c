"""Ranks that were started differently all get the same clear error."""

import re

import pytest
import torch
import torch.distributed as dist
from processes import on_ranks
from torch import nn

from gossamer.algorithms import DSGD, GTNSGDm
from gossamer.distributed import DecentralizedOptimizer
from gossamer.errors import InvalidInput
from gossamer.networks import complete, exponential, ring


def attempt(make) -> str:
    try:
        make()
    except InvalidInput as error:
        return str(error)
    return "no error"


def disagree(rank: int) -> dict[str, str]:
    odd = rank == 2

    def make(width=3, lr=0.1, network=ring, **options):
        parameters = nn.Linear(width, 1).parameters()
        return DecentralizedOptimizer(parameters, DSGD(lr=lr), network, **options)

    def make_other_method():
        method = GTNSGDm(lr=0.1, momentum=0.8) if odd else DSGD(lr=0.1)
        return DecentralizedOptimizer(nn.Linear(3, 1).parameters(), method, ring)

    def step_unequally():
        optimizer = make()
        saved = optimizer.state_dict()
        for state in saved["state"].values():
            state["step"] = torch.tensor(7 if odd else 0)
        optimizer.load_state_dict(saved)
        optimizer.step()

    def make_with_frozen(width=3):
        frozen = nn.Linear(width, 1).requires_grad_(False)
        params = [*frozen.parameters(), *nn.Linear(2, 1).parameters()]
        return DecentralizedOptimizer(params, DSGD(lr=0.1), ring)

    pair = dist.new_group([0, 1])
    pair_only = {"on_peer_failure": "drop"} if rank < 2 else {}  # the others are not in it

    return {
        "frozen": attempt(lambda: make_with_frozen(width=4 if odd else 3)),
        "pair": attempt(lambda: make(process_group=pair, **pair_only)),
        "algorithm": attempt(make_other_method),
        "lr": attempt(lambda: make(lr=0.2 if odd else 0.1)),
        "network": attempt(lambda: make(network=complete if odd else exponential)),
        "parameters": attempt(lambda: make(width=4 if odd else 3)),
        "message_dtype": attempt(lambda: make(message_dtype=torch.bfloat16 if odd else None)),
        "step": attempt(step_unequally),
        "size": attempt(lambda: make(network=ring(5))),
        "nothing": attempt(make),
    }


@pytest.fixture(scope="module")
def results() -> list[dict[str, str]]:
    return on_ranks(disagree)


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        ("algorithm", r"algorithm: rank 0 has DSGD\(.*, rank 2 has GTNSGDm\("),
        ("lr", r"algorithm: rank 0 has DSGD\(lr=0.1\), rank 2 has DSGD\(lr=0.2\)"),
        ("network", r"network: rank 0 has exponential\(4\).*, rank 2 has complete\(4\)"),
        ("parameters", r"parameters: rank 0 has \[\(1, 3\).*, rank 2 has \[\(1, 4\)"),
        ("frozen", r"frozen \[\(1, 3\).*, rank 2 has .*, frozen \[\(1, 4\)"),
        ("message_dtype", r"message_dtype: rank 0 has None, rank 2 has torch.bfloat16"),
        ("step", r"step: rank 0 has 0, rank 2 has 7"),
        ("size", r"ring\(5\) with 5 nodes on 4 processes"),
        ("nothing", "no error"),
    ],
)
def test_every_rank_says_what_differs(results, fact, message):
    for rank in range(4):
        assert re.search(message, results[rank][fact])


def test_a_pair_of_the_processes_cannot_drop_and_the_others_are_not_in_it(results):
    for rank in (0, 1):
        assert "process_group: got 2 of 4 processes, need all" in results[rank]["pair"]
    for rank in (2, 3):
        assert "process_group: got one without this process" in results[rank]["pair"]
