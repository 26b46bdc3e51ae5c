"""Bytes as a metric: what every network sends, against a count link by link and step by step."""

import warnings
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
import torch
from torch import Tensor

import gossamer as gs
from gossamer.networks import Call
from gossamer.networks.drops import Drops
from gossamer.networks.losses import Losses
from gossamer.networks.random_rounds import RandomRounds
from gossamer.simulation import traffic
from gossamer.simulation.traffic import Traffic, what_a_step_asks

N, DIM, ITEM, SEEDS = 6, 5, 8, [3, 8]
STEPS = 100
LOSS = 0.4
TOP = gs.TopK(0.4)
WHOLE, SHORT = DIM * ITEM, 2 * ITEM + 1
"""Two of five values and five bits, in a byte."""

DIGRAPH = gs.from_digraph(nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3)]))
PLAIN = {
    "ring": gs.ring(N),
    "star": gs.star(N),
    "digraph": DIGRAPH,
    "one peer": gs.one_peer_exponential(8),
    "in turn": gs.time_varying([gs.ring(N), gs.star(N), gs.complete(N)]),
}


def sends(network: gs.Network, t: int) -> list[tuple[int, int]]:
    """The links j → i of round t."""
    links = network.at(t)
    return [(j, i) for i in range(network.num_nodes) for j in links.in_neighbors(i)]


@cache
def coins_of(network: Drops, seed: int) -> Losses:
    return network.losses([seed])


def lost(network: Drops, t: int, seed: int, j: int, i: int) -> bool:
    """One coin at a time."""
    coins = coins_of(network, seed)
    numbers = network.edges.pair if network.both_ways else network.edges.number
    number = max(i, j) * N + min(i, j) if network.both_ways else i * N + j
    return not bool(coins.arrive(t)[0, numbers.tolist().index(number)])


def counted(network: gs.Network, per_link: Any, steps: int, seed: int) -> Tensor:
    """Bytes of each node after 0, …, steps steps, `per_link` giving those of a link in a step."""
    rows = [[0] * network.num_nodes]
    for t in range(steps):
        rows.append(list(rows[-1]))
        for j, i in sends(network, t):
            rows[-1][j] += per_link(t, seed, j, i)
    return torch.tensor(rows)


def told(
    network: gs.Network,
    steps: int = STEPS,
    seeds: Sequence[int] = SEEDS,
    messages: bool = False,
) -> Tensor:
    """The channel's own count of bytes or of messages, `(steps + 1, nodes, runs)`."""
    channel, taken = network.channel(seeds, torch.float64, "cpu"), range(steps)
    sent = channel.messages_sent(taken) if messages else channel.traffic(taken, DIM, ITEM)
    so_far = sent.cumsum(0).expand(-1, -1, len(seeds))
    return torch.cat([torch.zeros_like(so_far[:1]), so_far])


def assert_counts(network: gs.Network, per_link: Any, steps: int = STEPS) -> None:
    for run, seed in enumerate(SEEDS):
        expected = counted(network, per_link, steps, seed)
        assert torch.equal(told(network, steps)[:, :, run], expected)


@pytest.mark.parametrize("name", PLAIN)
def test_all_numbers_go_to_every_out_neighbour(name: str):
    assert_counts(PLAIN[name], lambda t, seed, j, i: WHOLE, steps=12)


def test_the_hub_of_a_star_sends_more_than_its_leaves():
    assert told(gs.star(N))[1, :, 0].tolist() == [5 * WHOLE, *[WHOLE] * 5]


@pytest.mark.parametrize("k", [1, 2, 7])
def test_nothing_is_sent_in_silent_steps(k: int):
    network = gs.time_varying([gs.ring(N), gs.star(N)])
    plain, every = told(network), told(network.every(k))
    assert torch.equal(every, plain[torch.arange(STEPS + 1) // k])


def test_accelerated_networks_exchange_k_times():
    assert torch.equal(told(gs.ring(N).accelerated(3)), 3 * told(gs.ring(N)))
    both = gs.ring(N).accelerated(3).every(4)
    assert torch.equal(told(both), 3 * told(gs.ring(N).every(4)))


def test_a_message_lost_one_way_was_sent():
    for burst in (None, 5):
        assert torch.equal(told(gs.ring(N).drops(LOSS, burst=burst)), told(gs.ring(N)))
    in_turn = gs.time_varying([gs.ring(N), gs.star(N)])
    assert torch.equal(told(in_turn.drops(LOSS)), told(in_turn))


@pytest.mark.parametrize("burst", [None, 4])
def test_links_that_are_dead_both_ways_are_not_used(burst: float | None):
    network = gs.ring(N).drops(LOSS, both_ways=True, burst=burst)
    assert isinstance(network, Drops)
    assert_counts(network, lambda t, *link: 0 if lost(network, t, *link) else WHOLE)


def test_compressed_messages_are_short_and_the_first_is_whole():
    network = gs.star(N).compressed(TOP)
    assert_counts(network, lambda t, seed, j, i: WHOLE if t == 0 else SHORT)
    assert torch.equal(told(network.every(3))[3::3], told(network)[1:34])


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize(("probability", "burst"), [(LOSS, None), (LOSS, 6), (0.9, None)])
def test_lost_compressed_messages_are_sent_again(
    both_ways: bool, probability: float, burst: float | None
):
    """A sender keeps a queue for each link, empties it when it arrives, and pays for every try."""
    lossy = gs.ring(N).drops(probability, both_ways=both_ways, burst=burst)
    assert isinstance(lossy, Drops)
    queues: dict[tuple[int, int, int], int] = {}
    sizes = {"whole": WHOLE, "short": SHORT}

    def per_link(t: int, seed: int, j: int, i: int) -> int:
        dead = lost(lossy, t, seed, j, i)
        waiting = queues.get((seed, j, i), 0) + sizes["whole" if t == 0 else "short"]
        queues[seed, j, i] = waiting if dead else 0
        return 0 if dead and both_ways else waiting

    assert_counts(lossy.compressed(TOP), per_link)
    queues.clear()
    sizes["whole"] = sizes["short"] = 1
    for run, seed in enumerate(SEEDS):
        sent = counted(lossy, per_link, STEPS, seed)
        assert torch.equal(told(lossy.compressed(TOP), messages=True)[:, :, run], sent)


@pytest.mark.parametrize("network", [gs.random_matching(7), gs.erdos_renyi_each_round(7, 0.3)])
def test_random_rounds_send_to_the_neighbours_of_the_round(network: RandomRounds):
    channel = network.channel([5, 9, 5], torch.float64, "cpu")
    sent = channel.traffic(range(3, 20), DIM, ITEM)
    for run, seed in enumerate([5, 9, 5]):
        for t in range(3, 20):
            weights = network.matrices(torch.tensor([t]), [seed])[0, 0]
            links = [int((weights[:, j] > 0).sum()) - 1 for j in range(7)]
            assert sent[t - 3, :, run].tolist() == [WHOLE * count for count in links]


EVERY_KIND = [
    *PLAIN.values(),
    gs.ring(N).every(3),
    gs.ring(N).accelerated(2),
    gs.ring(N).drops(LOSS),
    gs.ring(N).drops(LOSS, both_ways=True, burst=9),
    gs.ring(N).drops(0.9, burst=12).compressed(TOP).every(2),
    gs.random_matching(N),
    gs.erdos_renyi_each_round(N, 0.3),
]


@pytest.mark.parametrize("network", EVERY_KIND, ids=lambda network: network.name)
def test_any_range_of_steps_counts_the_same(network: gs.Network):
    seeds = [4, 2, 4]
    whole = told(network, seeds=seeds).diff(dim=0)
    channel = network.channel(seeds, torch.float64, "cpu")
    for begin, end in pairwise([0, 1, 2, 3, 40, 41, 96, 100]):
        part = channel.traffic(range(begin, end), DIM, ITEM).expand(-1, -1, 3)
        assert torch.equal(part, whole[begin:end])
    assert torch.equal(channel.bytes_sent(Call(71, 1), DIM, ITEM).expand(-1, 3), whole[71])


@pytest.mark.parametrize("network", EVERY_KIND, ids=lambda network: network.name)
def test_links_deliver_what_their_matrices_mix(network: gs.Network):
    """In round t, node i hears exactly those whose parameters change its own."""
    channel = network.channel([4], torch.float64, "cpu")
    nodes = network.num_nodes
    for t in range(7):
        links = channel.deliveries(t)
        heard = torch.zeros(nodes, nodes, dtype=torch.bool)
        heard[links.receiver, links.sender] = links.arrived[:, 0]
        units = torch.eye(nodes, dtype=torch.float64)[:, None, :]
        mixed = channel.talk(t, ()).pull(units)[:, 0, :].fill_diagonal_(0) != 0
        if channel.exchanges == 1:
            assert torch.equal(heard, mixed)
        else:
            assert not bool((heard & ~mixed).any())


# ---------------------------------------------------------------------- of whole runs


PROBLEM = gs.Quadratic(N, DIM)


def stack_of(method: gs.Algorithm[Any]) -> gs.Stack:
    return gs.Stack(method, PROBLEM, gs.ring(N), None, [0, 1])


def test_the_mixes_of_a_step():
    assert what_a_step_asks(stack_of(gs.DSGD(0.1)), 9).widths == [DIM]
    lrs = torch.tensor([[0.1], [0.2]], dtype=torch.float64)
    assert what_a_step_asks(stack_of(gs.GTNSGDm(lrs, 0.5)), 9).widths == [DIM, DIM]
    assert what_a_step_asks(stack_of(gs.PushSum(gs.DSGD(0.1))), 9).widths == [DIM, 1]


def test_looking_at_the_mixes_changes_nothing():
    stack, again = stack_of(gs.GTAdam(0.1)), stack_of(gs.GTAdam(0.1))
    what_a_step_asks(stack, 9)
    assert torch.equal(stack.x, again.x)
    assert all(torch.equal(a, b) for a, b in zip(stack.state, again.state, strict=True))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_runs_record_the_mean_over_the_nodes(dtype: torch.dtype):
    """Totals are kept in float64 and parameters at least in float32; both travel as parameters."""
    item = 8 if dtype == torch.float64 else 4
    run = gs.simulate(gs.GTDSGD(0.01), PROBLEM, gs.star(N), steps=10, dtype=dtype)
    assert run.metrics["bytes"].dtype == torch.float64
    per_step = 2 * (5 + 5) / N * DIM * item
    assert run.metrics["bytes"][:, 0].tolist() == [t * 2 * 10 * DIM * item / N for t in range(11)]
    assert run.final("bytes").item() == pytest.approx(10 * per_step)


@pytest.mark.parametrize(
    ("network", "per_mix"),
    [
        (gs.ring(N), 24),
        (gs.star(N), 24 * 10 / 12),  # ten links in place of twelve
        (gs.ring(N).every(5), 4),  # in 2 of 12 steps
        (gs.ring(N).accelerated(3), 72),
        (gs.ring(N).drops(LOSS), 24),  # a lost message was sent
        (gs.ring(N).compressed(TOP), 24),
        (gs.one_peer_exponential(8), 12),
    ],
)
def test_messages_are_counted_for_every_mix(network: gs.Network, per_mix: float):
    problem = gs.Quadratic(network.num_nodes, DIM)
    for method, mixes in ((gs.DSGD(0.01), 1), (gs.GTDSGD(0.01), 2)):
        run = gs.simulate(method, problem, network, steps=12, seeds=SEEDS, metrics=[])
        assert run.final("messages").tolist() == pytest.approx([mixes * per_mix] * 2, rel=1e-12)
        assert run.metrics["messages"][0].tolist() == [0, 0]


@pytest.mark.parametrize(
    "network",
    [gs.ring(N).drops(LOSS, both_ways=True), gs.random_matching(N), gs.ring(N).drops(0.9).every(2)],
)
def test_whole_messages_have_all_numbers(network: gs.Network):
    assert torch.equal(WHOLE * told(network, messages=True), told(network))


def test_gradients_that_a_step_asks_for_are_counted():
    class Twice(gs.DSGD):
        def step(self, t, x, grad, state, mix, local):
            return super().step(t, x, grad if t == 0 else local.grad(x), state, mix)

    for method, gradients in ((gs.DSGD(0.1), 1), (Twice(0.1), 2), (gs.PushSum(Twice(0.1)), 2)):
        run = gs.simulate(method, PROBLEM, gs.ring(N), steps=10, record_every=5)
        assert run.metrics["gradients"][:, 0].tolist() == [0, 5 * gradients, 10 * gradients]


@pytest.mark.parametrize("period", [2, 5, 100])
def test_a_method_that_mixes_now_and_then_is_told_that_it_is_counted_as_in_step_1(period: int):
    class Local(gs.DSGD):
        def step(self, t, x, grad, state, mix):
            moved = x - self.lr * grad
            return (mix.pull(moved) if (t + 1) % period == 0 else moved), state

    with pytest.warns(UserWarning, match=r"Local does not mix as .* network\.every\(k\)"):
        gs.simulate(Local(0.1), PROBLEM, gs.ring(N), steps=200, metrics=[])
    with warnings.catch_warnings(action="error"):
        gs.simulate(Local(0.1), PROBLEM, gs.ring(N), steps=2, metrics=[])


def test_the_weights_of_push_sum_are_counted():
    run = gs.simulate(gs.PushSum(gs.DSGD(0.1)), PROBLEM, gs.ring(N), steps=4)
    assert run.final("bytes").tolist() == [4 * 2 * (DIM + 1) * ITEM]


@pytest.mark.parametrize("network", EVERY_KIND, ids=lambda network: network.name)
def test_runs_of_a_sweep_count_by_their_seed(network: gs.Network, monkeypatch):
    monkeypatch.setattr(traffic, "ELEMENTS_AT_ONCE", 2000)  # several blocks
    problem, seeds = gs.Quadratic(network.num_nodes, DIM), [7, 1]
    grid = {"lr": [0.001, 0.002]}
    found = gs.sweep(gs.GTDSGD, grid, problem, network, steps=60, seeds=seeds, record_every=7)
    expected = 2 * told(network, 60, seeds)[found.steps].double().mean(1)
    for setting in range(2):
        assert torch.equal(found.metrics["bytes"][:, setting], expected)


def test_numbers_that_float32_cannot_hold():
    count = Traffic(gs.ring(4), [0], [2**20 + 1], torch.float32).totals_at([0, 99, 100])["bytes"]
    assert count[:, 0].tolist() == [0, 99 * 2 * 4 * (2**20 + 1), 100 * 2 * 4 * (2**20 + 1)]


def test_a_run_that_diverges_has_no_bytes_from_then_on():
    run = gs.simulate(gs.DSGD(1e200), PROBLEM, gs.ring(N), steps=20)
    assert run.diverged_at.item() > 0
    ended = run.steps >= run.diverged_at
    assert run.metrics["bytes"][ended].isinf().all()
    assert run.metrics["bytes"][~ended].isfinite().all()


def test_bytes_are_saved_and_loaded(tmp_path):
    run = gs.simulate(gs.DSGD(0.1), PROBLEM, gs.ring(N), steps=20)
    run.save(tmp_path / "run")
    assert torch.equal(gs.Run.load(tmp_path / "run").metrics["bytes"], run.metrics["bytes"])


def test_costs_are_no_judges():
    arguments = {"problem": PROBLEM, "network": gs.ring(N), "steps": 4}
    silent = gs.simulate(gs.DSGD(0.1), **arguments, metrics=[])
    assert list(silent.metrics) == ["gradients", "messages", "bytes"]
    assert "bytes" not in repr(silent)
    with pytest.raises(gs.InvalidInput, match="record some"):
        _ = silent.main_metric
    asked = gs.simulate(gs.DSGD(0.1), **arguments, metrics=["bytes", "loss"])
    assert list(asked.metrics) == ["loss", "gradients", "messages", "bytes"]
    assert asked.main_metric == "loss"
    with pytest.raises(gs.InvalidInput, match=r"judge_by: got 'bytes', need .* not what it costs"):
        gs.sweep(gs.DSGD, {"lr": [0.1]}, **arguments, judge_by="bytes", metrics=["bytes"])
    with pytest.raises(gs.InvalidInput, match=r"\['bytes'\]; record one, e.g. 'error'"):
        gs.sweep(gs.DSGD, {"lr": [0.1]}, **arguments, metrics=["bytes"])


def test_names_of_costs_are_taken():
    def bytes(stack: gs.Stack) -> Tensor:
        raise AssertionError

    with pytest.raises(gs.InvalidInput, match="a function called 'bytes', need a name other"):
        gs.simulate(gs.DSGD(0.1), PROBLEM, gs.ring(N), steps=4, metrics=[bytes])
