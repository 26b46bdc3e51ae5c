"""The speed-up in n: judged from power laws made up by hand, and a small study."""

from typing import Any

import pytest
from made_up import at_test_size

import gossamer as gs
from gossamer.studies.theory.rates import ORDERS, skewed_noise
from gossamer.studies.theory.speed_up import CASES, NODES, AveragedNoise, SpeedUp, noise_exponent

STUDY = SpeedUp()
LOUD = [name for name in CASES if name != "quiet"]
SPREAD = (0.97, 1.0, 1.04)


def levels(exponent: float, whole: float = 0.0) -> dict[str, Any]:
    """n^exponent in the second half, n^whole over the run; three seeds with a little spread."""
    level = [[n**exponent * c ** (n % 3) for c in SPREAD] for n in NODES]
    average = [[n**whole * c for c in SPREAD] for n in NODES]
    return {"horizons": [64], "averages": [average], "second_half": [level]}


def power_laws(loud: list[float], quiet: float = 0.0, alone: float = 1.0) -> dict[str, Any]:
    """Exponents of the four loud cases, of the quiet one, and of the noise over its theory."""
    noise = {
        f"{p}": [
            [n ** (alone * noise_exponent(skewed_noise(p, 1))) * c for c in SPREAD] for n in NODES
        ]
        for p in ORDERS
    }
    runs = {name: levels(exponent) for name, exponent in zip(LOUD, loud, strict=True)}
    return {"noise": noise, "quiet": levels(0.0, quiet), **runs}


PROMISED, HALF = -1 / 3, -1 / 6


@pytest.mark.parametrize(
    ("loud", "holds"),
    [
        ([PROMISED] * 4, "yes"),
        ([PROMISED, PROMISED, HALF, HALF], "partly"),
        ([PROMISED, HALF, HALF, HALF], "no"),
        ([HALF] * 4, "no"),  # a speed-up, but near the promised one in 0 of 4
        ([0.2] * 4, "no"),
    ],
)
def test_the_high_noise_regime_is_judged_by_the_promised_slope(loud: list[float], holds: str):
    _, high, _ = STUDY.verdicts(power_laws(loud))
    assert high.holds == holds
    assert ("there is a speed-up" in high.note) == (max(loud) < 0)


@pytest.mark.parametrize(("alone", "holds"), [(1.0, "yes"), (0.5, "no"), (0.86, "partly")])
def test_the_averaged_noise_flips_with_its_slopes(alone: float, holds: str):
    averaging, *_ = STUDY.verdicts(power_laws([PROMISED] * 4, alone=alone))
    assert averaging.holds == holds


@pytest.mark.parametrize(("quiet", "holds"), [(0.0, "yes"), (0.029, "yes"), (-0.031, "no")])
def test_quiet_noise_flips_with_its_slope(quiet: float, holds: str):
    *_, found = STUDY.verdicts(power_laws([PROMISED] * 4, quiet))
    assert found.holds == holds


def test_averaged_noise_is_that_of_the_first_nodes():
    result = AveragedNoise("few", {"2.0": gs.Gaussian()}, (2, 8), batches=40, seed=0).run("cpu")
    two, eight = (sum(row) / len(row) for row in result["2.0"])
    assert two == pytest.approx((1 / 3.14159265) ** 0.5, rel=0.02)  # E|N(0, ½)|
    assert eight == pytest.approx(two / 2, rel=0.02)


def test_small_study_end_to_end():
    results = at_test_size(STUDY)
    assert len(STUDY.tables(results)[0].rows) == len(ORDERS) + 4 * len(CASES)
    assert len(STUDY.figures(results)["speed-up"].axes) == 2
    assert len(STUDY.verdicts(results)) == 3
