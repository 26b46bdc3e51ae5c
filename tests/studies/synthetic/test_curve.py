"""GT-NSGDm with one (α, β, T) on every network, noise and number of nodes."""

import pytest

import gossamer as gs
from gossamer.studies.synthetic.curve import METHOD, SIZES, STABLE, Curve, Size


def test_the_curve_is_that_of_a_plain_simulation():
    method, network = gs.GTNSGDm(lr=0.02, momentum=0.7), gs.complete(5)
    result = Curve("five", network, STABLE, 40, data_seed=3, seeds=(7, 9), method=method).run("cpu")
    problem = gs.RobustRegression(5, seed=3)
    run = gs.simulate(method, problem, network, noise=STABLE, steps=40, seeds=(7, 9))
    assert result["error"] == run.metrics["error"].tolist()
    assert result["steps"] == run.steps.tolist()


def test_one_method_for_every_curve():
    assert Curve("default", gs.ring(3), STABLE, 1, 0, (0,)).method == METHOD


@pytest.mark.parametrize("shift", [0, 2])
def test_seeds_come_by_fives(shift: int):
    """A larger study reports the seeds of a smaller one, and others beside them."""
    five, twenty = SIZES["quick"].reported(shift), SIZES["full"].reported(shift)
    assert (len(five), len(twenty), len(set(twenty))) == (5, 20, 20)
    assert twenty[:5] == five
    assert Size(seeds=2).reported(shift) == five[:2]
