"""Numbers in intervals: who is inside, and every argument that is a number refuses the rest."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

import gossamer as gs
from gossamer.interval import FRACTION, NONNEGATIVE, POSITIVE, SHARE, Interval, within


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.float64(0.5), Fraction(1, 2)])
def test_numbers_of_any_kind_become_floats(value: Any):
    number = within("share", value, SHARE)
    assert number == 0.5
    assert type(number) is float
    assert type(within("scale", np.int64(3), POSITIVE)) is float


@pytest.mark.parametrize(
    ("interval", "inside", "outside", "words"),
    [
        (Interval(0, 1), [1e-300, 0.5], [0, 1, math.nan], "a number in (0, 1)"),
        (SHARE, [0.5, 1], [0, 1.5, math.inf], "a number in (0, 1]"),
        (FRACTION, [0, 0.5], [-0.5, 1], "a number in [0, 1)"),
        (NONNEGATIVE, [0, 1e300], [-1e-300, math.inf, 10**400], "a number in [0, ∞)"),
        (Interval(1, math.inf, closed_high=True), [2, math.inf], [1, math.nan], "in (1, ∞]"),
    ],
)
def test_ends_belong_to_an_interval_only_if_closed(interval, inside, outside, words: str):
    assert all(number in interval for number in inside)
    assert not any(number in interval for number in outside)
    assert words in str(interval)


def test_a_tensor_is_inside_if_all_its_entries_are():
    assert torch.tensor([0.1, 0.9]) in FRACTION
    assert torch.tensor([0.1, 1.0]) not in FRACTION


ARGUMENTS: dict[str, Callable[[Any], object]] = {
    "latency": lambda value: gs.Clock(value, 1e9, 0.1),
    "bandwidth": lambda value: gs.Clock(0.001, value, 0.1),
    "slow": lambda value: gs.Clock(0.001, 1e9, 0.1, slow={3: value}),
    "weight": gs.L2Penalty,
    "probability": lambda value: gs.erdos_renyi(20, value),
    "probability of Drops": lambda value: gs.ring(20).drops(value),
    "burst": lambda value: gs.ring(20).drops(0.1, burst=value),
    "share": gs.TopK,
    "gamma": lambda value: gs.ring(20).compressed(gs.Sign(), gamma=value),
    "eps": gs.ring(20).mixing_time,
    "condition": lambda value: gs.Quadratic(8, 3, condition=value),
    "spread": lambda value: gs.Quadratic(8, 3, spread=value),
    "p": gs.theory.rate,
    "p of a noise": gs.Gaussian().moment,
    "steps": lambda value: gs.theory.parameters(
        value, num_nodes=8, lam=0.5, smoothness=1.0, gap=1.0
    ),
    "gap": lambda value: gs.theory.parameters(100, num_nodes=8, lam=0.5, smoothness=1.0, gap=value),
    "scale": lambda value: gs.StudentT(1.5, scale=value),
    "factor": gs.Gaussian().growing,
    "per_node": lambda value: gs.Gaussian().scaled(per_node=[value]),
    "alpha": gs.data.dirichlet,
    "shares": lambda value: gs.data.sizes([1, value]),
    "validation_share": lambda value: gs.data.zipf_corpus(1000, validation_share=value),
    "seconds": lambda value: gs.Store("store", seconds=value),
    "lr": gs.DSGD,
}
"""Name → a call with the value as that argument; after " of " stands whose it is."""

NO_NUMBERS = ["a", "0.3", True, [0.3], 0.3j, math.nan]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_what_is_no_number_is_refused_by_name(name: str, value: object):
    with pytest.raises(gs.InvalidInput, match=rf"^{name.split(' of ')[0]}: got .*, need a number "):
        ARGUMENTS[name](value)


@pytest.mark.parametrize(
    "schedule", ["halve", 0.5, [0.5], [("1/4", 0.5)], [(0.25, "0.5")], [(True, 0.5)], [(0.25,)]]
)
def test_what_is_no_schedule_of_shares_is_refused(schedule: Any):
    with pytest.raises(gs.InvalidInput, match=r"schedule: got .*, need pairs of shares in"):
        gs.Halving(schedule)
