"""Verdicts: how conditions are judged together."""

import pytest

from gossamer.experiments import judge


@pytest.mark.parametrize(
    ("conditions", "answer"),
    [([True, True], "yes"), ([True, False], "partly"), ([False], "no"), ([False, False], "no")],
)
def test_judge(conditions: list[bool], answer: str):
    assert judge(*conditions) == answer
