"""Messages over memory that neighbours on one host share: the steps, and the failures, of gloo."""

import os
import signal
import sys
import time

import pytest
import torch
from processes import Dead, Processes, on_ranks
from test_equals_simulator import NETWORKS, methods, real_steps, require_simulated
from test_failures import quadratic_steps, survivors_optimum, wait_for_step
from torch import nn

import gossamer as gs
from gossamer.distributed import DecentralizedOptimizer, PeerFailure, carrier
from gossamer.distributed.boards import VARIABLE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boards are made on Linux")

TRACKING = gs.GTNSGDm(lr=0.1, momentum=0.8)
HIDDEN = gs.GTNSGDm(lr=0.1, momentum=0.8, order="combine-then-adapt")
RUNS = {
    "ring": (TRACKING, gs.ring, {}),
    "bfloat16, peers that change": (
        TRACKING,
        gs.one_peer_exponential,
        {"message_dtype": torch.bfloat16},
    ),
    "ahead": (HIDDEN, gs.exponential, {"overlap": True}),
    "lost": (TRACKING, lambda n: gs.exponential(n).drops(0.3), {}),
    "compressed": (gs.DSGD(lr=0.1), lambda n: gs.ring(n).compressed(gs.TopK(0.5)), {}),
    "several times": (gs.DSGD(lr=0.1), lambda n: gs.ring(n).accelerated(2), {}),
}
LONG = carrier.SHORTEST
"""Numbers of which a message is worth a board, in any precision."""


def over_boards(rank: int, function, *args):
    """A function of a rank, with all its messages over boards."""
    carrier.SHORTEST = 1
    return function(rank, *args)


FEW = ("DSGD", "DSGDCClip", "GTNSGDm", "GTNSTORM", "DeMuon")
"""They pull, combine first, push and pull, ask, see matrices; boards see their messages only."""


@pytest.mark.parametrize("network", NETWORKS)
def test_the_steps_are_those_of_the_simulator(network: str):
    few = [name for name in methods(network) if name in FEW]
    require_simulated(on_ranks(over_boards, real_steps, network, few), network)


def steps(rank: int, run: str, without: tuple[int, ...]) -> tuple:
    """x, bytes sent, and with whom memory is shared, where ranks `without` share none."""
    os.environ[VARIABLE] = "0" if rank in without else "1"
    method, network, options = RUNS[run]
    parameter = nn.Parameter(torch.zeros(LONG))
    optimizer = DecentralizedOptimizer([parameter], method, network, **options)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(4):
        parameter.grad = torch.randn(LONG, generator=generator)
        optimizer.step()
    shares = optimizer._node.exchange.carrier.shares
    return optimizer.x, optimizer.bytes_sent, {peer for (_, _, peer), yes in shares.items() if yes}


def on_one_host_and_on_several(rank: int) -> dict:
    ways = {"one host": (), "one is elsewhere": (2,), "all are elsewhere": (0, 1, 2, 3)}
    return {run: {way: steps(rank, run, without) for way, without in ways.items()} for run in RUNS}


def test_where_memory_is_not_shared_the_same_messages_are_sent():
    """Several hosts: whoever cannot read a board says so."""
    for rank, runs in enumerate(on_ranks(on_one_host_and_on_several)):
        for run, found in runs.items():
            x, sent, shared = found["one host"]
            assert shared, run
            assert not found["all are elsewhere"][2]
            for other in found.values():
                assert torch.equal(other[0], x), (run, rank)
                assert other[1] == sent, (run, rank)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_survivors_go_on(tmp_path, number: int):
    log = tmp_path / "step"
    run = (quadratic_steps, gs.GTDSGD(lr=0.8), gs.ring(4), 150, None, log, True, 0.002)
    processes = Processes(over_boards, *run)
    wait_for_step(log, 3, 20)
    processes.signal(3, number)
    for x, name, taken in processes.results(60, 3)[:3]:
        assert (name, taken) == ("ring(4).without(3)", 150)
        torch.testing.assert_close(x, survivors_optimum(3), rtol=0, atol=1e-6)


def failed_step(rank: int) -> tuple[int, list, list]:
    """The step in which a neighbour dies that has read the trackers, and what was left of it."""
    parameter = nn.Parameter(torch.zeros(LONG))
    optimizer = DecentralizedOptimizer([parameter], TRACKING, gs.ring)
    parameter.grad = torch.ones(LONG)
    optimizer.step()
    before = [z.clone() for z in (optimizer.x, *optimizer.algorithm_state)]
    if rank == 2:
        carrier.Carrier.confirm = lambda *_: os._exit(1)
    try:
        optimizer.step()
    except PeerFailure as failure:
        return failure.step, before, [optimizer.x, *optimizer.algorithm_state]


def test_a_failure_in_the_middle_of_a_step_leaves_all_as_it_was():
    answers = Processes(failed_step).results()
    assert isinstance(answers.pop(2), Dead)
    for step, before, after in answers:
        assert step == 1
        assert all(map(torch.equal, before, after))


def ends_with_its_last_step(rank: int) -> float:
    """Rank 1 is late to read the only message of rank 0."""
    parameter = nn.Parameter(torch.full((LONG,), float(rank)))
    optimizer = DecentralizedOptimizer([parameter], gs.DSGD(lr=0.1), gs.ring)
    with torch.no_grad():
        parameter.fill_(float(rank))
    if rank == 1:
        read = carrier.Carrier.read
        carrier.Carrier.read = lambda *given: time.sleep(0.5) or read(*given)
    optimizer.step()
    return float(optimizer.x[0])


def test_a_rank_may_end_with_its_last_step():
    assert on_ranks(ends_with_its_last_step, size=2) == [0.5, 0.5]
