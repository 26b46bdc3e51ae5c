"""Figures taken apart for the page: curves can be read off and switched, panels stand alone."""

import math
import re
from xml.etree import ElementTree as ET

import pytest

from gossamer.colours import BLUE, DARK, LOOKS
from gossamer.experiments import Printed
from gossamer.plots import curve, heat_map, panels, plain_log_axes, style
from gossamer.report.dot_plot import dot_plot
from gossamer.report.drawing import Drawing, drawing
from gossamer.report.elements import colour_rules

STEPS = [1, 10, 100, 1000]
VALUES = {"DSGD": [5.0, 3.0, 2.0, 0.2], "GT-NSGDm": [5.0, 1.0, 0.3, 0.01]}


def two_panels() -> Drawing:
    with style():
        figure, axes = panels(2)
        for ax in axes:
            for method, values in VALUES.items():
                curve(ax, STEPS, [[0.9 * v, v, v] for v in values], method, *LOOKS[method])
            ax.set(xscale="log", yscale="log", title="noise")
        axes[0].set_ylabel("error")
        axes[1].tick_params(axis="y", labelleft=False)
        axes[0].legend()
        figure.supxlabel("what it means")
    return drawing(figure, "two")


def elements(drawn: Drawing) -> list[ET.Element]:
    return [ET.fromstring(str(panel.svg)) for panel in drawn.panels]


def value(svg: ET.Element, axis: str, place: float) -> float:
    """As the page's script reads a place."""
    kind, *numbers = svg.attrib[f"data-{axis}"].split()
    start, end, low, high = map(float, numbers)
    share = (place - start) / (end - start)
    return low * (high / low) ** share if kind == "log" else low + share * (high - low)


def test_a_curve_is_its_own_data():
    for svg in elements(two_panels()):
        for method, values in VALUES.items():
            (line,) = svg.findall(f".//g[@class='curve'][@data-label='{method}']/path")
            pairs = [pair.split() for pair in line.attrib["d"][1:].split("L")]
            read = [(value(svg, "x", float(x)), value(svg, "y", float(y))) for x, y in pairs]
            for (x, y), step, expected in zip(read, STEPS, values, strict=True):
                assert math.isclose(x, step, rel_tol=1e-3)
                assert math.isclose(y, expected, rel_tol=1e-3)


def test_a_panel_stands_alone():
    drawn = two_panels()
    assert drawn.caption == "what it means"
    for svg in elements(drawn):
        written = [text.text for text in svg.iter("text")]
        assert "error" in written, "the axis is named in every panel"
        assert "what it means" not in written
        assert {g.get("data-label") for g in svg.findall(".//g[@class='band']")} == set(VALUES)
        ids = [element.get("id") for element in svg.iter() if element.get("id")]
        used = re.findall(r'(?:href="#|url\(#)([^")]+)', ET.tostring(svg, encoding="unicode"))
        assert set(used) == set(ids)
        assert len(ids) == len(set(ids))
    names = [{e.get("id") for e in svg.iter() if e.get("id")} for svg in elements(drawn)]
    assert not names[0] & names[1], "two panels of a page do not share a name"


def test_a_curve_that_diverged_at_once_keeps_its_name():
    with style():
        figure, (ax,) = panels(1)
        curve(ax, STEPS, [[math.inf]] * 4, "DSGD", *LOOKS["DSGD"])
        ax.plot([], [], "o", label="nothing")
        ax.legend()
    drawn = drawing(figure, "gone")
    assert [entry.label for entry in drawn.legend] == ["DSGD", "nothing"]
    assert elements(drawn)[0].find(".//g[@class='curve']") is not None


def test_the_legend_has_one_entry_for_every_label():
    legend = two_panels().legend
    assert [(entry.label, entry.mark, entry.dash) for entry in legend] == [
        ("DSGD", "line", ""),
        ("GT-NSGDm", "line", ""),
    ]
    assert legend[1].colour == f"var(--c{BLUE[1:]})"
    for light, dark in DARK.items():
        assert f"--c{light[1:]}:{light}" in colour_rules().partition("@media")[0]
        assert f"--c{light[1:]}:{dark}" in colour_rules().partition("@media")[2]


@pytest.mark.parametrize("legend", [True, False])
def test_bars_dots_and_whiskers_belong_to_their_label(legend: bool):
    with style():
        figure, (bars, dots) = panels(2)
        bars.barh(["a", "b"], [1, 2], color=BLUE, label="share")
        dots.errorbar([1, 2], [3, 4], yerr=[0.5, 0.5], fmt="o", color=BLUE, label="ours")
        dots.plot([1], [2], "o", color=BLUE, markerfacecolor="none", label="printed")
        if legend:
            bars.legend()
    drawn = drawing(figure, "bars")
    marks = {entry.label: entry.mark for entry in drawn.legend}
    assert marks == ({"share": "box", "printed": "ring", "ours": "dot"} if legend else {})
    left, right = elements(drawn)
    assert len(left.findall(".//g[@data-label='share']")) == 2
    assert len(right.findall(".//g[@class='curve'][@data-label='ours']")) == 1
    assert len(right.findall(".//g[@class='band'][@data-label='ours']")) == 1


def test_rows_are_named():
    with style():
        figure, (ax,) = panels(1)
        heat_map(ax, [[0.1], [0.9]], [["1"], ["2"]], ["DSGD", "GT-NSGDm"], ["ring"])
    (svg,) = elements(drawing(figure, "rows"))
    assert svg.get("data-rows") == '["DSGD", "GT-NSGDm"]'
    (ring, *_) = elements(two_panels())
    assert ring.get("data-rows") is None


@pytest.mark.parametrize(("ours", "scale"), [(0.31, "linear"), (5.6, "log")])
def test_printed_numbers_beside_ours(ours: float, scale: str):
    numbers = [
        Printed("ring", "GT-NSGDm", 0.258, ours, [ours, ours + 0.1]),
        Printed("complete", "2 nodes", 0.4, 0.39, [0.39]),
    ]
    drawn = drawing(dot_plot(numbers), "dots")
    assert [(e.label, e.mark) for e in drawn.legend] == [("ours", "dot"), ("printed", "ring")]
    ring, complete = elements(drawn)
    assert ring.attrib["data-x"].split()[0] == scale
    assert complete.get("data-rows") == '["2 nodes"]'
    places = {g.get("data-label"): g.find(".//use") for g in ring.findall(".//g[@class='curve']")}
    read = {label: value(ring, "x", float(use.attrib["x"])) for label, use in places.items()}
    assert read == pytest.approx({"ours": ours, "printed": 0.258}, rel=1e-3)


def test_what_diverged_has_no_dot():
    ends = {"a": 0.3, "b": math.inf}
    numbers = [Printed("ring", method, 0.3, end, [0.3, end]) for method, end in ends.items()]
    (svg,) = elements(drawing(dot_plot(numbers), "dots"))
    drawn = [g for g in svg.findall(".//g[@data-label='ours']") if g.find(".//use") is not None]
    assert len(drawn) == 1


def test_plain_numbers_where_an_axis_has_none_of_its_own():
    with style():
        figure, (ax, fixed) = panels(2)
        ax.set(xscale="log", xlim=(0.1, 10))
        fixed.set(xscale="log", xlim=(1, 10))
        fixed.set_xticks([2, 5], labels=["two", "five"])
        plain_log_axes(figure)
        figure.draw_without_rendering()
    assert "0.1" in [tick.get_text() for tick in ax.get_xticklabels()]
    assert [tick.get_text() for tick in fixed.get_xticklabels()] == ["two", "five"]
