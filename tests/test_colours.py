"""Every method has one look, and looks can be told apart on light and dark pages."""

import numpy as np
import pytest

import gossamer as gs
from gossamer.colours import DARK, GROUND, LINES, LOOKS, OKABE_ITO, Look, looks


def luminance(colour: str) -> float:
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    low, high = sorted(luminance(colour) + 0.05 for colour in (one, other))
    return high / low


def test_the_palette_has_eight_colours_that_show_on_white_and_on_dark():
    assert len(set(OKABE_ITO)) == 8
    assert min(contrast(colour, GROUND) for colour in OKABE_ITO) > 2
    assert min(contrast(DARK[colour], DARK[GROUND]) for colour in OKABE_ITO) > 4.5


def test_every_method_has_a_look_of_its_own():
    assert {method.label for method in gs.ALGORITHMS.values()} == set(LOOKS)
    assert len(set(LOOKS.values())) == len(LOOKS)
    assert {look.colour for look in LOOKS.values()} <= set(OKABE_ITO)
    assert {look.line for look in LOOKS.values()} <= set(LINES)


@pytest.mark.parametrize(
    ("labels", "taken", "expected"),
    [
        (["DSGD", "GT-NSGDm"], [], [LOOKS["DSGD"], LOOKS["GT-NSGDm"]]),
        (["GT-Clip (gradient)", "GT-Clip (tracker)"], [], [Look("#009e73"), Look("#009e73", "--")]),
        (["DSGD-Clip (late)", "DSGD-GClip"], [], [LOOKS["DSGD-Clip"], LOOKS["DSGD-GClip"]]),
        (
            ["DSGD-Clip", "DSGD-Clip (late)", "DSGD-GClip"],
            [],
            [LOOKS["DSGD-Clip"], LOOKS["DSGD-CClip"], LOOKS["DSGD-GClip"]],
        ),
        (["GT-DSGD"], [LOOKS["GT-DSGD"]], [Look(LOOKS["GT-DSGD"].colour, "-")]),
        (["mine", "GT-NSGDm"], [], [Look(OKABE_ITO[1]), LOOKS["GT-NSGDm"]]),
        (["mine", "yours"], [Look(OKABE_ITO[0])], [Look(OKABE_ITO[1]), Look(OKABE_ITO[2])]),
    ],
)
def test_the_looks_of_a_picture(labels: list[str], taken: list[Look], expected: list[Look]):
    assert looks(labels, taken) == expected


def test_there_are_looks_for_more_lines_than_can_be_told_apart():
    assert len(looks(["mine"] * 40)) == 40
    assert len(set(looks(["DSGD"] * 6))) == 4
