"""How Transformers are tuned: search sets, both searches, and what is stored of them."""

import dataclasses

import pytest

import gossamer as gs
from gossamer.experiments import Options
from gossamer.studies.language.language import NETWORKS, Task, steps_of, task_of
from gossamer.studies.language.tuning import (
    best_of,
    by_one_node,
    by_the_ring,
    search_on_one_node,
    searched,
    tune_and_train,
    tuning_seeds,
)
from gossamer.studies.synthetic.grids import TRANSFORMER
from gossamer.studies.synthetic.synthetic import fresh_seeds

QUICK, TASK = Options(), Task("causal", stride=5, epochs=12)


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
    for algorithm, settings in TRANSFORMER.values():
        assert all(algorithm(**setting) for setting in settings)


def test_quick_searches_are_small_and_within_the_set():
    for _, settings in TRANSFORMER.values():
        some = searched(QUICK, settings)
        assert 2 <= len(some) <= 8
        assert all(setting in settings for setting in some)
        assert searched(Options(full=True), settings) == settings


def test_no_reported_seed_is_tuned_on():
    for seed in (0, 1):
        options = Options(seed=seed)
        assert not set(tuning_seeds(options)) & set(fresh_seeds(options))


def test_the_search_prefers_what_trains():
    settings = [{"lr": lr, "momentum": 0.8} for lr in (1e-4, 0.1, 100.0, 1e-3)]
    found = search_on_one_node(gs.GTNSGDm, settings, task_of(QUICK, TASK), QUICK)
    assert best_of(found)[0]["lr"] == 0.1
    assert len(best_of(found)) == 3


def test_the_result_names_the_choice_its_cost_and_every_loss():
    settings = [{"lr": 0.1}, {"lr": 1e-3}]
    networks = {name: NETWORKS[name] for name in ("ring", "complete")}
    result = tune_and_train(gs.DSGD, settings, by_one_node, TASK, networks, QUICK)
    assert result["search"]["hyperparameters"]["lr"] == 0.1
    assert result["search"]["settings"] == 2
    assert len(result["search"]["on_the_ring"]) == 2
    for name in networks:
        curve = result["networks"][name]
        assert curve["steps"][0] == 0
        assert curve["steps"][-1] == result["steps"]
        assert [len(row) for row in curve["validation_loss"]] == [5] * len(curve["steps"])
        first, last = curve["validation_loss"][0][0], curve["validation_loss"][-1]
        assert max(last) < first


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_search_on_the_ring_tries_every_setting_and_ends_most_early(dropout: float):
    settings = [{"lr": lr, "momentum": 0.8} for lr in (1e-4, 1e-3, 0.1, 100.0)]
    task = dataclasses.replace(task_of(QUICK, TASK), dropout=dropout)
    found = by_the_ring(gs.GTNSGDm, settings, task, QUICK)
    assert found["hyperparameters"]["lr"] == 0.1
    assert found["settings"] == 4
    assert 1 <= len(found["on_the_ring"]) < 4
    assert found["run_steps"] < 4 * steps_of(task, QUICK)
