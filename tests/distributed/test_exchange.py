"""What passes between processes: neighbours only, counted, averages preserved."""

import pytest
import torch
import torch.distributed as dist
from processes import on_ranks
from torch import nn

from gossamer.algorithms import DSGD, GTNSGDm
from gossamer.distributed import DecentralizedOptimizer, NeighborExchange
from gossamer.distributed.links import plain
from gossamer.distributed.links.rounds import rounds_of
from gossamer.native import node_step
from gossamer.networks import (
    complete,
    erdos_renyi_each_round,
    exponential,
    from_matrix,
    one_peer_exponential,
    random_digraph,
    random_matching,
    ring,
    star,
)

TALK = ("all_", "barrier", "broad", "gather", "reduce", "scatter", "send", "recv", "monitored")
COMMUNICATION = [name for name in dist.distributed_c10d.__all__ if name.startswith(TALK)]
NETWORKS = [ring(4), exponential(4), complete(4), one_peer_exponential(4)]


def ranks(rank: int) -> dict:
    return {
        "peers": [peers_in_steps(network) for network in NETWORKS],
        "mixed": {dtype: mixed(rank, dtype) for dtype in (None, torch.bfloat16)},
        "beyond": mixed(rank, torch.float16, scale=1e6),
        "beyond, exact": mixed(rank, None, scale=1e6),
        "skip": nonfinite_on_rank_1(rank),
        "scaler": inf_under_grad_scaler(rank),
        "evaluation": evaluation(rank),
        "pair": steps_in_a_pair(rank),
        "parts": mixed_in_parts(rank),
        "long": trackers_of_long_vectors(rank),
    }


def peers_in_steps(network) -> tuple[list, int]:
    """Every call of torch.distributed in three steps, with the peer it names; bytes sent."""
    optimizer = DecentralizedOptimizer(
        nn.Linear(3, 2).double().parameters(), GTNSGDm(lr=0.1, momentum=0.8), network
    )
    calls = []
    originals = {name: getattr(dist, name) for name in COMMUNICATION}
    batch = dist.batch_isend_irecv

    def spy_batch(ops):
        calls.extend((op.op.__name__, op.group_peer) for op in ops)
        return batch(ops)

    try:
        dist.batch_isend_irecv = spy_batch
        for name in COMMUNICATION:
            setattr(dist, name, lambda *_, name=name, **__: calls.append((name, None)))
        for _ in range(3):
            optimizer.step()
    finally:
        dist.batch_isend_irecv = batch
        for name, original in originals.items():
            setattr(dist, name, original)
    return calls, optimizer.bytes_sent


def mixed(rank: int, message_dtype, scale: float = 1.0) -> torch.Tensor:
    z = torch.randn(1000, generator=torch.Generator().manual_seed(rank), dtype=torch.float64)
    z = scale * z
    exchange = NeighborExchange(ring(4), rank, z, dist.group.WORLD, message_dtype)
    return exchange.talk(0).pull(z)


def mixed_in_parts(rank: int) -> list[torch.Tensor]:
    """What is mixed as one message, and as several about parts of it, under way at once."""
    mixes = [mixed(rank, torch.bfloat16)]
    whole, plain.PART = plain.PART, 300
    mixes.append(mixed(rank, torch.bfloat16))
    plain.PART = whole
    return mixes


def trackers_of_long_vectors(rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """v and y after steps in few passes, with heavy-tailed gradients, in parts."""
    parameters = [nn.Parameter(torch.zeros(size)) for size in (3, node_step.LONG)]
    whole, plain.PART = plain.PART, node_step.LONG // 2
    optimizer = DecentralizedOptimizer(parameters, GTNSGDm(lr=0.1, momentum=0.8), ring)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(5):
        for p in parameters:
            p.grad = torch.empty_like(p).cauchy_(generator=generator)
        optimizer.step()
    plain.PART = whole
    return optimizer.algorithm_state


def nonfinite_on_rank_1(rank: int) -> tuple[torch.Tensor, int]:
    optimizer = DecentralizedOptimizer([nn.Parameter(torch.ones(3))], DSGD(lr=0.1), ring)
    for t in range(4):
        optimizer._flat.params[0].grad = torch.full((3,), torch.nan if rank == 1 and t < 3 else 1.0)
        optimizer.step()
    return optimizer.x, optimizer.nonfinite_grads


def inf_under_grad_scaler(rank: int) -> tuple[torch.Tensor, float]:
    parameter = nn.Parameter(torch.ones(3))
    optimizer = DecentralizedOptimizer([parameter], DSGD(lr=0.1), ring)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for t in range(4):
        optimizer.zero_grad()
        scaler.scale((parameter * (torch.inf if rank == 2 and t == 1 else 1.0)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    return optimizer.x, scaler.get_scale()


def evaluation(rank: int) -> tuple:
    parameter = nn.Parameter(torch.tensor([float(rank), 1.0]))
    frozen = nn.Parameter(torch.tensor([float(rank)]), requires_grad=False)
    optimizer = DecentralizedOptimizer([parameter, frozen], DSGD(lr=1.0), ring)
    start = parameter.detach().clone()
    with torch.no_grad():
        parameter[0] = rank
    error = optimizer.consensus_error()
    with optimizer.averaged_parameters():
        inside = parameter.detach().clone()
    return start, frozen.item(), error, inside, parameter.detach().clone()


def steps_in_a_pair(rank: int) -> tuple[int, list[float]]:
    """Each two ranks are a network of their own, also after loading a state dict."""
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    parameter = nn.Parameter(torch.tensor([float(rank)]))
    options = {"process_group": pairs[rank // 2]}
    optimizer = DecentralizedOptimizer([parameter], DSGD(lr=1.0), ring, **options)
    optimizer.load_state_dict(optimizer.state_dict())
    parameter.grad = torch.tensor([float(rank)])
    optimizer.step()
    return optimizer.rank, optimizer.mean().tolist()


@pytest.fixture(scope="module")
def results() -> list[dict]:
    return on_ranks(ranks, deadline=60)


def test_steps_talk_to_neighbours_only(results):
    for which, network in enumerate(NETWORKS):
        for rank in range(4):
            calls, bytes_sent = results[rank]["peers"][which]
            rounds = [network.at(t) for t in range(3) for _ in range(2)]  # two mixes in a step
            receives = [("irecv", r) for one in rounds for r in one.in_neighbors(rank)]
            sends = [("isend", r) for one in rounds for r in one.out_neighbors(rank)]
            assert sorted(calls) == sorted(receives + sends)
            assert bytes_sent == len(sends) * 8 * 8  # 8 parameters of 8 bytes


def test_lossy_messages_round_but_preserve_the_average(results):
    exact = torch.stack([results[rank]["mixed"][None] for rank in range(4)])
    lossy = torch.stack([results[rank]["mixed"][torch.bfloat16] for rank in range(4)])
    assert 0 < (lossy - exact).abs().max() < 4 * 2**-8
    torch.testing.assert_close(lossy.mean(0), exact.mean(0), rtol=0, atol=1e-14)


def test_what_a_message_cannot_hold_stays_with_its_sender(results):
    exact = torch.stack([results[rank]["beyond, exact"] for rank in range(4)])
    lossy = torch.stack([results[rank]["beyond"] for rank in range(4)])
    torch.testing.assert_close(lossy.mean(0), exact.mean(0), rtol=0, atol=1e-8)


def test_parts_of_a_message_are_the_whole(results):
    for rank in range(4):
        whole, parts = results[rank]["parts"]
        assert torch.equal(whole, parts)


def test_trackers_of_long_vectors_lose_nothing(results):
    """What is computed again, beside the messages, is what was sent of."""
    states = [results[rank]["long"] for rank in range(4)]
    v = torch.stack([v.double() for v, _ in states])
    gap = sum(y for _, y in states) - v.sum(0)
    assert v.abs().max() > 1e4
    assert gap.abs().max() <= 1e-12 * v.abs().max()


def test_a_nonfinite_gradient_stays_at_home(results):
    simulated = torch.ones(4, 3, dtype=torch.float64)
    for t in range(4):
        grads = torch.ones(4, 3, dtype=torch.float64)
        grads[1] = 0 if t < 3 else 1
        simulated = ring(4).weights @ (simulated - 0.1 * grads)
    for rank in range(4):
        x, count = results[rank]["skip"]
        assert count == (3 if rank == 1 else 0)
        torch.testing.assert_close(x.double(), simulated[rank], rtol=0, atol=1e-6)


def test_inf_under_grad_scaler_neither_blocks_nor_spreads(results):
    for rank in range(4):
        x, scale = results[rank]["scaler"]
        assert torch.isfinite(x).all()
        assert scale == (512.0 if rank == 2 else 1024.0)
    average = torch.stack([results[rank]["scaler"][0] for rank in range(4)]).mean(0)
    torch.testing.assert_close(average, torch.full((3,), 1 - 0.1 * 15 / 4), rtol=0, atol=1e-6)


def test_start_average_and_consensus_error(results):
    for rank in range(4):
        start, frozen, error, inside, after = results[rank]["evaluation"]
        assert start.tolist() == [0.0, 1.0]  # rank 0's
        assert frozen == 0.0
        assert error == pytest.approx((1.5 + 0.5 + 0.5 + 1.5) / 4)
        assert inside.tolist() == [1.5, 1.0]
        assert after.tolist() == [float(rank), 1.0]


def test_a_part_of_the_processes_can_be_a_network(results):
    """All start from their rank 0, at 0 and 2; the gradients are 0, 1 and 2, 3."""
    found = [results[rank]["pair"] for rank in range(4)]
    assert found == [(0, [-0.5]), (1, [-0.5]), (0, [-0.5]), (1, [-0.5])]


@pytest.mark.parametrize(
    "network",
    [
        *NETWORKS,
        ring(1),
        exponential(9),
        star(5),
        ring(8).drops(0.3),
        ring(8).drops(0.3, both_ways=True),
        one_peer_exponential(8).drops(0.5),
        random_digraph(8, degree=3).drops(0.3, burst=4),
        random_matching(7),
        erdos_renyi_each_round(8, 0.3),
    ],
    ids=lambda network: network.name,
)
def test_every_send_has_one_receive_at_another_node(network):
    """NCCL would wait for ever on a round without."""
    nodes = range(network.num_nodes)
    rounds = [rounds_of(network, i, seed=5) for i in nodes]
    for t in range(20):
        at = [one(t) for one in rounds]
        sent = [(i, k) for i in nodes for k in at[i].sends]
        assert sorted(sent) == sorted((j, i) for i in nodes for j in at[i].hears)
        assert len(set(sent)) == len(sent)
        assert all(i != k for i, k in sent)
        reached = [(i, k) for i in nodes for k in at[i].reaches]
        assert sorted(reached) == sorted((j, i) for i in nodes for j in at[i].weights if j != i)


def test_a_node_may_give_itself_no_weight():
    network = from_matrix([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    values = on_ranks(mix_own_rank, network, size=3)
    assert [value.item() for value in values] == [1.5, 1.0, 0.5]


def mix_own_rank(rank: int, network) -> torch.Tensor:
    z = torch.tensor([float(rank)])
    return NeighborExchange(network, rank, z, dist.group.WORLD).talk(0).pull(z)
