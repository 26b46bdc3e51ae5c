"""Ranks that were started differently all get the same clear error."""

import math
import os
import pickle
import re
import warnings
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from processes import on_ranks
from torch import nn

from gossamer.algorithms import DSGD, GTNSGDm
from gossamer.distributed import DecentralizedOptimizer
from gossamer.distributed.collectives import gather, gather_bytes
from gossamer.errors import InvalidInput
from gossamer.networks import complete, exponential, from_matrix, ring

EAGER = torch.full((4, 4), 0.25, dtype=torch.float64)
LAZY = (EAGER + torch.eye(4)) / 2


def attempt(make) -> str:
    try:
        make()
    except InvalidInput as error:
        return str(error)
    return "no error"


class Bomb:
    """What a stranger would send: reading it as a pickle runs code of his."""

    def __init__(self, path: str):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def pickled(rank: int, folder: Path) -> str:
    """Rank 2 sends a pickle where the others send JSON."""
    if rank == 2:
        gather_bytes(pickle.dumps(Bomb(f"{folder}/his")), dist.group.WORLD)
        return "sent"
    return attempt(lambda: gather({"step": 3}, dist.group.WORLD))


def disagree(rank: int, folder: Path) -> dict[str, str]:
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

    def two_groups(lr=0.2):
        groups = [{"params": [nn.Parameter(torch.ones(2))]} for _ in range(2)]
        groups[1]["lr"] = lr
        return DecentralizedOptimizer(groups, DSGD(lr=0.1), ring)

    def in_another_order():
        named = list(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)).named_parameters())
        return DecentralizedOptimizer(named[2:] + named[:2] if odd else named, DSGD(0.1), ring)

    return {
        "names": attempt(in_another_order),
        "groups": attempt(lambda: two_groups(0.2 + 0.1 * rank)),
        "timeout": attempt(lambda: make(timeout=8 if odd else 60)),
        "policy": attempt(lambda: make(on_peer_failure="drop" if odd else "raise")),
        "weights": attempt(lambda: make(network=from_matrix(LAZY if odd else EAGER, name="mine"))),
        "pickle": pickled(rank, folder),
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
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("code of a stranger")


@pytest.fixture(scope="module")
def results(folder) -> list[dict[str, str]]:
    return on_ranks(disagree, folder)


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        ("algorithm", r"algorithm: ranks 0, 1, 3 have DSGD\(.*, rank 2 has GTNSGDm\("),
        ("lr", r"algorithm: ranks 0, 1, 3 have DSGD\(lr=0.1\), rank 2 has DSGD\(lr=0.2\)"),
        ("network", r"network: ranks 0, 1, 3 have exponential\(4\).*, rank 2 has complete\(4\)"),
        ("parameters", r"parameters: ranks 0, 1, 3 have \[\(1, 3\).*, rank 2 has \[\(1, 4\)"),
        ("frozen", r"frozen \[\(1, 3\).*, rank 2 has .*, frozen \[\(1, 4\)"),
        ("message_dtype", r"message_dtype: ranks 0, 1, 3 have None, rank 2 has torch.bfloat16"),
        ("step", r"step: ranks 0, 1, 3 have 0, rank 2 has 7"),
        ("size", r"ring\(5\) with 5 nodes on 4 processes"),
        ("groups", r"lr of param group 1: rank 0 has 0.2, rank 1 has 0.3.*, rank 2 has 0.4"),
        ("timeout", r"timeout: ranks 0, 1, 3 have 60, rank 2 has 8"),
        ("policy", r"on_peer_failure: ranks 0, 1, 3 have raise, rank 2 has drop"),
        ("names", r"names of the parameters: ranks 0, 1, 3 have 0.weight, 0.bias, 1.weight, 1.bi"),
        ("weights", r"links: ranks 0, 1, 3 have \w+, rank 2 has"),
        ("nothing", "no error"),
    ],
)
def test_every_rank_says_what_differs(results, fact, message):
    for rank in range(4):
        assert re.search(message, results[rank][fact])


def test_nothing_from_a_peer_is_unpickled(results, folder):
    for rank in (0, 1, 3):
        assert re.search(r"rank 2: sent b'.*'…, which is no JSON", results[rank]["pickle"])
    assert not list(folder.iterdir())


def test_a_pair_of_the_processes_cannot_drop_and_the_others_are_not_in_it(results):
    for rank in (0, 1):
        assert "process_group: got 2 of 4 processes, need all" in results[rank]["pair"]
    for rank in (2, 3):
        assert "process_group: got one without this process" in results[rank]["pair"]


def with_local_schedules(rank: int) -> list[str]:
    """What is warned of where each rank has lowered its step size by its own losses."""
    optimizer = DecentralizedOptimizer([nn.Parameter(torch.ones(2))], DSGD(lr=0.1), ring)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        optimizer.param_groups[0]["lr"] = math.nextafter(0.1, rank)  # as other machines round it
        optimizer.consensus_error()
        optimizer.param_groups[0]["lr"] *= 0.5 if rank == 1 else 1
        optimizer.consensus_error()
    return [str(one.message) for one in caught]


def test_step_sizes_that_drift_apart_are_noticed():
    for (said,) in on_ranks(with_local_schedules):
        assert "lr of param group 0: ranks 0, 2, 3 have 0.1, rank 1 has 0.05; step sched" in said
