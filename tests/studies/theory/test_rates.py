"""The rates of both theorems: judged from power laws made up by hand, and a small study."""

from typing import Any

import pytest
from made_up import at_test_size, draw, verdict

from gossamer.studies.theory.rates import ORDERS, Rates, skewed_noise, two_camps
from gossamer.theory import admissible_p, rate

STUDY = Rates()
NAMES = [unit.name for unit in STUDY.units(STUDY.sizes["test"], 0)]
T = [64, 128, 256, 512]


def power_laws(
    exponent: float, control: float = 3.0, lead: dict[str, float] | None = None
) -> dict[str, Any]:
    """Averages T^(−exponent · rate) of three seeds, or −`control` · rate where there is no noise.

    Those of "p unknown" are `lead` times as large.
    """

    def averages(name: str, known: bool) -> list[list[float]]:
        p = float(name.removeprefix("p=").partition(",")[0])
        factor = 1.0 if known else (lead or {}).get(name, 1.0)
        power = (control if "almost none" in name else exponent) * rate(p, p_known=known)
        return [
            [factor * t**-power * c ** (k % 3) for c in (0.99, 1.0, 1.01)] for k, t in enumerate(T)
        ]

    return {
        name: {
            "horizons": T,
            "averages": {"p known": averages(name, True), "p unknown": averages(name, False)},
            "bounds": {"p known": [2.0] * len(T), "p unknown": [2.0] * len(T)},
        }
        for name in NAMES
    }


def test_the_problem_is_what_it_says():
    problem = two_camps(4, 3)
    assert problem.smoothness == 1
    assert float(problem.loss(problem.start[None])) - problem.minimum == pytest.approx(1.5)
    assert problem.grad(problem.start[None]).tolist() == [[-1, -1, -1]]


@pytest.mark.parametrize("p", ORDERS)
def test_the_noise_has_the_order(p: float):
    assert admissible_p(skewed_noise(p, 0.2)) == pytest.approx(p)


@pytest.mark.parametrize(
    ("exponent", "control", "holds"),
    [
        (1.0, 3.0, "yes"),
        (2.0, 3.0, "yes"),  # faster than the theorem promises
        (0.5, 3.0, "no"),
        (1.0, 1.0, "no"),  # the same without noise: says nothing of noise
    ],
)
def test_rates_flip_with_the_slopes(exponent: float, control: float, holds: str):
    verdicts = STUDY.verdicts(power_laws(exponent, control))
    theorems = [v for v in verdicts if v.statement.startswith("Theorem")]
    assert len(theorems) == 4
    assert {v.holds for v in theorems} == {holds}


def test_an_average_above_its_bound_is_judged_so():
    made = power_laws(1.0)
    assert verdict(STUDY.verdicts(made), "explicit bound").holds == "yes"
    made[NAMES[0]]["bounds"]["p known"][0] = 1e-3
    assert verdict(STUDY.verdicts(made), "explicit bound").holds == "no"


@pytest.mark.parametrize(
    ("faster", "holds"), [(6, "yes"), (3, "partly"), (2, "no"), (1, "no"), (0, "no")]
)
def test_knowing_p_is_judged_by_most_of_its_cases(faster: int, holds: str):
    """Contradicted in five of six, it does not hold in part."""
    heavy = [name for name in NAMES if "almost none" not in name and "p=2" not in name]
    assert len(heavy) == 6
    lead = {name: 9.0 if k < faster else 0.01 for k, name in enumerate(heavy)}
    found = verdict(STUDY.verdicts(power_laws(1.0, lead=lead)), "Knowing p")
    assert found.holds == holds


def test_small_study_end_to_end():
    results = at_test_size(STUDY)
    assert list(results) == NAMES
    assert verdict(STUDY.verdicts(results), "explicit bound").holds == "yes"
    (table,) = STUDY.tables(results)
    assert len(table.rows) == 2 * len(NAMES)
    draw(STUDY.figures(results)["rates"])
