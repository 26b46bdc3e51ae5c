"""Every lemma on a small study, and what a violation of each is judged to be."""

from typing import Any

import pytest
from made_up import at_test_size, verdict

from gossamer.studies.theory.lemmas import Lemmas

STUDY = Lemmas()


@pytest.fixture
def results() -> dict[str, Any]:
    return at_test_size(STUDY)


def test_every_lemma_holds(results):
    held = {v.statement: v.holds for v in STUDY.verdicts(results)}
    equality = "In every step the average of the nodes moves by exactly α: ‖x̄⁺ − x̄‖ = α"
    assert held.pop(equality) == "no"  # it is only "≤"
    assert set(held.values()) == {"yes"}


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("tracker_expansion", 1e-3, "ȳ = v̄"),
        ("mean_step", [0.5, 1.1], "‖x̄⁺ − x̄‖"),
        ("descent_slack", -1e-3, "descent lemma"),
        ("bound", {"p known": [2.0, 1.0], "p unknown": [0.5, 1.0]}, "explicit bound"),
    ],
)
def test_a_violation_is_judged_so(results, field: str, value: object, words: str):
    results["ring, Gaussian"][field] = value
    assert verdict(STUDY.verdicts(results), words).holds == "no"


def test_an_expectation_above_its_bound_is_judged_so(results):
    for name in results["ring, Gaussian"]["expectations"]:
        broken = at_test_size(STUDY)
        broken["ring, Gaussian"]["expectations"][name] = 1.01
        assert [v.holds for v in STUDY.verdicts(broken)].count("yes") == 5, name


def test_the_shortest_step_is_that_of_all_noises(results):
    results["ring, Gaussian"]["mean_step"][0] = 0.001
    assert "smallest ring 0.001 α" in verdict(STUDY.verdicts(results), "‖x̄⁺ − x̄‖").ours


def test_a_consensus_error_above_its_bound_is_judged_so(results):
    results["ring, Gaussian"]["consensus"][5] *= 10
    assert verdict(STUDY.verdicts(results), "Consensus: (1/n)").holds == "no"


def test_a_consensus_bound_that_is_not_attained_is_judged_so(results):
    results["two opposed nodes"]["consensus"][5] *= 0.9
    assert verdict(STUDY.verdicts(results), "Consensus: (1/n)").holds == "no"


def test_table_and_figure(results):
    (table, *_) = STUDY.tables(results)
    assert [row[0] for row in table.rows] == [name for name in results if "two" not in name]
    assert len(STUDY.figures(results)["lemmas"].axes) == 2
