"""Errors growing with σ: drawn and judged from results made up by hand."""

import math

import pytest
from made_up import at_test_size, curve, draw, verdict

from gossamer.studies.synthetic.noise_level import FAMILIES, NoiseLevel, increasing

STUDY = NoiseLevel()
NAMES = [name for family in FAMILIES.values() for name in family]


def results(finals):
    return {name: curve(final) for name, final in zip(NAMES, finals, strict=True)}


GROWING = [0.1, 0.2, 0.3, 0.2, 0.4, 0.6]


def test_there_are_three_scales_of_each_family_and_unit_variance_is_among_them():
    assert [len(family) for family in FAMILIES.values()] == [3, 3]
    assert NAMES[0] == "Gaussian, scale 1"


@pytest.mark.parametrize(
    ("values", "answer"),
    [([1, 2, 3], True), ([1, 1, 2], False), ([3, 2], False), ([1, math.nan], False)],
)
def test_increasing(values: list[float], answer: bool):
    assert increasing(values) == answer


@pytest.mark.parametrize(
    ("finals", "holds"),
    [
        (GROWING, "yes"),
        ([0.1, 0.2, 0.3, 0.2, 0.6, 0.4], "partly"),
        ([0.1, 0.1, 0.3, 0.2, 0.6, 0.4], "no"),
        ([0.3, 0.2, 0.1, 0.6, 0.4, 0.2], "no"),
        ([0.1, 0.2, math.inf, 0.2, 0.4, math.inf], "yes"),
    ],
)
def test_growth_flips_with_the_numbers(finals: list[float], holds: str):
    found = verdict(STUDY.verdicts(results(finals)), "increases as σ grows")
    assert found.holds == holds
    assert found.holds_for == ("Gaussian noise" if holds == "partly" else "")


def test_the_best_curve_flips_with_the_numbers_and_so_does_the_note():
    best = verdict(STUDY.verdicts(results(GROWING)), "comes closest")
    assert (best.holds, best.note) == ("yes", "")
    other = verdict(STUDY.verdicts(results([0.1, 0.2, 0.3, 0.05, 0.4, 0.6])), "comes closest")
    assert other.holds == "no"
    assert "α-stable, scale 0.1 (0.050)" in other.ours
    assert other.note


@pytest.mark.parametrize("last", [0.6, math.inf])
def test_figure_and_table(last: float):
    made = results([*GROWING[:-1], last])
    figure = STUDY.figures(made)["noise-level"]
    assert [ax.get_title() for ax in figure.axes] == ["Gaussian noise", "α-stable noise"]
    assert [len(ax.get_legend().get_texts()) for ax in figure.axes] == [3, 3]
    draw(figure)
    (table,) = STUDY.tables(made)
    assert [row[0] for row in table.rows] == NAMES


def test_small_study_end_to_end():
    made = at_test_size(STUDY)
    assert list(made) == NAMES
    assert len(STUDY.verdicts(made)) == 2
