"""The matrix: a cell for every number, failures and gaps told apart, darker where it is larger."""

import math

from made_up import draw

from gossamer.studies.methods.bad_networks.matrix import DARKEST, matrices, shade

ROWS, COLUMNS = ["a", "b"], ["x", "y", "z"]
CELLS = {
    ("a", "x"): 1.0, ("a", "y"): 2.5, ("a", "z"): math.inf,
    ("b", "x"): 1e6, ("b", "y"): None, ("b", "z"): 12.0,
}  # fmt: skip


def test_every_cell_shows_its_number():
    figure = matrices({"left": CELLS, "right": CELLS}, ROWS, COLUMNS, "what is shown")
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["left", "right"]
    for ax in figure.axes:
        shown = {text.get_position(): text.get_text() for text in ax.texts}
        assert shown == {(0, 0): "1.0", (1, 0): "2.5", (2, 0): "✗",
                         (0, 1): "1000000", (1, 1): "–", (2, 1): "12"}  # fmt: skip
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ROWS
    draw(figure)


def test_larger_is_darker_up_to_a_limit():
    shades = [shade(value) for value in (1.0, 2.0, 10.0, DARKEST, 2 * DARKEST, math.inf)]
    assert shades == sorted(shades)
    assert shades[3] == shades[4] == 1 < shades[5]
    assert math.isnan(shade(None))
