"""The look of figures: medians and bands, divergence left out, matplotlib left alone."""

import math

import matplotlib as mpl
import numpy as np
import pytest

from gossamer.colours import OKABE_ITO
from gossamer.plots import colours, curve, panels, plain_log_numbers, style


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


def luminance(colour: str) -> float:
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_the_palette_has_eight_colours_that_show_on_white_and_starts_again():
    assert len(set(OKABE_ITO)) == 8
    contrast = [1.05 / (luminance(colour) + 0.05) for colour in OKABE_ITO]
    assert min(contrast) > 2
    turning = colours()
    assert [next(turning) for _ in range(9)] == [*OKABE_ITO, OKABE_ITO[0]]


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
