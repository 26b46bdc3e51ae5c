"""Verdicts, judged by their main condition, and tables, whose rows are as wide as they say."""

import pytest

from gossamer.errors import InvalidInput
from gossamer.experiments import Table, Verdict


@pytest.mark.parametrize(
    ("condition", "holds", "part"),
    [
        (True, "yes", ""),
        (False, "no", ""),
        ({"ring": True, "complete": True}, "yes", ""),
        ({"ring": True, "complete": False}, "partly", "ring"),
        ({"a": True, "b": False, "c": True}, "partly", "a; c"),
        ({"a": True, "b": False, "c": False}, "no", "a"),
        ({"a": False, "b": False}, "no", ""),
    ],
)
def test_judged_by_the_main_condition(condition, holds: str, part: str):
    verdict = Verdict("it holds", "measured", condition)
    assert (verdict.holds, verdict.holds_for) == (holds, part)


def test_one_of_six_is_no_part_worth_the_name():
    parts = {f"case {k}": k == 0 for k in range(6)}
    assert Verdict("knowing p is faster", "one of six", parts).holds == "no"


@pytest.mark.parametrize("row", [["DSGD"], ["DSGD", "0.2", "0.3"]])
def test_a_row_of_another_length_is_refused(row: list[str]):
    with pytest.raises(InvalidInput) as refused:
        Table("Final errors", ["method", "error"], [["GT-NSGDm", "0.1"], row])
    assert str(refused.value) == (
        f"rows: got {row} in the table 'Final errors', need a cell for each of the 2 columns "
        "['method', 'error']; a cell may be empty, \"\""
    )
