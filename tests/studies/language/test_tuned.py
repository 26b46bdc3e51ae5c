"""How Transformers are tuned: search sets, the search on one node, and what is stored of it."""

import pytest

import gossamer as gs
from gossamer.studies.language.grids import MODERN, TRANSFORMER
from gossamer.studies.language.tuned import (
    FEW,
    HUNDREDS,
    OnOneNode,
    lowest,
    rungs_for,
)
from studies.language.small import SMALL, tuned

MANY = tuple({"lr": lr, "momentum": 0.8} for lr in (1e-4, 0.1, 100.0, 1e-3))


def test_the_search_sets_have_the_papers_sizes():
    sizes = {method: len(settings) for method, (_, settings) in TRANSFORMER.items()}
    assert sizes == {
        "DSGD": 9,
        "DSGD-GClip": 42,
        "DSGD-CClip": 42,
        "GT-DSGD": 9,
        "GT-Adam": 60,
        "QG-DSGDm": 72,
        "SClip-EF": 448,
        "DSGD-Clip": 42,
        "GT-NSGDm": 36,
        "Normalized DSGD": 6,
    }
    assert all(s["momentum"] == s["quasi_momentum"] for s in TRANSFORMER["QG-DSGDm"][1])


@pytest.mark.parametrize("sets", [TRANSFORMER, MODERN], ids=["the paper's", "finer"])
def test_every_setting_is_admissible(sets):
    for algorithm, settings in sets.values():
        assert all(algorithm(**setting) for setting in settings)


def test_hundreds_of_settings_are_ended_sooner():
    assert rungs_for(MANY * 25) == FEW
    assert rungs_for(MANY * 26) == HUNDREDS


def test_the_search_on_one_node_prefers_what_trains():
    unit = tuned(gs.GTNSGDm, MANY)
    found = OnOneNode(FEW).central(unit, "cpu")
    assert lowest(found, 1)[0]["lr"] == 0.1
    assert len(lowest(found, 3)) == 3
    assert int(found.steps[-1]) == SMALL.steps("cpu"), "as many steps as on the network"


def test_as_many_finalists_as_asked_for_are_compared_on_every_network():
    unit = tuned(gs.GTNSGDm, MANY, networks=("ring", "complete"))
    found = OnOneNode(FEW, finalists=1).search(unit, "cpu")
    for name in unit.networks:
        assert [s["lr"] for s in found["on_networks"][name]] == [0.1]
    assert found["run_steps"] == 2 * SMALL.steps("cpu")


def test_the_result_names_the_choice_its_cost_and_every_loss():
    unit = tuned(gs.DSGD, ({"lr": 0.1}, {"lr": 1e-3}), networks=("ring", "complete"))
    result = unit.run("cpu")
    assert result["search"]["settings"] == 2
    for name in unit.networks:
        assert result["search"]["chosen"][name]["lr"] == 0.1
        assert len(result["search"]["on_networks"][name]) == 2
        curve = result["networks"][name]
        assert curve["steps"][0] == 0
        assert curve["steps"][-1] == result["steps"]
        assert [len(row) for row in curve["validation_loss"]] == [2] * len(curve["steps"])
        first, last = curve["validation_loss"][0][0], curve["validation_loss"][-1]
        assert max(last) < first
