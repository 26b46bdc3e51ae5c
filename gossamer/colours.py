"""The colours of all pictures; a method has the same colour in all of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

BLUE, VERMILLION, GREEN, PINK = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, GREY = "#e69f00", "#56b4e9", "#7d828a"
INK, GROUND = "#1d2129", "#ffffff"

OKABE_ITO = (BLUE, VERMILLION, GREEN, PINK, ORANGE, SKY, INK, GREY)
"""Colours that stay apart for every common kind of colour blindness."""

DARK = {
    BLUE: "#47a9ea",
    VERMILLION: "#f5813a",
    GREEN: "#2fc79b",
    PINK: "#e29ac2",
    ORANGE: "#f2b632",
    SKY: "#8ccbf2",
    GREY: "#a4abb5",
    INK: "#e8eaed",
    GROUND: "#14171c",
}
"""Colour → what it is on a dark page."""

ON_COLOUR = "#fefefe"
"""What is written on dark cells, on every page."""

DASHES = {"-": "", "--": "6 3", "-.": "6 3 1.5 3", ":": "1.5 3"}
"""What a line is in matplotlib → in SVG."""

LINES = tuple(DASHES)


class Look(NamedTuple):
    """How a line is drawn."""

    colour: str
    """Colour on a light page, as "#rrggbb"."""

    line: str = "-"
    """Line style as in matplotlib, e.g. `"--"`."""


LOOKS = {
    "DSGD": Look(GREY),
    "DSGDm": Look(GREY, "--"),
    "QG-DSGDm": Look(GREY, "-."),
    "DSGD-GClip": Look(ORANGE),
    "DSGD-Clip": Look(ORANGE, "--"),
    "DSGD-CClip": Look(ORANGE, "-."),
    "DSGD-BiClip": Look(ORANGE, ":"),
    "Normalized DSGD": Look(PINK),
    "SClip-EF": Look(PINK, "--"),
    "MoTEF": Look(PINK, "-."),
    "GT-DSGD": Look(SKY, "--"),
    "ATC-Tracking": Look(SKY),
    "DIGing": Look(SKY, "-."),
    "Momentum Tracking": Look(SKY, ":"),
    "GT-Clip": Look(GREEN),
    "GT-Adam": Look(GREEN, "--"),
    "GT-NSGDm": Look(BLUE),
    "GT-LayerNSGDm": Look(BLUE, "--"),
    "GT-NSTORM": Look(BLUE, "-."),
    "GT-SignSGDm": Look(VERMILLION),
    "DeMuon": Look(VERMILLION, "--"),
    "EXTRA": Look(INK),
    "Exact Diffusion": Look(INK, "--"),
}
"""What papers call a method → its look. GT-DSGD is dashed: it often lies on DSGD."""


def looks(labels: Sequence[str], taken: Iterable[Look] = ()) -> list[Look]:
    """A look for the line of each label; looks in `taken` are already used in the picture.

    If a method appears twice, e.g. as "GT-Clip (tracker)" and "GT-Clip (gradient)", both lines have
    its colour, in different line styles. Other labels get colours that are not used yet.

    >>> looks(["GT-NSGDm", "GT-NSGDm (lr = 0.1)", "mine"])
    [Look(colour='#0072b2', line='-'), Look(colour='#0072b2', line='--'), Look(...'#d55e00', ...)]
    """
    used, found = list(taken), dict[int, Look]()
    for place, label in sorted(enumerate(labels), key=lambda pair: _how_strange(pair[1])):
        found[place] = _first_free(label, used)
        used.append(found[place])
    return [found[place] for place in range(len(labels))]


def _first_free(label: str, used: Sequence[Look]) -> Look:
    wanted = list(_wanted(label, {look.colour for look in used}))
    return next((look for look in wanted if look not in used), wanted[0])


def _wanted(label: str, used: set[str]) -> Iterator[Look]:
    """Looks that suit, the best first."""
    own = LOOKS.get(_method(label))
    if own is not None:
        yield own
        yield from (Look(own.colour, line) for line in LINES)
        return
    fresh_first = sorted(OKABE_ITO, key=lambda colour: colour in used)
    yield from (Look(colour, line) for line in LINES for colour in fresh_first)


def _how_strange(label: str) -> int:
    """A method of ours, then another reading of one, then others."""
    return 0 if label in LOOKS else 1 if _method(label) in LOOKS else 2


def _method(label: str) -> str:
    """The name of a method without what tells its readings apart."""
    return label.partition(" (")[0]
