"""Other readings of the table: what they share with it, and the parts of a loss."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from made_up import draw, one_of_each_kind, verdict

from gossamer.data import Corpus
from gossamer.experiments import Options, Work
from gossamer.studies.language.task import NETWORKS, Task
from gossamer.studies.language.transformer_readings import (
    METHODS,
    PARTS,
    READINGS,
    TRACKED,
    Reading,
    TransformerReadings,
    parts_of_loss,
)
from gossamer.studies.language.transformer_table import TASKS, TransformerTable
from studies.language.small import SMALL

STUDY = TransformerReadings()
RESULTS = Path(__file__).parents[3] / "results"


def full(experiment) -> dict[str, Any]:
    """What the repository holds."""
    results = Work.below(RESULTS, experiment, Options("full")).results()
    assert results is not None
    return dict(results)


def test_readings_differ_from_the_table_by_dropout_and_windows_alone():
    table = TASKS["paper"]
    assert READINGS["no dropout"] == table
    for name, task in READINGS.items():
        assert dataclasses.replace(task, dropout=0.0, stride=table.stride) == table
        assert task.dropout == (0.1 if name.endswith("dropout") and "no" not in name else 0.0)
        assert task.stride == (1 if "every window" in name else table.stride)


def test_every_setting_was_a_finalist_of_the_tables_search():
    table = full(TransformerTable())
    for row, (method, algorithm) in METHODS.items():
        search = table[f"paper {method}"]["search"]
        finalists = [
            {k: v for k, v in s.items() if k != "validation_loss"}
            for s in search["on_networks"]["ring"]
        ]
        assert algorithm in [type(algorithm)(**setting) for setting in finalists]
        if row != "GT-NSGDm 0.8":
            assert algorithm == type(algorithm)(**search["chosen"]["ring"])


def test_the_parts_add_up_to_the_validation_loss():
    language = SMALL.problem("cpu")
    x = language.start + 0.1 * torch.randn(language.dim, generator=torch.Generator().manual_seed(0))
    parts = parts_of_loss(SMALL, "cpu", x)
    assert tuple(parts) == PARTS
    assert sum(parts.values()) == pytest.approx(float(language.validation_loss(x[None])), abs=1e-5)


@dataclasses.dataclass(frozen=True)
class Unknown:
    """A validation text of words that nobody knows."""

    known: Any = SMALL.text

    def corpus(self, seed: int) -> Corpus:
        text = self.known.corpus(seed)
        return dataclasses.replace(text, validation=torch.ones_like(text.validation))


def test_parts_are_told_apart_by_position_and_word():
    """A model that knows nothing pays log(words) everywhere, so that parts are shares."""
    task: Task = dataclasses.replace(SMALL, text=Unknown())
    parts = parts_of_loss(task, "cpu", torch.zeros(task.problem("cpu").dim))
    nats = math.log(len(task.corpus.vocabulary))
    shares = {"last position": 1 / 8, "unknown words": 7 / 8, "all else": 0.0}
    assert parts == pytest.approx({p: share * nats for p, share in shares.items()}, abs=1e-5)


def test_a_unit_trains_on_the_network_and_splits_its_last_loss():
    algorithm = METHODS["GT-NSGDm 0.8"][1]
    unit = Reading("small", algorithm, SMALL, NETWORKS["ring"], seeds=(0, 1), records=4)
    result = unit.run("cpu")
    last = result["validation_loss"][-1]
    assert sum(result["parts"].values()) == pytest.approx(sum(last) / 2, abs=1e-4)
    assert result["steps"][-1] == SMALL.steps("cpu")
    assert result["steps"][:2] == [0, SMALL.steps("cpu") // 4]


def test_units_are_named_by_reading_and_row():
    names = [unit.name for unit in STUDY.units(STUDY.sizes["full"], 0)]
    assert names[0] == "no dropout GT-NSGDm 0.6"
    longest = [name for name in names if name.startswith("every window, dropout")]
    assert longest == [f"every window, dropout {row}" for row in TRACKED]
    assert len(names) == 3 * len(METHODS) + len(TRACKED)


def made(tracked: list[float], plain: list[float]) -> dict[str, Any]:
    """Final losses of GT-NSGDm's eight cases and of DSGD's three, on the paper's text."""
    cases = [f"{reading} {row}" for row in TRACKED for reading in READINGS]
    losses = dict(zip(cases, tracked, strict=True))
    losses |= dict(zip((f"{r} DSGD" for r in list(READINGS)[:3]), plain, strict=True))
    return {
        name: {
            "steps": [0, 10],
            "validation_loss": [[9.0, 9.0], [loss, loss]],
            "parts": dict.fromkeys(PARTS, loss / 3),
            "corpus": "multi30k",
        }
        for name, loss in losses.items()
    }


@pytest.mark.parametrize(("met", "holds"), [(8, "yes"), (4, "partly"), (3, "no"), (0, "no")])
def test_the_printed_loss_is_judged_under_every_reading(met: int, holds: str):
    results = made([0.27] * met + [0.40] * (8 - met), [5.63] * 3)
    found = verdict(STUDY.verdicts(results), "GT-NSGDm ends at")
    assert found.holds == holds
    assert ("This is so for: none" in found.note) == (met == 0)


@pytest.mark.parametrize(
    ("plain", "holds"), [([5.63] * 3, "yes"), ([5.63, 5.6, 0.39], "partly"), ([5.63, 1, 1], "no")]
)
def test_the_plateau_of_dsgd_is_judged_under_every_reading(plain: list[float], holds: str):
    results = made([0.27] * 8, plain)
    assert verdict(STUDY.verdicts(results), "DSGD stays at a loss of 5.63").holds == holds


def test_what_is_left_is_judged_by_what_nobody_can_copy():
    results = made([0.27] * 8, [5.63] * 3)
    words = "tokens that no model can copy"
    assert verdict(STUDY.verdicts(results), words).holds == "no"  # a third could be copied
    for result in results.values():
        result["parts"]["all else"] = 0.01
    left = verdict(STUDY.verdicts(results), words)
    assert (left.holds, left.source) == ("yes", "ours")


def test_nothing_printed_is_judged_on_artificial_text():
    results = one_of_each_kind(STUDY)
    assert [v.source for v in STUDY.verdicts(results)] == ["ours"]
    losses, parts = STUDY.tables(results)
    assert losses.rows[-1][-1] == "–"  # not trained under the longest reading
    assert len(parts.rows) == len(READINGS) * len(TRACKED)
    draw(STUDY.figures(results)["transformer-readings"])
