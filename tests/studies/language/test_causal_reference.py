"""Losses printed elsewhere beside ours: judged from results made up by hand, and a small study."""

from typing import Any

import pytest
from made_up import at_test_size, verdict

from gossamer.studies.language.causal_reference import ADDED, FINE, PRINTED, CausalReference

STUDY = CausalReference()


def tuned(loss: float) -> dict[str, Any]:
    curve = {"steps": [0, 10], "validation_loss": [[9.0, 9.0], [loss, loss]]}
    return {"search": {"hyperparameters": {"lr": 0.1}}, "networks": {"ring": curve}}


def made(coarse: float = 0.0, finer: float = 0.0, added: float = 3.5) -> dict[str, Any]:
    """The printed losses shifted by what each set finds, and those of the added methods."""
    results = {}
    for which, shift in {"": coarse, FINE: finer}.items():
        results |= {f"{m}{which}": tuned(mean + shift) for m, (mean, _) in PRINTED.items()}
        results |= {f"{m}{which}": tuned(added) for m in ADDED}
    return results


@pytest.mark.parametrize(
    ("coarse", "finer", "holds", "part"),
    [
        (0.0, 0.0, "yes", ""),
        (0.11, 0.09, "partly", "the finer set"),
        (-0.09, -0.11, "partly", "the paper's search set"),
        (0.11, -0.11, "no", ""),
    ],
)
def test_printed_losses_are_judged_with_both_sets(coarse, finer, holds: str, part: str):
    verdicts = [v for v in STUDY.verdicts(made(coarse, finer)) if v.source == "published"]
    assert len(verdicts) == 4
    assert {(v.holds, v.holds_for) for v in verdicts} == {(holds, part)}


@pytest.mark.parametrize(("added", "holds"), [(3.5, "yes"), (3.97, "no")])
def test_the_added_methods_flip(added: float, holds: str):
    found = verdict(STUDY.verdicts(made(added=added)), "Beyond the published table")
    assert (found.holds, found.source) == (holds, "ours")


def test_no_verdict_is_passed_for_a_statement_of_the_paper():
    assert "paper" not in {v.source for v in STUDY.verdicts(made())}


def test_small_study_end_to_end():
    results = at_test_size(STUDY)
    (table,) = STUDY.tables(results)
    assert [row[0] for row in table.rows] == [*PRINTED, *ADDED]
    assert all(len(row) == len(table.columns) for row in table.rows)
    STUDY.figures(results)["causal-reference"].canvas.draw()
    assert len(STUDY.verdicts(results)) == 5
