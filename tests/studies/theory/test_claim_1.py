"""Claim 1 at full size: vanilla normalization never moves, GT-NSGDm arrives."""

import copy
import math

import pytest
from made_up import verdict

from gossamer.experiments import Options, Store, run_experiment
from gossamer.studies.theory.claim_1 import BARRIERS, LR, STEP_SIZES, Claim1, claim_problem

STUDY = Claim1()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory):
    store = Store.open(tmp_path_factory.mktemp("claim-1"), Options())
    run_experiment(STUDY, Options(), store)
    found = store.results(STUDY, Options())
    assert found is not None
    return found


@pytest.mark.parametrize("barrier", BARRIERS)
def test_the_gap_exceeds_the_barrier(barrier: int):
    problem = claim_problem(barrier)
    assert problem.optimum is not None
    gap = float((problem.optimum - problem.start).abs())
    assert gap == pytest.approx(barrier + 0.25, abs=1e-12)


def test_normalization_never_moves_and_gt_nsgdm_arrives(results):
    for barrier in BARRIERS:
        result = results[f"B={barrier}"]
        assert list(result["stuck"]) == [f"{lr:g}" for lr in STEP_SIZES]
        assert {s["moved"] for s in result["stuck"].values()} == {0.0}
        assert all(s["error"] > barrier for s in result["stuck"].values())
        assert result["gt_nsgdm"][0][0] == pytest.approx(barrier + 0.25)
        assert result["gt_nsgdm"][-1][0] <= 3 * LR
    assert [v.holds for v in STUDY.verdicts(results)] == ["yes", "yes"]


def test_the_verdicts_flip_with_the_numbers(results):
    moved = copy.deepcopy(results)
    moved["B=5"]["stuck"]["0.1"] = {"moved": 5.0, "error": 0.25}
    assert verdict(STUDY.verdicts(moved), "vanilla").holds == "partly"
    for result in moved.values():
        for each in result["stuck"].values():
            each["error"] = 0.0
    assert verdict(STUDY.verdicts(moved), "vanilla").holds == "no"
    moved["B=50"]["gt_nsgdm"][-1] = [3.01 * LR]
    assert verdict(STUDY.verdicts(moved), "GT-NSGDm").holds == "no"
    moved["B=50"]["gt_nsgdm"][-1] = [math.inf]
    assert verdict(STUDY.verdicts(moved), "GT-NSGDm").holds == "no"


def test_figure(results):
    figure = STUDY.figures(results)["claim-1"]
    assert [ax.get_title() for ax in figure.axes] == ["B = 1", "B = 5", "B = 50"]
    figure.canvas.draw()
    assert STUDY.tables(results) == []
