"""What lies beyond the edge of a search: the pattern goes on, inside the admissible interval."""

import math

import pytest

import gossamer as gs
from gossamer.algorithms import Interval
from gossamer.simulation.edges import Edge, settings_beyond, values_beyond
from gossamer.simulation.search_sets import MOMENTA, STEP_SIZES

POSITIVE, FRACTION = Interval(0, math.inf), Interval(0, 1, closed_low=True)
REAL, BELOW = Interval(-math.inf, math.inf), Interval(-math.inf, 2)


@pytest.mark.parametrize(
    ("tried", "edge", "admissible", "beyond"),
    [
        (STEP_SIZES, "highest", POSITIVE, [50, 100]),
        (STEP_SIZES, "lowest", POSITIVE, [5e-6, 1e-6]),
        (MOMENTA, "highest", FRACTION, [0.999]),
        (MOMENTA, "lowest", FRACTION, [0.001, 0]),
        ([0.9, 0.95, 0.99, 0.995], "highest", FRACTION, [0.999, 0.9995]),
        ([1, 2, 5, 10, 20, 50], "highest", POSITIVE, [100, 200, 500]),
        ([1, 2, 5, 10, 20, 50], "lowest", POSITIVE, [0.5, 0.2, 0.1]),
        ([0.001, 0.01, 0.1], "lowest", POSITIVE, [0.0001]),
        ([1, 10, 30], "highest", POSITIVE, [90]),  # no pattern: the last factor again
        ([0, 0.1], "highest", POSITIVE, [1]),
        ([-0.4, 0.4], "lowest", REAL, [-1.2]),
        ([-8, 0, 1], "lowest", BELOW, [-48]),  # distances 1, 2 and 10 from 2
        ([-8, 0, 1], "highest", BELOW, [1.5]),
    ],
)
def test_the_pattern_goes_on(tried: list[float], edge: Edge, admissible: Interval, beyond):
    found = values_beyond(set(tried), edge, admissible)
    assert found == pytest.approx(beyond, rel=1e-12)
    assert all(value in admissible for value in found)


def test_momentum_never_reaches_one():
    tried = set(MOMENTA)
    for nines in range(3, 7):
        (further,) = values_beyond(tried, "highest", FRACTION)
        assert further == pytest.approx(1 - 10**-nines, rel=1e-12)
        tried.add(further)


def test_two_edges_are_extended_with_their_corner_and_nothing_twice():
    settings = [{"lr": lr, "momentum": b} for lr in (0.01, 0.1) for b in (0.5, 0.9)]
    further, added = settings_beyond(settings, gs.GTNSGDm(lr=0.1, momentum=0.9))
    assert added == {"lr": [1.0], "momentum": [0.98]}
    whole = {(lr, b) for lr in (0.01, 0.1, 1.0) for b in (0.5, 0.9, 0.98)}
    pairs = [(setting["lr"], setting["momentum"]) for setting in [*settings, *further]]
    assert (len(pairs), set(pairs)) == (9, whole)


def test_settings_without_a_grid_are_moved_from_the_edge():
    settings = [{"lr": 0.1, "momentum": 0.5}, {"lr": 1.0, "momentum": 0.9}]
    further, added = settings_beyond(settings, gs.GTNSGDm(lr=0.1, momentum=0.5))
    assert added == {"lr": [0.01], "momentum": [pytest.approx(0.5 / 0.9 * 0.5, rel=1e-5), 0]}
    assert [setting["lr"] for setting in further] == [0.01, *[0.1, 0.01] * 2]
