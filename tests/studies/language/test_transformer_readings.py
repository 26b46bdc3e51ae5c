"""Other readings of the table: what they share with it, and the parts of a loss."""

import dataclasses
from pathlib import Path

import pytest
import torch
from made_up import verdict

from gossamer.experiments import Options, Store
from gossamer.studies.language import transformer_readings
from gossamer.studies.language.language import corpus, problem, task_of
from gossamer.studies.language.transformer_readings import (
    METHODS,
    PARTS,
    READINGS,
    TransformerReadings,
)
from gossamer.studies.language.transformer_table import TASKS, TransformerTable

QUICK, FULL = Options(), Options(full=True)
RESULTS = Path(__file__).parent.parent.parent / "results"


def test_one_reading_is_the_tables_and_the_other_differs_by_dropout():
    table, other = READINGS.values()
    assert table == TASKS["paper"]
    assert dataclasses.replace(other, dropout=0.0) == table
    assert other.dropout == 0.1


def test_every_setting_was_a_finalist_of_the_tables_search():
    table = Store(RESULTS / "full").results(TransformerTable(), FULL)
    assert table is not None
    for row, (method, algorithm) in METHODS.items():
        search = table[f"paper {method}"]["search"]
        finalists = [
            {k: v for k, v in s.items() if k in vars(algorithm)} for s in search["on_the_ring"]
        ]
        assert vars(algorithm) in finalists
        if row != "GT-NSGDm 0.8":
            assert vars(algorithm) == search["hyperparameters"]


def test_the_parts_add_up_to_the_validation_loss():
    task = task_of(QUICK, READINGS["no dropout"])
    language = problem(QUICK, task)
    x = language.start + 0.1 * torch.randn(language.dim, generator=torch.Generator().manual_seed(0))
    parts = transformer_readings._parts(task, QUICK, x)
    assert tuple(parts) == PARTS
    assert sum(parts.values()) == pytest.approx(float(language.validation_loss(x[None])), abs=1e-5)


def test_parts_are_told_apart_by_position_and_word(monkeypatch: pytest.MonkeyPatch):
    """A model that knows nothing pays log(words) everywhere, so that parts are shares."""
    task = task_of(QUICK, READINGS["no dropout"])
    text = corpus(QUICK)
    unknown = dataclasses.replace(text, validation=torch.ones_like(text.validation))  # all <unk>
    monkeypatch.setattr(transformer_readings, "corpus", lambda _: unknown)
    language = problem(QUICK, task)
    parts = transformer_readings._parts(task, QUICK, torch.zeros(language.dim))
    nats = torch.log(torch.tensor(float(len(text.vocabulary)))).item()
    expected = {"last position": 1 / 16, "unknown words": 15 / 16, "all else": 0.0}
    assert parts == pytest.approx(
        {part: share * nats for part, share in expected.items()}, abs=1e-5
    )


def test_units_are_named_by_reading_and_row():
    names = [unit.name for unit in TransformerReadings().units(FULL)]
    assert names[0] == "no dropout GT-NSGDm 0.6"
    assert len(set(names)) == len(READINGS) * len(METHODS)


def test_a_number_that_one_reading_of_four_meets_holds_in_part():
    results = Store(RESULTS / "full").results(TransformerReadings(), FULL)
    assert results is not None
    judged = verdict(TransformerReadings().verdicts(results), "GT-NSGDm ends at")
    assert judged.holds == "partly"
    assert judged.note.endswith("Met by: dropout, β = 0.8.")
    for loss, holds in ((0.27, "yes"), (0.5, "no")):
        for name in (name for name in results if "GT-NSGDm" in name):
            results[name]["validation_loss"][-1] = [loss] * 2
        assert verdict(TransformerReadings().verdicts(results), "GT-NSGDm ends at").holds == holds
