"""What matplotlib writes as SVG, made short and fit for a page that holds many of them."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from xml.etree import ElementTree as ET

from gossamer.colours import DARK

COLOURS = {light: f"var(--c{light[1:]})" for light in DARK}
"""Colour of a figure → the variable of the page, which is another one on a dark page."""

LEFT_OUT = ("font-family", "stroke-dashoffset", "stroke-linejoin")
"""Of a style: what the page says itself, or what is so anyway."""

REFERENCE = re.compile(r"url\(#([^)]+)\)")


def colour_rules() -> str:
    """The variables of the colours, on light and on dark pages."""
    light = ";".join(f"--c{colour[1:]}:{colour}" for colour in DARK)
    dark = ";".join(f"--c{colour[1:]}:{on_dark}" for colour, on_dark in DARK.items())
    return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


def parsed(svg: str) -> ET.Element:
    """The tree of a figure: no namespaces, no layout, no more digits than a screen shows."""
    root = ET.fromstring(svg)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        short = {n.rpartition("}")[2]: _short(n, value) for n, value in element.attrib.items()}
        element.attrib = {name: value for name, value in short.items() if value}
        element.text = (element.text or "").strip() or None
        element.tail = None
    return root


def definitions(root: ET.Element) -> dict[str, ET.Element]:
    """Name → what others refer to by it, such as markers and clipping paths."""
    inside = (element for defs in root.iter("defs") for element in defs)
    return {element.attrib["id"]: element for element in inside if "id" in element.attrib}


def alone(part: ET.Element, known: Mapping[str, ET.Element], prefix: str) -> ET.Element:
    """An <svg> of a part of the tree and of what it refers to, under names nobody else has."""
    used = dict.fromkeys(_references(part))
    names = {old: f"{prefix}-{place}" for place, old in enumerate(used)}
    made = ET.Element("svg")
    ET.SubElement(made, "defs").extend([deepcopy(known[old]) for old in used])
    for holder in list(part.iter()):
        for defs in holder.findall("defs"):
            holder.remove(defs)
    made.append(part)
    _rename(made, names)
    return made


def _rename(made: ET.Element, names: Mapping[str, str]) -> None:
    for element in made.iter():
        if (old := element.get("id")) is not None:
            del element.attrib["id"]
            element.attrib |= {"id": names[old]} if old in names else {}
        if element.get("href", "").startswith("#"):
            element.set("href", f"#{names[element.attrib['href'][1:]]}")
        if (clip := REFERENCE.match(element.get("clip-path", ""))) is not None:
            element.set("clip-path", f"url(#{names[clip[1]]})")


def _references(part: ET.Element) -> Iterator[str]:
    for element in part.iter():
        if element.get("href", "").startswith("#"):
            yield element.attrib["href"][1:]
        yield from REFERENCE.findall(element.get("clip-path", ""))


def _short(name: str, value: str) -> str:
    if name == "style":
        return _style(value)
    if value.startswith("rotate(-0 "):
        return ""
    if name in ("d", "x", "y", "transform", "width", "height"):
        return _rounded(" ".join(value.split()))
    return value


def _style(style: str) -> str:
    """A style in the colours of the page.

    >>> _style("fill: none; stroke: #0072b2; font-family: 'DejaVu Sans', serif")
    'fill:none;stroke:var(--c0072b2)'
    """
    parts = (part.partition(":") for part in style.split(";"))
    pairs = [(name.strip(), value.strip()) for name, _, value in parts if value]
    kept = [(name, COLOURS.get(value, value)) for name, value in pairs if name not in LEFT_OUT]
    return ";".join(f"{name}:{value}" for name, value in kept)


def _rounded(numbers: str) -> str:
    """With two places after the point, which is finer than a screen.

    >>> _rounded("M 26.72024 196.5 L 0.99999 7")
    'M26.72 196.5L1 7'
    """
    short = re.sub(r"\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}".rstrip("0").rstrip("."), numbers)
    return re.sub(r" ?([A-Za-z]) ", r"\1", short)
