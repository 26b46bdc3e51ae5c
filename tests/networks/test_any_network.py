"""What every network keeps, however bad it is, and what every stack of runs on it keeps."""

import dataclasses
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from algorithms.table import REPRESENTATIVE, Row
from networks.any_network import NETWORKS, NODES, digraph, in_flight
from torch import Tensor

import gossamer as gs
from gossamer.fit import fits
from gossamer.networks import Channel
from gossamer.simulation.checkpoint import Checkpoint
from gossamer.simulation.stored_runs import read_state, write_state

DIM, STEPS, SEEDS = 6, 12, [7, 2**80, -3]
HEAVY = gs.StudentT(df=1.5, scale=0.1)
PROBLEM = gs.Quadratic(NODES, DIM, condition=5.0, seed=3)

Maker = Callable[[], gs.Network]
every_network = pytest.mark.parametrize("made", NETWORKS.values(), ids=NETWORKS)
some_methods = pytest.mark.parametrize("row", REPRESENTATIVE, ids=str)
every_dtype = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)


def heavy(*shape: int, seed: int = 0) -> Tensor:
    return HEAVY.sample(shape, generator=torch.Generator().manual_seed(seed))


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def open_channel(network: gs.Network, dtype: torch.dtype = torch.float64) -> Channel:
    return network.channel(SEEDS, dtype, "cpu")


def skip_unless_fit(row: Row, network: gs.Network) -> None:
    """Some methods are refused on some networks."""
    if not fits(row.algorithm, network):
        pytest.skip("a network for other methods")


# ---------------------------------------------------------------- opinions and totals


@every_network
def test_equal_opinions_stay_equal(made: Maker):
    channel, memory = open_channel(made()), ()
    opinion = heavy(1, len(SEEDS), DIM).expand(NODES, -1, -1).contiguous()
    x = opinion
    for t in range(STEPS):
        talk = channel.talk(t, memory)
        x, memory = talk.pull(x), talk.memory
        close(x, opinion)


@every_dtype
@every_network
def test_a_total_is_kept_with_what_is_in_flight(made: Maker, dtype: torch.dtype):
    """Σ push(z) + in flight = Σ z + what was in flight before; totals are in float64."""
    network = made()
    channel, memory, y = open_channel(network, dtype), (), torch.zeros(NODES, len(SEEDS), DIM)
    for t, news in enumerate(heavy(STEPS, NODES, len(SEEDS), DIM)):
        z, before = y + news, in_flight(network, memory)
        talk = channel.talk(t, memory)
        y, memory = talk.push(z), talk.memory
        gap = y.sum(0) + in_flight(network, memory) - z.sum(0) - before
        assert y.dtype == torch.float64
        assert gap.abs().max() < 1e-12 * (1 + z.abs().sum(0).max())


@every_network
def test_a_step_that_mixes_less_forgets_nothing(made: Maker):
    channel, memory, z = open_channel(made()), (), heavy(NODES, len(SEEDS), DIM)
    for t in range(STEPS):
        talk = channel.talk(t, memory)
        talk.push(z)
        talk.pull(z)
        memory = talk.memory
    silent = channel.talk(STEPS, memory)
    assert [*map(id, silent.memory)] == [*map(id, memory)]
    silent.push(z)
    assert [*map(id, silent.memory[1:])] == [*map(id, memory[1:])]


@every_network
def test_mixing_changes_nothing_that_it_was_given(made: Maker):
    """Neither z nor what links remembered: a block of steps can be taken again."""
    channel, z = open_channel(made()), heavy(3, 2, NODES, len(SEEDS), DIM)
    memory: Any = ()
    for t, (x, y) in enumerate(z):
        talk = channel.talk(t, memory)
        talk.push(y), talk.pull(x)
        memory = talk.memory
    copies = [{name: held.clone() for name, held in site.items()} for site in memory]
    given = z.clone()
    taken = []
    for _ in range(2):
        talk = channel.talk(4, memory)
        taken.append((talk.push(z[0, 1]), talk.pull(z[0, 0])))
    assert torch.equal(z, given)
    assert all(map(torch.equal, *taken))
    for site, copy in zip(memory, copies, strict=True):
        assert all(torch.equal(site[name], copy[name]) for name in copy)


# ---------------------------------------------------------------- runs in a stack


def stack(
    algorithm: gs.Algorithm[Any],
    network: gs.Network,
    seeds: list[int],
    dtype: torch.dtype = torch.float64,
    begin: Checkpoint | None = None,
) -> gs.Stack:
    return gs.Stack(algorithm, PROBLEM, network, HEAVY, seeds, dtype, begin=begin)


def rates(algorithm: gs.Algorithm[Any], *factors: float) -> gs.Algorithm[Any]:
    """A method whose runs have their own step sizes."""
    lr = algorithm.lr * torch.tensor(factors, dtype=torch.float64)[:, None]
    return dataclasses.replace(algorithm, lr=lr)


def alone(
    algorithm: gs.Algorithm[Any], network: gs.Network, seed: int, steps: int = STEPS // 2
) -> gs.Stack:
    single = stack(algorithm, network, [seed])
    single.advance(steps)
    return single


@every_network
@some_methods
def test_a_run_in_a_stack_is_the_run_alone(row: Row, made: Maker):
    """Of several settings and seeds, before and after some of them left."""
    network, factors = made(), [1.0, 1.0, 0.3, 0.3]
    skip_unless_fit(row, network)
    together = stack(rates(row.algorithm, *factors), network, [7, 0, 7, 0])
    together.advance(STEPS // 2)
    middle = together.x
    together.keep(torch.tensor([False, True, True, True]))
    together.advance(STEPS // 2)
    for run, factor, seed in ((1, 1.0, 0), (2, 0.3, 7)):
        one = dataclasses.replace(row.algorithm, lr=row.algorithm.lr * factor)
        single = alone(one, network, seed)
        close(middle[:, run], single.x[:, 0])
        single.advance(STEPS // 2)
        close(together.x[:, run - 1], single.x[:, 0])


@every_network
def test_a_run_that_diverges_is_dated_and_disturbs_nobody(made: Maker):
    """Its last block of steps is taken again, from what the links remembered then."""
    network, method = made(), gs.GTDSGD(lr=0.05)
    factors = [1.0, 1e10, 1.0, 1e250]
    together = stack(rates(method, *factors), network, [7, 7, 0, 0])
    together.advance(50)
    assert together.runs.tolist() == [0, 2]
    singles = [
        alone(dataclasses.replace(method, lr=0.05 * factor), network, seed, 50)
        for factor, seed in zip(factors, [7, 7, 0, 0], strict=True)
    ]
    dates = [int(single.diverged_at[0]) for single in singles]
    assert together.diverged_at.tolist() == dates
    assert len(set(dates)) == 3
    for place, single in enumerate((singles[0], singles[2])):
        close(together.x[:, place], single.x[:, 0])


@every_network
def test_no_run_sees_another(made: Maker):
    """Whatever happens in one run, the others take the same steps to the bit."""
    z = heavy(STEPS, 2, NODES, 2 * len(SEEDS), DIM)
    spoiled = z.clone()
    spoiled[:, :, :, 1] = torch.nan
    seen = []
    for given in (z, spoiled):
        channel = made().channel(SEEDS * 2, torch.float64, "cpu")
        memory: Any = ()
        for t, (x, y) in enumerate(given):
            talk = channel.talk(t, memory)
            mixed, memory = torch.stack([talk.push(y), talk.pull(x)]), talk.memory
        seen.append(mixed[:, :, [0, 2, 3, 4, 5]])
    assert torch.equal(*seen)


@every_network
def test_what_is_lost_or_left_out_depends_on_the_seed_alone(made: Maker):
    """On networks that draw, runs with one seed mix alike and runs with two seeds do not."""
    channel = made().channel([7, 0, 7], torch.float64, "cpu")
    z = heavy(NODES, 1, DIM).expand(-1, 3, -1).contiguous()
    memory: Any = ()
    for t in range(STEPS):
        talk = channel.talk(t, memory)
        z, memory = talk.pull(z + heavy(NODES, 1, DIM, seed=t)), talk.memory
    close(z[:, 0], z[:, 2])
    draws = any(word in made().name for word in ("drops", "random", "RandK", "QSGD", "each_round"))
    assert draws == (not torch.allclose(z[:, 0], z[:, 1], rtol=1e-9, atol=1e-9))


@every_network
def test_the_draws_of_a_step_do_not_depend_on_those_before(made: Maker):
    """Step 50,000 asked for first, in order, and after a later one."""
    z, far = heavy(2, NODES, len(SEEDS), DIM), 50_000
    first, later, after = (open_channel(made()) for _ in range(3))
    for t in range(far - 70, far):
        later.talk(t, ()).push(z[1])
    after.talk(far + 1000, ()).push(z[1])
    seen = []
    for channel in (first, later, after):
        talk = channel.talk(far, ())
        seen.append(torch.stack([talk.push(z[1]), talk.pull(z[0])]))
    assert torch.equal(seen[0], seen[1])
    assert torch.equal(seen[0], seen[2])


@every_network
@pytest.mark.parametrize("method", [gs.GTNSGDm(0.05, 0.8), gs.GTAdam(0.05)], ids=lambda m: m.label)
def test_a_run_goes_on_from_what_was_saved_to_the_bit(
    made: Maker, method: gs.Algorithm[Any], tmp_path: Path
):
    whole, begun = (stack(method, made(), SEEDS) for _ in range(2))
    whole.advance(60)
    begun.advance(37)
    write_state(tmp_path / "state", begun.checkpoint())
    saved = read_state(tmp_path / "state", type(begun.state))
    resumed = stack(method, made(), SEEDS, begin=saved)
    resumed.advance(23)
    assert torch.equal(resumed.x, whole.x)
    assert all(map(torch.equal, resumed.state, whole.state))


# ---------------------------------------------------------------- what changes nothing

NOTHING: dict[str, Callable[[gs.Network], gs.Network]] = {
    "drops": lambda network: network.drops(0),
    "drops both ways": lambda network: network.drops(0, both_ways=True),
    "every": lambda network: network.every(1),
    "accelerated": lambda network: network.accelerated(1),
    "compressed": lambda network: network.compressed(gs.TopK(1.0), gamma=1.0),
}


@every_dtype
@pytest.mark.parametrize("plain", [gs.ring(NODES), digraph()], ids=["ring", "digraph"])
@pytest.mark.parametrize("nothing", NOTHING.values(), ids=NOTHING)
@some_methods
def test_no_loss_no_pause_and_whole_messages_are_the_plain_network(
    row: Row,
    nothing: Callable[[gs.Network], gs.Network],
    plain: gs.Network,
    dtype: torch.dtype,
):
    skip_unless_fit(row, plain)
    try:
        network = nothing(plain)
    except gs.InvalidInput:
        pytest.skip("a network for undirected links")
    runs = [stack(row.algorithm, one, SEEDS, dtype) for one in (plain, network)]
    for run in runs:
        run.advance(STEPS)
    assert torch.equal(runs[0].x, runs[1].x)
    assert all(map(torch.equal, runs[0].state, runs[1].state))


# ---------------------------------------------------------------- names and orders


@every_network
def test_a_description_and_a_name_build_the_same_network(made: Maker):
    network = made()
    described = json.loads(json.dumps(network.describe()))
    again = [gs.networks.from_description(described)]
    if "data" not in described:
        again.append(gs.networks.from_text(network.name))
    for one in again:
        assert one == network
        assert (one.name, repr(one)) == (network.name, repr(network))
        assert one.describe() == network.describe()


CALLS: dict[str, Callable[[gs.Network], gs.Network]] = {
    "drops": lambda network: network.drops(0.2, burst=3),
    "compressed": lambda network: network.compressed(gs.TopK(0.1), gamma=0.2),
    "every": lambda network: network.every(4),
    "accelerated": lambda network: network.accelerated(3),
}


@pytest.mark.parametrize(
    "names", [("drops", "compressed", "every"), ("accelerated", "every")], ids="+".join
)
def test_the_order_in_which_modifications_are_written_does_not_matter(names: tuple[str, ...]):
    networks = []
    for order in itertools.permutations(names):
        network = gs.ring(NODES)
        for name in order:
            network = CALLS[name](network)
        networks.append(network)
    assert all(network == networks[0] for network in networks)
    assert len({network.name for network in networks}) == 1
    assert len(set(map(hash, networks))) == 1


PEER = gs.one_peer_exponential(8)
IMPOSSIBLE: dict[str, tuple[Callable[[], gs.Network], str]] = {
    "compressed, links that change": (
        lambda: PEER.compressed(gs.TopK(0.1)),
        r"compressed: got one_peer_exponential\(8\), need the same links in every round",
    ),
    "compressed, random links": (
        lambda: gs.random_matching(8).compressed(gs.TopK(0.1)),
        "need the same links in every round",
    ),
    "compressed, lossy links that change": (
        lambda: PEER.compressed(gs.TopK(0.1)).drops(0.1),
        "need the same links in every round",
    ),
    "random links that fail": (
        lambda: gs.erdos_renyi_each_round(8, 0.3).drops(0.1),
        "drops: got erdos_renyi_each_round.*need a network whose links are not random already",
    ),
    "one-way links that fail both ways": (
        lambda: digraph().drops(0.1, both_ways=True),
        "both_ways: got digraph, need W = Wᵀ",
    ),
    "accelerated one-way links": (lambda: digraph().accelerated(2), "accelerated: got digraph"),
    "accelerated, balanced one-way links": (
        lambda: gs.exponential(8).accelerated(2),
        "need the same W = Wᵀ in every exchange",
    ),
    "accelerated, links that change": (lambda: PEER.accelerated(2), "need the same W = Wᵀ"),
    "accelerated, then lossy": (
        lambda: gs.ring(8).accelerated(2).drops(0.1),
        r"accelerated: got ring\(8\).drops\(0.1\), need .* without loss or compression",
    ),
    "accelerated and compressed": (
        lambda: gs.ring(8).accelerated(2).compressed(gs.TopK(0.1)),
        "without loss or compression",
    ),
    "lost twice": (
        lambda: gs.ring(8).drops(0.1).every(2).drops(0.2),
        r"network: got ring\(8\).drops\(0.1\), need at most one .drops",
    ),
    "paused twice": (lambda: gs.ring(8).every(2).every(3), "at most one .every"),
    "compressed twice": (
        lambda: gs.ring(8).compressed(gs.Sign()).compressed(gs.TopK(0.1)),
        "at most one .compressed",
    ),
    "a compressor that is a class": (
        lambda: gs.ring(8).compressed(gs.TopK),
        r"need a compressor with its parameters; e.g. TopK\(0.05\)",
    ),
    "all is lost": (lambda: gs.ring(8).drops(1.0), r"probability: got 1.0, need a number in"),
    "bursts too short": (
        lambda: gs.ring(8).drops(0.5, burst=1.5),
        r"burst: got 1.5, need a number in \[2, ∞\); .* 1/\(1 − probability\) rounds",
    ),
    "gamma too large": (lambda: gs.ring(8).compressed(gs.Sign(), gamma=1.5), "gamma: got 1.5"),
    "no steps": (lambda: gs.ring(8).every(0), "k: got 0"),
    "no exchanges": (lambda: gs.ring(8).accelerated(0), "k: got 0"),
}


@pytest.mark.parametrize(("made", "reason"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_cannot_be_combined_is_refused_with_the_reason(made: Maker, reason: str):
    with pytest.raises(gs.InvalidInput, match=reason):
        made()
