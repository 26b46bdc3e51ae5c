"""The momentum chosen from samples: judged from results made up by hand, and a small study."""

from typing import Any

import pytest
from made_up import at_test_size, verdict

import gossamer as gs
from gossamer.studies.synthetic.task import NOISES
from gossamer.studies.theory.auto_momentum import AutoMomentum, Momenta
from gossamer.theory import momentum_rule

STUDY = AutoMomentum()
GRID, UNKNOWN = "as good as the best β of a grid", "Knowing p helps"


def of_one_noise(grid: float, unknown: float, data: float) -> dict[str, Any]:
    """Three seeds around the given medians; the second β of a grid of two is its best."""
    medians = (9.0, grid, unknown, data)
    return {
        "p": 1.4,
        "momenta": [0.1, 0.9, 0.98, 0.99],
        "lr": [0.1, 0.01, 0.01, 0.01],
        "tuning": list(medians),
        "errors": [[m * s for s in (0.9, 1.0, 1.1)] for m in medians],
    }


def judged(words: str, *medians: tuple[float, float, float]):
    made = {noise: of_one_noise(*m) for noise, m in zip(NOISES, medians, strict=True)}
    return verdict(STUDY.verdicts(made), words)


GOOD, BAD = (1.0, 1.5, 1.1), (1.0, 1.2, 3.7)


@pytest.mark.parametrize("words", [GRID, UNKNOWN])
@pytest.mark.parametrize(
    ("medians", "holds"),
    [
        ((GOOD, GOOD, GOOD), "yes"),
        ((GOOD, GOOD, BAD), "partly"),
        ((GOOD, BAD, BAD), "no"),  # worse in two of three
        ((BAD, BAD, BAD), "no"),
    ],
)
def test_verdicts_flip_with_the_numbers(words: str, medians, holds: str):
    found = judged(words, *medians)
    assert (found.holds, found.source) == (holds, "ours")
    assert (found.holds_for == "Gaussian noise; Student-t noise") == (holds == "partly")


@pytest.mark.parametrize(("data", "holds"), [(1.249, "yes"), (1.251, "no")])
def test_a_quarter_above_the_grid_is_allowed(data: float, holds: str):
    assert judged(GRID, *[(1.0, 2.0, data)] * 3).holds == holds


@pytest.mark.parametrize(("data", "holds"), [(1.049, "yes"), (1.051, "no")])
def test_a_twentieth_above_the_rule_without_p_is_allowed(data: float, holds: str):
    assert judged(UNKNOWN, *[(2.0, 1.0, data)] * 3).holds == holds


def test_a_unit_tunes_the_step_size_of_every_momentum():
    unit = Momenta(
        "small",
        noise=gs.Gaussian(0.1),
        network=gs.ring(4),
        samples=200,
        steps=64,
        momenta=(0.5,),
        step_sizes=(1e-4, 0.05),
        data_seed=0,
        tuning_seeds=(500,),
        fresh_seeds=(0, 1),
    )
    result = unit.run("cpu")
    assert result["momenta"][:2] == [0.5, momentum_rule(64)]
    assert result["lr"] == [0.05] * 3
    problem = gs.RobustRegression(4, seed=0)
    method = gs.GTNSGDm(0.05, 0.5)
    run = gs.simulate(method, problem, gs.ring(4), noise=unit.noise, steps=64, seeds=(0, 1))
    assert result["errors"][0] == run.final("error").tolist()


def test_small_study_end_to_end():
    results = at_test_size(STUDY)
    for result in results.values():
        assert 1 < result["p"] <= 2
        rules = [momentum_rule(60), momentum_rule(60, result["p"])]
        assert result["momenta"][-2:] == pytest.approx(rules)
    assert len(STUDY.tables(results)[0].rows) == 9
    assert len(STUDY.figures(results)["auto-momentum"].axes) == 3
