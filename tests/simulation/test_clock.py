"""Seconds as a metric: the model of the clock, against one node at a time."""

import math
from typing import Any

import networkx as nx
import pytest
import torch
from torch import Tensor

import gossamer as gs
from gossamer.networks.chance import uniform
from gossamer.networks.drops import Drops
from gossamer.seeding import stream_seed
from gossamer.simulation.traffic import Traffic

N, DIM, ITEM = 6, 5, 8
LATENCY, BANDWIDTH, GRADIENT = 0.001, 1e4, 0.02
CLOCK = gs.Clock(LATENCY, BANDWIDTH, GRADIENT)
LATE = gs.Clock(LATENCY, BANDWIDTH, GRADIENT, stragglers=2.0, slow={2: 3.0})
WHOLE = DIM * ITEM
DIGRAPH = gs.from_digraph(nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3)]))


def seconds(clock: gs.Clock, network: gs.Network, steps: int, *, mixes: int = 1) -> Tensor:
    """After 0, …, steps steps, of the seeds 4 and 9."""
    traffic = Traffic(network, [4, 9], [DIM] * mixes, torch.float64)
    return clock.seconds_at(traffic, range(steps + 1))


def direct(clock: gs.Clock, network: gs.Network, steps: int, mixes: int, arrives: Any) -> Tensor:
    """The docstring's two lines, one node after the other, with seed 4."""
    ready, last = [0.0] * N, [0.0]
    for t in range(steps):
        for i in range(N):
            coin = float(uniform(stream_seed("stragglers", 4), t, i))
            late = 1 - clock.stragglers * math.log(1 - coin)
            ready[i] += clock.gradient * (clock.slow or {}).get(i, 1.0) * late
        for _ in range(mixes):
            sent = [
                ready[j] + clock.latency + len(network.at(t).out_neighbors(j)) * WHOLE / BANDWIDTH
                for j in range(N)
            ]
            heard = [
                [sent[j] for j in network.at(t).in_neighbors(i) if arrives(t, j, i)]
                for i in range(N)
            ]
            ready = [max([sent[i], *heard[i]]) for i in range(N)]
        last.append(max(ready))
    return torch.tensor(last, dtype=torch.float64)


@pytest.mark.parametrize("mixes", [1, 2])
@pytest.mark.parametrize(
    "network",
    [gs.ring(N), gs.star(N), DIGRAPH, gs.time_varying([gs.ring(N), gs.star(N)])],
    ids=lambda network: network.name[:12],
)
def test_neighbours_wait_for_the_last_message(network: gs.Network, mixes: int):
    expected = direct(LATE, network, 30, mixes, lambda t, j, i: True)
    torch.testing.assert_close(
        seconds(LATE, network, 30, mixes=mixes)[:, 0], expected, rtol=1e-12, atol=0
    )


def test_lost_messages_are_sent_but_not_waited_for():
    network = gs.ring(N).drops(0.5)
    assert isinstance(network, Drops)
    coins, numbers = network.losses([4]), network.edges.number.tolist()
    expected = direct(
        LATE, network, 30, 1, lambda t, j, i: bool(coins.arrive(t)[0, numbers.index(i * N + j)])
    )
    found = seconds(LATE, network, 30)[:, 0]
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    assert found[-1] < seconds(LATE, gs.ring(N), 30)[-1, 0]


def test_alike_nodes_take_gradient_latency_and_bytes():
    exchange = LATENCY + 2 * WHOLE / BANDWIDTH
    steps = torch.arange(11, dtype=torch.float64)[:, None].expand(-1, 2)

    def assert_step(network: gs.Network, expected: float, mixes: int = 1) -> None:
        found = seconds(CLOCK, network, 10, mixes=mixes)
        torch.testing.assert_close(found, steps * expected, rtol=1e-12, atol=0)

    assert_step(gs.ring(N), GRADIENT + exchange)
    assert_step(gs.ring(N), GRADIENT + 2 * exchange, mixes=2)
    assert_step(gs.ring(N).accelerated(3), GRADIENT + 3 * exchange)
    assert_step(gs.random_matching(N), GRADIENT + LATENCY + WHOLE / BANDWIDTH)


def test_silent_steps_take_their_gradients_only():
    found = seconds(CLOCK, gs.ring(N).every(4), 8)[:, 0]
    exchange = LATENCY + 2 * WHOLE / BANDWIDTH
    expected = [t * GRADIENT + t // 4 * exchange for t in range(9)]
    torch.testing.assert_close(
        found, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=0
    )


def test_short_messages_take_less():
    compressed = gs.ring(N).compressed(gs.TopK(0.2))
    short = LATENCY + 2 * (ITEM + 1) / BANDWIDTH
    found = seconds(CLOCK, compressed, 5)[:, 0].diff()[1:]
    torch.testing.assert_close(found, torch.full_like(found, GRADIENT + short), rtol=1e-12, atol=0)


def test_a_slow_node_slows_its_neighbours_down_one_exchange_after_the_other():
    """On a line, the far end learns of it after as many exchanges as there are links between."""
    clock = gs.Clock(latency=0.0, bandwidth=1e300, gradient=1.0, slow={0: 2.0})
    line = Traffic(gs.line(N), [0], [DIM], torch.float64)
    assert clock.seconds_at(line, range(9))[:, 0].tolist() == [2.0 * t for t in range(9)]
    lonely = Traffic(gs.line(N).every(100), [0], [DIM], torch.float64)
    assert clock.seconds_at(lonely, [0, 99, 100, 101])[:, 0].tolist() == [0, 198, 200, 202]


def test_the_mean_of_random_slow_downs():
    """One node waits for nobody: T steps take T(1 + s ε̄), with ε̄ of standard error 1/√T."""
    steps = 2000
    clock = gs.Clock(latency=1.0, bandwidth=1.0, gradient=1.0, stragglers=0.5)
    traffic = Traffic(gs.complete(1), [0, 1, 2], [DIM], torch.float64)
    mean = clock.seconds_at(traffic, [0, steps])[1] / steps
    assert ((mean - 1.5).abs() < 4 * 0.5 / math.sqrt(steps)).all()
    assert len(set(mean.tolist())) == 3


def test_waiting_for_all_costs_more_than_waiting_for_few():
    by_network = [seconds(LATE, net, 50)[-1, 0] for net in (gs.ring(N), gs.complete(N))]
    assert by_network[0] < by_network[1]


# ---------------------------------------------------------------------- of whole runs

PROBLEM = gs.Quadratic(N, DIM)


def test_runs_record_the_seconds_of_their_seed():
    arguments: dict[str, Any] = {"steps": 12, "seeds": [9, 4], "record_every": 5, "clock": LATE}
    run = gs.simulate(gs.GTDSGD(0.01), PROBLEM, gs.ring(N), **arguments)
    expected = seconds(LATE, gs.ring(N), 12, mixes=2)[[0, 5, 10, 12]].flip(1)
    assert torch.equal(run.metrics["seconds"], expected)
    assert list(run.metrics)[-2:] == ["bytes", "seconds"]
    grid = {"lr": [0.1, 0.2]}
    found = gs.sweep(gs.GTDSGD, grid, PROBLEM, gs.ring(N), **arguments)
    assert all(torch.equal(found.metrics["seconds"][:, k], expected) for k in range(2))


def test_a_second_gradient_takes_its_time():
    clock = gs.Clock(latency=0.0, bandwidth=1e300, gradient=GRADIENT)
    for method in (gs.GTNSGDm(0.01, 0.9), gs.GTNSTORM(0.01, 0.9)):
        run = gs.simulate(method, PROBLEM, gs.ring(N), steps=10, record_every=1, clock=clock)
        expected = GRADIENT * run.metrics["gradients"]
        torch.testing.assert_close(run.metrics["seconds"], expected, rtol=1e-12, atol=0)


def test_without_a_clock_there_are_no_seconds():
    run = gs.simulate(gs.DSGD(0.1), PROBLEM, gs.ring(N), steps=3)
    assert "seconds" not in run.metrics
    assert run.config["clock"] is None
    with pytest.raises(gs.InvalidInput, match=r"'seconds' without a clock, need .*gs\.Clock\("):
        gs.simulate(gs.DSGD(0.1), PROBLEM, gs.ring(N), steps=3, metrics=["seconds"])


def test_a_run_tells_its_clock(tmp_path):
    run = gs.simulate(gs.DSGD(0.1), PROBLEM, gs.ring(N), steps=3, clock=LATE)
    run.save(tmp_path / "run")
    again = gs.Run.load(tmp_path / "run")
    assert gs.Clock(**again.config["clock"]) == LATE
    assert torch.equal(again.metrics["seconds"], run.metrics["seconds"])


def test_tune_and_compare_know_the_clock():
    arguments: dict[str, Any] = {"steps": 8, "seeds": [0], "clock": CLOCK}
    found = gs.tune(gs.DSGD, PROBLEM, gs.ring(N), grid={"lr": [0.1]}, **arguments)
    both = gs.compare([gs.DSGD(0.1)], PROBLEM, gs.ring(N), **arguments)
    assert torch.equal(found.run.metrics["seconds"], both.entries[0].run.metrics["seconds"])
    assert list(found.search.metrics) == ["error", *gs.simulation.COSTS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"latency": -1}, "latency: got -1, need a number in [0, ∞)"),
        ({"latency": "1ms"}, "latency: got '1ms', need a number in [0, ∞)"),
        ({"bandwidth": "1e9"}, "bandwidth: got '1e9', need a number in (0, ∞); 1e9 are"),
        ({"slow": {3: "x"}}, "slow: got 'x', need a number in (0, ∞); e.g. slow={3: 10}"),
        ({"gradient": math.inf}, "gradient: got inf"),
        ({"stragglers": math.nan}, "stragglers: got nan"),
        ({"bandwidth": 0}, "bandwidth: got 0, need a number in (0, ∞)"),
        ({"slow": {3: 0}}, "slow: got 0, need a number in (0, ∞)"),
    ],
)
def test_impossible_clocks_are_refused(arguments: dict[str, Any], message: str):
    with pytest.raises(gs.InvalidInput) as refusal:
        gs.Clock(**{"latency": 0, "bandwidth": 1, "gradient": 0, **arguments})
    assert message in str(refusal.value)


def test_what_is_no_clock_is_refused():
    with pytest.raises(gs.InvalidInput, match=r"clock: got 0\.1, need an instance"):
        gs.simulate(gs.DSGD(0.1), PROBLEM, gs.ring(N), steps=3, clock=0.1)  # type: ignore[arg-type]
    slow = gs.Clock(0, 1, 1, slow={N: 2})
    with pytest.raises(gs.InvalidInput, match=r"slow: got \[6\], need nodes among 0, …, 5"):
        gs.simulate(gs.DSGD(0.1), PROBLEM, gs.ring(N), steps=3, clock=slow)
