"""The look of figures: medians and bands, divergence left out, matplotlib left alone."""

import math

import matplotlib as mpl
import numpy as np
import pytest

from gossamer.colours import OKABE_ITO
from gossamer.end_labels import label_ends
from gossamer.plots import curve, heat_map, panels, plain_log_numbers, style


def drawn(values, steps=(0, 10, 20)):
    figure, (ax,) = panels(1)
    curve(ax, steps, values, "label", OKABE_ITO[0])
    (line,), (band,) = ax.lines, ax.collections
    figure.canvas.draw()
    return line, band


def test_a_curve_is_the_median_within_the_range():
    line, band = drawn([[1, 2, 9], [2, 3, 4], [0, 5, 6]])
    assert line.get_xydata().tolist() == [[0, 2], [10, 3], [20, 5]]
    assert line.get_label() == "label"
    vertices = band.get_paths()[0].vertices
    assert {(0.0, 1.0), (0.0, 9.0), (20.0, 0.0), (20.0, 6.0)} <= set(map(tuple, vertices))


@pytest.mark.parametrize("bad", [math.inf, math.nan, -math.inf])
def test_a_curve_ends_where_a_seed_diverges(bad: float):
    line, _ = drawn([[1, 2, 9], [2, 3, 4], [0, bad, 6]])
    assert line.get_xdata().tolist() == [0, 10]


def test_a_curve_that_is_nowhere_finite_is_empty_but_labelled():
    figure, (ax,) = panels(1)
    curve(ax, [0, 10], [[math.inf, 1.0], [math.nan, math.inf]], "label", OKABE_ITO[0])
    ax.set(yscale="log", ylim=(0.1, 10))
    ax.legend()
    figure.canvas.draw()
    assert len(ax.lines[0].get_xdata()) == 0
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["label"]


def test_panels_in_a_row_without_a_window():
    figure, axes = panels(3, width=2.0, height=1.5)
    assert len(axes) == 3
    assert figure.get_size_inches().tolist() == [6.0, 1.5]
    assert figure.canvas.manager is None


def test_the_style_holds_inside_and_leaves_no_trace():
    before = dict(mpl.rcParams)
    with style():
        assert not mpl.rcParams["axes.spines.top"]
        assert mpl.rcParams["svg.fonttype"] == "path"
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("limits", "plain"), [((0.15, 4.2), True), ((0.002, 700), True), ((1e-9, 2e-8), False)]
)
def test_few_digits_are_written_out(limits: tuple[float, float], plain: bool):
    figure, (ax,) = panels(1)
    ax.set(yscale="log", ylim=limits)
    plain_log_numbers(ax.yaxis)
    figure.canvas.draw()
    ticks = [*ax.get_yticklabels(), *ax.get_yticklabels(minor=True)]
    texts = [tick.get_text() for tick in ticks if tick.get_text()]
    assert len(texts) > 2
    assert all(("$" not in text) == plain for text in texts)


def test_the_style_leaves_the_first_figure_of_a_notebook_interactive():
    with mpl.rc_context():
        with style():
            mpl.interactive(True)
        assert mpl.is_interactive()
    assert not mpl.is_interactive()


def named(*lines: tuple[str, float]):
    """Axes with a line to the given height for each label, named at the ends."""
    _, (ax,) = panels(1)
    for label, end in lines:
        ax.plot([0, 1], [0, end], label=label)
    ax.set(ylim=(0, 10))
    label_ends(ax)
    return ax


def test_lines_are_named_at_their_ends_apart_and_in_their_colour():
    ax = named(("a", 5.0), ("b", 5.0), ("c", 9.0))
    assert ax.get_legend() is None
    assert [(text.get_text(), text.get_color()) for text in ax.texts] == [
        (line.get_label(), line.get_color()) for line in ax.lines
    ]
    assert [text.xy for text in ax.texts] == [(1, 5), (1, 5), (1, 9)]
    below, above, alone = (text.xyann[1] for text in ax.texts)
    assert above - below > 8
    assert below == -above
    assert alone == 0


@pytest.mark.parametrize("labels", [["a label that is far too long"], [str(k) for k in range(9)]])
def test_many_or_long_names_are_in_a_legend(labels: list[str]):
    ax = named(*((label, 1.0) for label in labels))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == labels
    assert len(ax.texts) == 0


def test_a_legend_of_many_lines_covers_none():
    ax = named(*((str(k), 1.0) for k in range(9)))
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().x0 > ax.get_window_extent().x1


def test_names_are_written_anew_when_a_line_is_added():
    ax = named(("a", 5.0))
    ax.plot([0, 1], [0, 2], label="b")
    label_ends(ax)
    assert [text.get_text() for text in ax.texts] == ["a", "b"]


def test_cells_have_their_text_and_shade():
    figure, (ax,) = panels(1)
    shades = [[0.0, 1.0], [2.0, math.nan]]
    heat_map(ax, shades, [["1", "9"], ["x", ""]], ["r0", "r1"], ["c0", "c1"])
    figure.canvas.draw()
    np.testing.assert_array_equal(ax.images[0].get_array().filled(np.nan), shades)
    assert [text.get_text() for text in ax.texts] == ["1", "9", "x", ""]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["r0", "r1"]
    light, dark = ax.texts[0].get_color(), ax.texts[1].get_color()
    assert light != dark
