"""Claim 1 at full size: vanilla normalization never moves, GT-NSGDm arrives."""

import copy
import math

import pytest
from made_up import at_test_size, draw, verdict

from gossamer.studies.theory.claim_1 import BARRIERS, LR, Claim1, claim_problem

STUDY = Claim1()


@pytest.fixture(scope="module")
def results():
    """The same at every size."""
    return at_test_size(STUDY)


@pytest.mark.parametrize("barrier", BARRIERS)
def test_the_gap_exceeds_the_barrier(barrier: int):
    problem = claim_problem(barrier, num_nodes=4, start=0.5)
    gap = float((problem.optimum - problem.start).abs())
    assert gap == pytest.approx(barrier + 0.25, abs=1e-12)


def test_normalization_never_moves_and_gt_nsgdm_arrives(results):
    for barrier in BARRIERS:
        result = results[f"B={barrier}"]
        assert list(result["stuck"]) == ["0.001", "0.01", "0.1", "1", "10"]
        assert {s["moved"] for s in result["stuck"].values()} == {0.0}
        assert all(s["error"] > barrier for s in result["stuck"].values())
        assert result["gt_nsgdm"][0][0] == pytest.approx(barrier + 0.25)
        assert result["gt_nsgdm"][-1][0] <= 3 * LR
    assert [v.holds for v in STUDY.verdicts(results)] == ["yes", "yes"]


def test_the_verdicts_flip_with_the_numbers(results):
    moved = copy.deepcopy(results)
    moved["B=5"]["stuck"]["0.1"] = {"moved": 5.0, "error": 0.25}
    assert verdict(STUDY.verdicts(moved), "vanilla").holds == "no"  # "for any α": one is enough
    assert verdict(STUDY.verdicts(moved), "GT-NSGDm").holds == "yes"
    moved["B=50"]["gt_nsgdm"][-1] = [3.01 * LR]
    assert verdict(STUDY.verdicts(moved), "GT-NSGDm").holds == "no"
    moved["B=50"]["gt_nsgdm"][-1] = [math.inf]
    assert verdict(STUDY.verdicts(moved), "GT-NSGDm").holds == "no"


def test_figure(results):
    figure = STUDY.figures(results)["claim-1"]
    assert [ax.get_title() for ax in figure.axes] == ["B = 1", "B = 5", "B = 50"]
    draw(figure)
    assert STUDY.tables(results) == []
