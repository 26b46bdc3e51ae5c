"""Where gloo connects on first use, ranks of a ring connect to their neighbours and to nobody."""

import os
from pathlib import Path

import torch
import torch.distributed as dist
from processes import on_ranks
from torch import nn

from gossamer.algorithms import GTNSGDm
from gossamer.distributed import DecentralizedOptimizer
from gossamer.networks import ring

ESTABLISHED = "01"


def connections() -> int:
    """How many TCP connections this process has."""
    links = [os.readlink(file) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]
    ]
    return sum(row[3] == ESTABLISHED and f"socket:[{row[9]}]" in links for row in rows)


def connections_of_a_run(rank: int) -> tuple[int, list[float], float]:
    """New ones while an optimizer is made, takes steps, averages and measures; where it ends."""
    before = connections()
    os.environ["TORCH_GLOO_LAZY_INIT"] = "1"
    group = dist.new_group(range(5), backend="gloo")
    parameter = nn.Parameter(torch.full((3,), float(rank)))
    method, options = GTNSGDm(lr=0.1, momentum=0.8), {"process_group": group}
    optimizer = DecentralizedOptimizer([parameter], method, ring, **options)
    start = parameter.tolist()
    for _ in range(3):
        parameter.grad = parameter.detach() - rank
        optimizer.step()
    with optimizer.averaged_parameters():
        error = optimizer.consensus_error()
    return connections() - before, start, error


def test_ranks_of_a_ring_connect_to_their_neighbours_only():
    for count, start, error in on_ranks(connections_of_a_run, size=5):
        assert start == [0.0, 0.0, 0.0]  # rank 0's
        assert error < 1e-6
        assert count == 2
