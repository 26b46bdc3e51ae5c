"""Verdicts: judged by their main condition; "partly" names the part it holds for."""

import pytest

from gossamer.experiments import Verdict


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
