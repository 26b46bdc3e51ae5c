"""Processes on any network take the simulator's steps: the same losses, partners, coins, copies."""

import os
from dataclasses import dataclass

import pytest
import torch
import torch.distributed as dist
from processes import on_ranks
from torch import Tensor

from gossamer.algorithms import DSGD, GTDSGD, Algorithm, DSGDGClip, GTNSGDm, PushSum
from gossamer.distributed import NeighborExchange, boards
from gossamer.distributed.node import Node
from gossamer.fit import fits
from gossamer.networks import (
    QSGD,
    Cast,
    Network,
    RandK,
    Sign,
    Talk,
    TopK,
    complete,
    erdos_renyi_each_round,
    exponential,
    from_digraph,
    one_peer_exponential,
    random_matching,
    ring,
)
from gossamer.networks.channel import Call
from gossamer.networks.drops import Drops
from gossamer.networks.modified import layers

NODES, DIM, STEPS, SEED = 4, 40, 8, 3
DIGRAPH = from_digraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3), (0, 3)], name="digraph")
TRACKING = GTNSGDm(lr=0.1, momentum=0.8)
OTHERS = [DSGDGClip(lr=0.1, clip=5.0), PushSum(DSGD(lr=0.1))]
NETWORKS = [
    ring(4),
    exponential(4),
    complete(4),
    DIGRAPH,
    DIGRAPH.drops(0.3),
    ring(4).drops(0.3, both_ways=True, burst=4),
    one_peer_exponential(4).drops(0.3),
    ring(4).every(5),
    ring(4).compressed(TopK(0.1)),
    ring(4).compressed(RandK(0.1)),
    ring(4).compressed(QSGD(4)),
    ring(4).compressed(Sign()),
    ring(4).compressed(Cast("bfloat16")),
    ring(4).accelerated(3),
    random_matching(4),
    erdos_renyi_each_round(4, 0.5),
    random_matching(4).every(2),
    DIGRAPH.drops(0.3).compressed(TopK(0.1)).every(2),
    DIGRAPH.drops(0.5, burst=4).compressed(RandK(0.2)),
    ring(4).drops(0.2, both_ways=True).compressed(QSGD(4)),
    ring(4).drops(0.5, both_ways=True, burst=3).compressed(Sign()),
]


def other(turn: int, network: Network) -> list[Algorithm]:
    """One that only pulls or one that only pushes, in turn where both fit; none where none does."""
    return [one for one in (OTHERS[turn % 2], OTHERS[1 - turn % 2]) if fits(one, network)][:1]


PAIRS = [
    (method, network)
    for k, network in enumerate(NETWORKS)
    for method in (TRACKING, *other(k, network))
]
"""Every network with a method that pulls and pushes, and with one that does either."""


def gradient(x: Tensor, node: int, t: int) -> Tensor:
    """Of a quadratic of the node's own, with noise."""
    generator = torch.Generator().manual_seed(1000 * node + t)
    noise = torch.randn(DIM, generator=generator, dtype=torch.float64)
    center = torch.linspace(-node, node + 1, DIM, dtype=torch.float64)
    return (x - center + 0.3 * noise).to(x)


@dataclass
class End:
    """Where a run ended, with what its links remember and how many bytes each node sent."""

    x: Tensor
    state: tuple[Tensor, ...]
    links: tuple[dict[str, Tensor], ...]
    bytes_sent: Tensor | int


class Recorded:
    """A talk that also counts the bytes of its calls."""

    def __init__(self, talk: Talk, channel, t: int, itemsize: int):
        self.talk, self.channel, self.t, self.itemsize = talk, channel, t, itemsize
        self.bytes_sent, self.site = torch.zeros(NODES, 1, dtype=torch.int64), 0

    def pull(self, z: Tensor) -> Tensor:
        self._count(z)
        return self.talk.pull(z)

    def push(self, z: Tensor) -> Tensor:
        self._count(z)
        return self.talk.push(z)

    def _count(self, z: Tensor) -> None:
        call = Call(self.t, self.site)
        self.bytes_sent += self.channel.bytes_sent(call, z.shape[-1], self.itemsize)
        self.site += 1


def simulated(method: Algorithm, network: Network) -> End:
    channel = network.channel([SEED], torch.float64, "cpu")
    x = torch.zeros(NODES, 1, DIM, dtype=torch.float64)
    state, links, sent = method.init(x), (), torch.zeros(NODES, 1, dtype=torch.int64)
    for t in range(STEPS):
        grad = torch.stack([gradient(x[i], i, t) for i in range(NODES)])
        talk = Recorded(channel.talk(t, links), channel, t, x.itemsize)
        x, state = method.step(t, x, grad, state, talk)
        links, sent = talk.talk.memory, sent + talk.bytes_sent
    return End(x, state, links, sent)


def real(rank: int, method: Algorithm, network: Network, dtype=torch.float64) -> End:
    x = torch.zeros(DIM, dtype=dtype)
    exchange = NeighborExchange(network, rank, x, dist.group.WORLD, seed=SEED)
    node = Node(method, x, method.init(x), exchange)
    for t in range(STEPS):
        node.advance(gradient(x, rank, t))
    return End(x, node.state, node.links, exchange.take_bytes_sent())


class Counted:
    """Within, adds up the bytes of every message that torch is given to send."""

    def __enter__(self):
        self.original, self.bytes_sent = dist.batch_isend_irecv, 0
        dist.batch_isend_irecv = self._batch
        return self

    def __exit__(self, *_):
        dist.batch_isend_irecv = self.original

    def _batch(self, operations):
        self.bytes_sent += sum(op.tensor.nbytes for op in operations if op.op is dist.isend)
        return self.original(operations)


def all_pairs(rank: int) -> list[tuple[End, int]]:
    ends = []
    for method, network in PAIRS:
        with Counted() as counted:
            end = real(rank, method, network)
        ends.append((end, counted.bytes_sent))
    return ends


@pytest.mark.slow
def test_processes_equal_simulator(subtests):
    """One test, since the processes are started once."""
    by_rank = on_ranks(all_pairs, deadline=120)
    for (method, network), ends in zip(PAIRS, zip(*by_rank, strict=True), strict=True):
        with subtests.test(f"{type(method).label} on {network.name}"):
            expected, found = simulated(method, network), [end for end, _ in ends]
            end_at_the_same_points(found, expected)
            remember_the_same(found, expected, network)
            counted = [end.bytes_sent for end in found]
            assert counted == [sent for _, sent in ends], "not the bytes that were sent"
            assert counted == expected.bytes_sent.flatten().tolist()


def end_at_the_same_points(found: list[End], expected: End) -> None:
    for node, end in enumerate(found):
        close(end.x, expected.x[node, 0])
        for mine, theirs in zip(end.state, expected.state, strict=True):
            close(mine, theirs[node, 0])


def remember_the_same(found: list[End], expected: End, network: Network) -> None:
    for site, memory in enumerate(expected.links):
        for node, end in enumerate(found):
            if "copy" in memory:
                close(end.links[site]["copy"], memory["copy"][node, 0])
        if "in_flight" in memory:
            drops = next(one for one in layers(network) if isinstance(one, Drops))
            ends_of = zip(drops.edges.sender.tolist(), drops.edges.receiver.tolist(), strict=True)
            for load, (sender, receiver) in zip(memory["in_flight"], ends_of, strict=True):
                held = found[sender].links[site].get(f"in_flight.{receiver}")
                close(torch.zeros_like(load[0]) if held is None else held, load[0])


def close(mine: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)


class NowAndThen(GTDSGD):
    """Mixes in every third step, and descends along its tracker in the others."""

    def step(self, t, x, grad, state, mix):
        if t % 3 == 0:
            return super().step(t, x, grad, state, mix)
        y = state.y + grad - state.grad
        return x - self.lr * y.to(x), type(state)(y, grad)


IRREGULAR = NowAndThen(lr=0.05), DIGRAPH.drops(0.4).compressed(RandK(0.3))


def now_and_then(rank: int) -> End:
    return real(rank, *IRREGULAR)


def test_messages_that_were_lost_before_steps_without_a_mix_are_read_as_they_were_written():
    end_at_the_same_points(on_ranks(now_and_then), simulated(*IRREGULAR))


LATE = [DIGRAPH.drops(0.4), DIGRAPH.drops(0.4).compressed(TopK(0.1))]


def in_float32(rank: int) -> list[End]:
    return [real(rank, GTDSGD(lr=0.1), network, torch.float32) for network in LATE]


def test_totals_are_kept_in_float32():
    """Σ y + what is in flight = Σ grad; of compressed messages γ of the difference is taken."""
    ends = on_ranks(in_float32)
    for k, gamma in enumerate([1.0, LATE[1].gamma_for(DIM)]):
        flying = [
            z
            for rank in range(NODES)
            for name, z in ends[rank][k].links[0].items()
            if name.startswith("in_flight")
        ]
        assert sum(z.abs().max() for z in flying) > 0.1
        trackers = sum(ends[rank][k].state.y for rank in range(NODES))
        expected = sum(ends[rank][k].state.grad.double() for rank in range(NODES))
        close(trackers + gamma * sum(flying), expected)


def bytes_of_a_large_message(rank: int) -> dict[str, int]:
    """Of 3 million numbers, once the first message has been sent whole; and between talks.

    As if each rank were on a host of its own.
    """
    os.environ[boards.VARIABLE] = "0"
    z = torch.randn(3_000_000, generator=torch.Generator().manual_seed(rank))
    sent = {}
    for network in (ring(2), ring(2).compressed(TopK(0.05)), ring(2).compressed(Sign())):
        exchange = NeighborExchange(network, rank, z, dist.group.WORLD, seed=SEED)
        first = exchange.talk(0)
        first.pull(z)
        with Counted() as counted:
            exchange.talk(1, first.memory).pull(2 * z)
        sent[network.name] = counted.bytes_sent
    pausing = NeighborExchange(ring(2).every(5), rank, z, dist.group.WORLD)
    with Counted() as counted:
        for t in range(4):
            assert pausing.talk(t).pull(z) is z
    return {**sent, "between talks": counted.bytes_sent}


def test_compressed_messages_are_short_and_silence_is_silent():
    for sent in on_ranks(bytes_of_a_large_message, size=2):
        assert sent["ring(2)"] == 12_000_000
        assert sent["ring(2).compressed(TopK(0.05))"] <= 0.12 * 12_000_000
        assert sent["ring(2).compressed(Sign())"] <= 0.04 * 12_000_000
        assert sent["between talks"] == 0
