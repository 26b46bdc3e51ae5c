"""Where gloo connects on first use, ranks connect to their neighbours and to nobody."""

import os
import re
import socket
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch
import torch.distributed as dist
from processes import Launched, on_ranks
from torch import nn

from gossamer.algorithms import DSGD, GTNSGDm
from gossamer.distributed import Checkpoints, DecentralizedOptimizer, PeerFailure
from gossamer.errors import InvalidInput
from gossamer.networks import Network, line, ring, star
from gossamer.networks.graphs import from_graph

ESTABLISHED = 1
KEPT: list[dist.ProcessGroup] = []
"""Groups, so that their connections stay and none closes while those of another are counted."""

SIZE = 5
NETWORKS = {
    "ring": ring(SIZE),
    "star": star(SIZE),
    "two triangles": from_graph(nx.Graph([(0, 3), (3, 1), (1, 0), (1, 4), (4, 2), (2, 1)])),
}


def connections() -> int:
    """How many TCP connections this process has."""
    return sum(map(is_connection, map(int, os.listdir("/proc/self/fd"))))


def is_connection(descriptor: int) -> bool:
    try:
        with socket.socket(fileno=os.dup(descriptor)) as one:
            return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED
    except OSError:  # it is no socket, or none of TCP
        return False


def disagreement(group: dist.ProcessGroup, rank: int) -> str:
    """What ranks are told that come with different networks."""
    network = star(SIZE) if rank == 2 else line(SIZE)
    parameter, method = nn.Parameter(torch.zeros(1)), GTNSGDm(lr=0.1, momentum=0.8)
    with pytest.raises(InvalidInput) as refusal:
        DecentralizedOptimizer([parameter], method, network, process_group=group)
    return str(refusal.value)


def run_on(rank: int, network: Network, folder: Path, secret: str) -> dict[str, Any]:
    """New connections while an optimizer is made, takes steps, and all is done that ranks do."""
    before = connections()
    os.environ["GOSSAMER_SECRET"] = secret
    group = dist.new_group(range(SIZE), backend="gloo")
    KEPT.append(group)
    parameter = nn.Parameter(torch.full((300_000,), float(rank)))
    method, options = GTNSGDm(lr=0.1, momentum=0.8), {"process_group": group}
    told: dict[str, Any] = {"disagreement": disagreement(group, rank) if secret else ""}
    optimizer = DecentralizedOptimizer([parameter], method, network, **options)
    told["start"] = parameter[:3].tolist()
    for _ in range(3):
        parameter.grad = parameter.detach() - rank
        optimizer.step()
    told["x"] = parameter[0].item()
    with optimizer.averaged_parameters():
        told["average"] = parameter[[0, -1]].tolist()
        told["error"] = optimizer.consensus_error()
    told["said"] = optimizer.gather(lambda: rank**2)
    checkpoints = Checkpoints(folder, optimizer, None)
    checkpoints.save()
    told["resumed"] = checkpoints.resume()
    return {**told, "new": connections() - before}


def refusal_of_a_stranger(rank: int) -> str:
    """What ranks are told when rank 2 has a different secret."""
    os.environ["GOSSAMER_SECRET"] = f"a secret of {'some' if rank == 2 else 'many'} letters"
    options = {"process_group": dist.new_group(range(SIZE), backend="gloo"), "timeout": 2.0}
    with pytest.raises(PeerFailure) as refusal:
        DecentralizedOptimizer([nn.Parameter(torch.zeros(1))], DSGD(lr=0.1), star, **options)
    return str(refusal.value)


def run_on_all(rank: int, folder: Path) -> dict[str, Any]:
    os.environ["TORCH_GLOO_LAZY_INIT"] = "1"
    secrets = {name: "a secret of many letters" * (name == "star") for name in NETWORKS}
    run = partial(run_on, rank)
    told = {name: run(NETWORKS[name], folder / name, secrets[name]) for name in NETWORKS}
    return {**told, "stranger": refusal_of_a_stranger(rank)}


def test_ranks_connect_to_their_neighbours_only(tmp_path):
    real = on_ranks(run_on_all, tmp_path, size=SIZE)
    for name, network in NETWORKS.items():
        told = [each[name] for each in real]
        average = sum(each["x"] for each in told) / SIZE
        for rank, each in enumerate(told):
            assert each["start"] == [0.0, 0.0, 0.0]  # rank 0's
            assert each["average"] == pytest.approx([average, average], abs=1e-6)
            assert each["error"] < 1e-3
            assert each["said"] == [0, 1, 4, 9, 16]
            assert each["resumed"] == 3
            assert each["new"] == len(network.rounds[0].in_neighbors(rank)), name
    assert len({each["star"]["disagreement"] for each in real}) == 1
    assert "network: ranks 0, 1, 3, 4 have line(5)" in real[0]["star"]["disagreement"]
    for rank in (0, 1, 3, 4):
        assert re.search(r"waiting for a word of rank.* 2, or for a seal", real[rank]["stranger"])


def second_after_a_newcomer(rank: int) -> float:
    """Rank 2 goes and comes back; then all make another optimizer: what they start with."""
    warnings.simplefilter("ignore")
    os.environ["TORCH_GLOO_LAZY_INIT"] = "1"
    parameter = nn.Parameter(torch.zeros(1))
    options = {"timeout": 6.0, "on_peer_failure": "drop"}
    first = DecentralizedOptimizer([parameter], DSGD(lr=0.1), ring, **options)
    while not (first.steps > 3 and first.admit()):
        if rank == 2 and first.steps == 3 and first.came_at is None:
            os._exit(1)
        parameter.grad = parameter.detach() - rank
        first.step()
    other = nn.Parameter(torch.full((2,), 1.0 + rank))
    DecentralizedOptimizer([other], DSGD(lr=0.2), ring, timeout=6.0)
    return float(other[0])


def test_a_newcomer_makes_another_optimizer_with_the_others():
    run = Launched(second_after_a_newcomer)
    run.ranks[2].join()
    run.start(2)
    answers = run.results(60, 2)
    assert [answers[place] for place in (0, 1, 3, 4)] == [1.0] * 4
