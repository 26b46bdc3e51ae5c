"""`compare` in Python: tuned and given methods, on the same seeds, as a table."""

import dataclasses

import pytest
import torch

import gossamer as gs
from gossamer.simulation import Entry

PROBLEM, NETWORK = gs.Quadratic(6, 4), gs.ring(6)
ARGUMENTS = {"noise": gs.StudentT(1.5, 0.1), "steps": 60, "seeds": range(3)}


def test_classes_are_tuned_and_instances_run_as_they_are():
    given = gs.DSGD(lr=0.01)
    found = gs.compare([gs.GTNSGDm, given], PROBLEM, NETWORK, **ARGUMENTS)
    tuned, as_given = found.entries
    alone = gs.tune(gs.GTNSGDm, PROBLEM, NETWORK, **ARGUMENTS)
    assert tuned.run.hyperparameters == alone.hyperparameters
    assert torch.equal(tuned.run.metrics["error"], alone.run.metrics["error"])
    assert tuned.tuned.search.config["seeds"] == [1_000_000, 1_000_001]
    run = gs.simulate(given, PROBLEM, NETWORK, **ARGUMENTS)
    assert as_given.tuned is None
    assert torch.equal(as_given.run.metrics["error"], run.metrics["error"])


def test_a_grid_of_ones_own():
    grids = {gs.DSGD: {"lr": [0.1, 0.2]}}
    found = gs.compare([gs.DSGD], PROBLEM, NETWORK, grids=grids, **ARGUMENTS)
    assert len(found.entries[0].tuned.search.settings) == 2


def test_ranked_by_the_median_that_is_shown():
    run = gs.simulate(gs.DSGD(0.1), PROBLEM, NETWORK, steps=1, seeds=[0, 1])

    def ended_at(label: str, *errors: float) -> Entry:
        named = run.config | {"algorithm": run.config["algorithm"] | {"label": label}}
        metrics = {"error": torch.tensor([errors])}
        return Entry(dataclasses.replace(run, metrics=metrics, config=named), None)

    wide, narrow = ended_at("wide", 0.1, 0.9), ended_at("narrow", 0.2, 0.4)
    lost = ended_at("lost", 0.1, torch.nan)
    found = gs.Comparison([wide, lost, narrow])
    assert found.ranked() == [narrow, wide, lost], "medians 0.3, 0.5 and none"
    shown = repr(found).splitlines()
    assert [line.split()[0] for line in shown] == ["method", "narrow", "wide", "lost"]
    assert "0.3 [0.2, 0.4]" in shown[1]
    assert "diverged on 1 of 2 seeds" in shown[3]


def test_the_edge_of_a_grid_is_shown():
    grids = {gs.DSGD: {"lr": [1e-4, 1e-3]}}
    found = gs.compare([gs.DSGD], PROBLEM, NETWORK, grids=grids, tuning_seeds=[3, 4], **ARGUMENTS)
    budget, edge = repr(found).splitlines()[-2:]
    assert budget.startswith("DSGD: tuned over 2 settings × 2 seeds, ")
    assert edge == "DSGD: lr is the highest value tried, and higher values may do better"
    assert found.entries[0].tuned.extended == {}
    how = {"tuning_seeds": [3, 4], "extensions": 1}
    found = gs.compare([gs.DSGD], PROBLEM, NETWORK, grids=grids, **how, **ARGUMENTS)
    assert "tuned over 3 settings" in repr(found)
    assert "DSGD: the lr grid was extended to 0.01; lr is the highest" in repr(found)


def test_what_is_shown_does_not_decide_the_tuning():
    metrics = ["error", "consensus_error"]
    found = gs.compare([gs.DSGD], PROBLEM, NETWORK, metrics=metrics, **ARGUMENTS)
    assert found.metric == "error"
    assert "final consensus_error" in str(found.table("consensus_error"))


@pytest.mark.parametrize(
    ("methods", "changes", "message"),
    [
        ([], {}, "methods: got .*, need a list of them"),
        (["DSGD"], {}, "methods: got 'DSGD', need methods or their classes"),
        ([gs.GTDSGD, gs.DSGD], {"metrics": ["error", "tracker_error"]}, "which needs .*with DSGD"),
        (
            [gs.DSGD],
            {"metrics": ["loss", "consensus_error"]},
            r"judge_by: got the default 'error', need one of .*\['loss', 'consensus_error'\]",
        ),
    ],
)
def test_refused_before_any_work(methods, changes, message: str):
    arguments = ARGUMENTS | {"steps": 10**9} | changes
    with pytest.raises(gs.InvalidInput, match=message):
        gs.compare(methods, PROBLEM, NETWORK, **arguments)


@pytest.mark.parametrize(
    "methods",
    [
        [gs.GTNSGDm(0.1, 0.8), gs.GTNSGDm(0.1, 0.8, order="combine-then-adapt")],
        [gs.DSGD(lambda t: 0.1), gs.DSGD(lambda t: 0.01)],
        [gs.DSGD(0.1234561), gs.DSGD(0.1234562)],
        [gs.DSGD, gs.DSGD(0.2)],
    ],
    ids=["words", "functions", "digits", "tuned and given"],
)
def test_settings_that_look_alike_are_told_apart(methods):
    grids = {kind: {"lr": [0.2]} for kind in methods if isinstance(kind, type)}
    found = gs.compare(methods, PROBLEM, NETWORK, grids=grids, **ARGUMENTS)
    method, setting, *_ = found.table().columns
    assert len(set(zip(method.cells, setting.cells, strict=True))) == 2
    lines = [line.get_label() for line in found.plot().get_lines()]
    assert len(set(lines)) == len(lines) == 2
    names, errors = gs.side_by_side({"ring": found}).columns
    assert names.cells == lines
    assert [e.middle for e in errors.cells] == [e.final("error").middle for e in found.entries]


def test_the_values_of_a_grid_may_be_generated():
    grids = {gs.DSGD: {"lr": (10.0**k for k in (-2, -1))}}
    found = gs.compare([gs.DSGD], PROBLEM, NETWORK, grids=grids, **ARGUMENTS)
    assert found.entries[0].tuned.search.settings == [{"lr": 0.01}, {"lr": 0.1}]
