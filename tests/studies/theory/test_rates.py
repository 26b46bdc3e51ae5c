import pytest

from gossamer.experiments import Options
from gossamer.experiments.experiment import Results
from gossamer.studies.theory import rates
from gossamer.studies.theory.rates import ORDERS, RULES, SCALES, Rates, skewed_noise, two_camps
from gossamer.theory import admissible_p, rate


def power_laws(exponent: float) -> Results:
    """Averages T^(−exponent · rate) of three seeds, under a bound of 2."""
    T = [64, 128, 256, 512]
    return {
        f"p={p}, {loudness}": {
            "horizons": T,
            "averages": {
                rule: [
                    [t ** (-exponent * rate(p, p_known=known)) * c for c in (0.9, 1.0, 1.1)]
                    for t in T
                ]
                for rule, known in RULES.items()
            },
            "bounds": {rule: [2.0] * len(T) for rule in RULES},
        }
        for loudness in SCALES
        for p in ORDERS
    }


def test_the_problem_is_what_it_says():
    problem = two_camps(4, 3)
    assert problem.smoothness == 1
    assert problem.minimum is not None
    assert float(problem.loss(problem.start[None])) - problem.minimum == pytest.approx(1.5)
    assert problem.grad(problem.start[None]).tolist() == [[-1, -1, -1]]


@pytest.mark.parametrize("p", ORDERS)
def test_the_noise_has_the_order(p: float):
    assert admissible_p(skewed_noise(p, 0.2)) == pytest.approx(p)


def test_exact_rates_are_judged_to_hold():
    verdicts = Rates().verdicts(power_laws(1.0))
    assert [v.holds for v in verdicts[:5]] == ["yes"] * 5


def test_half_the_rates_are_judged_not_to_hold():
    known, _, unknown, *_ = Rates().verdicts(power_laws(0.5))
    assert known.holds == "no"
    assert unknown.holds == "no"


def test_small_study_end_to_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rates, "horizons", lambda options: [64, 128, 256])
    monkeypatch.setattr(rates, "seeds", lambda options: [0, 1])
    study, options = Rates(), Options()
    results = {unit.name: unit.compute() for unit in study.units(options)}
    bound = next(v for v in study.verdicts(results) if "explicit bound" in v.statement)
    assert bound.holds == "yes"
    (table,) = study.tables(results)
    assert len(table.rows) == len(SCALES) * len(ORDERS) * len(RULES)
    assert len(study.figures(results)["rates"].axes) == 4
