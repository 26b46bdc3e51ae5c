"""Figures as SVG: for light and dark pages, and inside of pages."""

import xml.etree.ElementTree as ET

from gossamer.colours import BLUE, DARK, INK
from gossamer.plots import panels, style
from gossamer.svg import for_both, inline


def drawn():
    figure, (ax,) = panels(1)
    ax.plot([1, 2], [3, 4], color=BLUE, label="a < b")
    ax.set_title("x & y")
    return figure


def test_a_file_has_light_colours_and_rules_for_dark_pages():
    with style():
        svg = for_both(drawn(), {"Description": "what it is"})
    root = ET.fromstring(svg)
    rules = root.find(".//{*}style").text
    assert rules.startswith("@media (prefers-color-scheme: dark)")
    for light, dark in DARK.items():
        assert f'[style*="stroke: {light}"]{{stroke:{dark} !important}}' in rules
    assert f"stroke: {BLUE}" in svg
    assert "what it is" in svg


def test_a_figure_is_the_same_file_each_time():
    with style():
        assert for_both(drawn()) == for_both(drawn())


def test_an_element_takes_the_ink_and_the_ground_of_its_page():
    with style():
        svg = inline(drawn(), 'a "curve" & more')
    root = ET.fromstring(svg)
    assert root.get("aria-label") == 'a "curve" & more'
    assert "currentColor" in svg
    assert INK not in svg
    assert "<style" not in svg  # rules would hold for the whole page
    assert "#ffffff" not in svg
    assert [text.text for text in root.findall(".//{*}text") if text.text == "x & y"] == ["x & y"]


def test_lines_of_an_element_have_two_places():
    with style():
        svg = inline(drawn())
    paths = [path.get("d") for path in ET.fromstring(svg).findall(".//{*}path")]
    numbers = [word for path in paths for word in path.split() if "." in word]
    assert max(len(number.partition(".")[2]) for number in numbers) == 2
