import itertools

import pytest
import torch

from gossamer.networks.chance import Coins, hashed, uniform
from gossamer.seeding import stream_seed

N = 2**16


def reference(*keys: int) -> int:
    """The hash in Python's integers, as an unsigned number."""
    state = 0
    for key in keys:
        bits = (state + (key + 1) * 0x9E3779B97F4A7C15) % 2**64
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % 2**64
        state = bits ^ (bits >> 31)
    return state


def test_numbers_of_one_key_are_those_published_for_splitmix64():
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [int(bits) % 2**64 for bits in hashed(torch.arange(3))] == published


@pytest.mark.parametrize("keys", [(7,), (-1, 5), (2**31 + 3, -(2**40), 0), (2**63 - 1, 2**63 - 1)])
def test_hash_is_that_of_unsigned_arithmetic(keys):
    as_tensors = [torch.tensor(key) for key in keys]
    assert int(hashed(*keys)) % 2**64 == int(hashed(*as_tensors)) % 2**64 == reference(*keys)


def test_number_is_the_top_bits_of_the_hash():
    assert float(uniform(3, 1, 4)) == (reference(3, 1, 4) >> 11) / 2**53
    single = uniform(3, 1, 4, dtype=torch.float32)
    assert single.dtype == torch.float32
    assert float(single) == (reference(3, 1, 4) >> 40) / 2**24


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_lie_in_the_half_open_interval(dtype):
    numbers = uniform(0, torch.arange(N), dtype=dtype)
    assert numbers.min() >= 0
    assert numbers.max() < 1


def test_broadcast_keys_are_taken_element_by_element():
    seeds, nodes = torch.tensor([4, -2, 2**40]), torch.arange(5)
    together = uniform(seeds, 11, nodes[:, None])
    for (i, node), (j, seed) in itertools.product(enumerate(nodes), enumerate(seeds)):
        assert together[i, j] == uniform(int(seed), 11, int(node))


def keys_that_vary(place: int) -> list[torch.Tensor]:
    return [torch.arange(N) if place == i else torch.tensor(5) for i in range(4)]


@pytest.mark.parametrize("place", range(4))
def test_numbers_of_neighbouring_keys_are_uniform(place):
    """χ² of 256 bins has mean 255 and standard deviation √(2·255); so have its lowest bits."""
    numbers = uniform(*keys_that_vary(place))
    for part in (numbers, (numbers * 2**40).frac()):
        counts = torch.bincount((part * 256).long(), minlength=256).double()
        statistic = ((counts - N / 256) ** 2 / (N / 256)).sum()
        assert abs(statistic - 255) < 5 * (2 * 255) ** 0.5


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("lag", [1, 2, 64])
def test_numbers_of_neighbouring_keys_are_uncorrelated(place, lag):
    """The correlation of N independent pairs has a standard deviation of 1/√N."""
    numbers = uniform(*keys_that_vary(place)) - 0.5
    correlation = 12 * (numbers[lag:] * numbers[:-lag]).mean()
    assert abs(correlation) < 5 / N**0.5


def test_order_of_keys_matters():
    assert uniform(1, 2) != uniform(2, 1)


SEEDS = [5, -6, 5, 2**40, 5]
NODES = torch.tensor([0, 3, 4])


def test_coins_of_a_stack_are_those_of_each_node_and_run_alone():
    stack = Coins.of(SEEDS, NODES).at(17, 1)
    dealt = stack.deal(stack.uniform(6))
    assert dealt.shape == (3, 5, 6)
    for (i, node), (r, seed) in itertools.product(enumerate(NODES), enumerate(SEEDS)):
        alone = Coins.of(seed, int(node)).at(17, 1)
        assert torch.equal(dealt[i, r], alone.deal(alone.uniform(6)))


def test_coins_are_drawn_once_for_each_distinct_seed():
    assert Coins.of(SEEDS, NODES).uniform(6).shape == (3, 3, 6)


def test_coins_are_the_function_of_all_keys():
    expected = uniform(stream_seed("drops", 5), 4, 17 * 2**16 + 1, torch.arange(6))
    assert torch.equal(Coins.of(5, 4, "drops").at(17, 1).uniform(6), expected)


def test_coins_drawn_ahead_are_those_of_their_step():
    """In order, back and forth, and of a node that draws alone."""
    stack = Coins.of(SEEDS, NODES)
    for t in (0, 1, 31, 32, 5, 10**6, 33):
        for site in (0, 1):
            drawn = stack.at(t, site).uniform(3)
            assert torch.equal(drawn, Coins.of(SEEDS, NODES).at(t, site).uniform(3))
            assert torch.equal(
                drawn[2, 1], Coins.of(SEEDS[1], int(NODES[2])).at(t, site).uniform(3)
            )


def test_every_integer_is_a_seed_of_its_own():
    seeds = [0, 2**64, 2**80, -1, 2**64 - 1]
    assert len(Coins.of(seeds, NODES).uniform(1)[0].unique()) == len(seeds)


def test_fewer_coins_are_the_first_of_more():
    coins = Coins.of(SEEDS, NODES).at(0, 0)
    assert torch.equal(coins.uniform(2), coins.uniform(9)[..., :2])


def test_coins_of_all_nodes_in_one_run_have_no_axis_of_runs():
    one_run = Coins.of(5, NODES).at(2, 0).uniform(6)
    assert torch.equal(one_run[:, None], Coins.of([5], NODES).at(2, 0).uniform(6))
