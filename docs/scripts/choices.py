"""For every situation of the stored studies, the method that is nowhere far from the lowest."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from from_results import link, modern_cells
from gather import gathered
from markup import table

from gossamer.experiments import Result, Results
from gossamer.studies.language.modern_table.reading import losses
from gossamer.studies.language.modern_table.situations import TASKS
from gossamer.studies.methods import all_methods
from gossamer.studies.methods.bad_networks import reading as bad_networks
from gossamer.studies.methods.bad_networks.situations import METHODS, PARTS
from gossamer.studies.methods.clip_or_normalize import reading as clip
from gossamer.studies.methods.clip_or_normalize import situations as clipping
from gossamer.studies.methods.clip_or_normalize.situations import SITUATIONS, Situation
from gossamer.studies.methods.standing import AS_GOOD, OURS, median_error, robust

NAMED = 4
"""At most so many methods are named as good."""

Errors = Mapping[str, float]
"""Method → its median error in one situation; ∞ where it is not robust."""


class Choice(NamedTuple):
    """A row: what one knows, in words, and the situations that were measured of it."""

    known: str
    situations: Sequence[Errors]


def multiples(situations: Sequence[Errors]) -> dict[str, float]:
    """Method → its largest multiple of the lowest error; the least first, without the refused.

    >>> multiples([{"A": 1.0, "B": 2.0, "C": 1.0}, {"A": 3.0, "B": 1.0}])
    {'B': 2.0, 'A': 3.0}
    """
    admitted = [m for m in situations[0] if all(m in errors for errors in situations)]
    found = {m: max(of[m] / min(of.values()) for of in situations) for m in admitted}
    return dict(sorted(found.items(), key=lambda entry: entry[1]))


def cells(choice: Choice) -> list[str]:
    """The row: what to take, what is as good, and where GT-NSGDm ends.

    >>> cells(Choice("nodes alike", [{"DSGD": 2.0, "EXTRA": 2.5, "GT-NSGDm": 4.0}]))
    ['nodes alike', '[DSGD](algorithms/DSGD.md) 1.0', '[EXTRA](algorithms/EXTRA.md) 1.2', '2.0']
    """
    (best, least), *others = (found := multiples(choice.situations)).items()
    good = [f"{link(m)} {times:.1f}" for m, times in others if times <= AS_GOOD]
    more = [f"and {len(good) - NAMED} more"] if len(good) > NAMED else []
    ours = f"{found[OURS]:.1f}" if found[OURS] < math.inf else "not robust"
    named = ", ".join(good[:NAMED] + more)
    return [choice.known, f"{link(best)} {least:.1f}", named or "–", ours]


def choices(which: str) -> str:
    """A table of what to take, of those in `CHOICES`."""
    return table(["your situation", "take", "also good", OURS], map(cells, CHOICES[which]()))


def _errors(found: Mapping[str, Result]) -> Errors:
    return {m: median_error(of) if robust(of) else math.inf for m, of in found.items()}


def clean() -> list[Choice]:
    """On a clean ring."""
    results = gathered("all-methods").results
    noises = {"light tails": ["Gaussian"], "heavy tails": ["Student-t", "α-stable"]}
    return [
        Choice(f"nodes {kind}, {noise}", [_in_six(results, kind, name) for name in names])
        for kind in all_methods.KINDS
        for noise, names in noises.items()
    ]


def _in_six(results: Results, kind: str, noise: str) -> Errors:
    return _errors(all_methods.in_situation(results, kind, noise))


APART = {"alike or 1 apart": (0.0, 1.0), "10 apart": (10.0,)}


def constant_steps() -> list[Choice]:
    """Clipping and normalizing, with constant steps, under heavy tails of either shape."""
    results = gathered("clip-or-normalize").results
    return [
        Choice(
            f"nodes {nodes}, heavy {shape} tails",
            [
                clip.median_errors(results, s)
                for s in SITUATIONS
                if s.shape == shape and s.spread in spreads and s.tail < 2
            ],
        )
        for shape in clipping.SKEWNESS
        for nodes, spreads in APART.items()
    ]


WELL = ("one-way", "loss both ways", "loss one way", "four bits")
ILL = ("loss in bursts", "top tenth", "signs", "every 5th", "lossy, short, rare", "all at once")
BAD = {
    "alike": {
        "one of these faults: one-way links; messages lost at random; messages that carry only a "
        "tenth of the coordinates; messages in every 5th step only": (PARTS["alike"][1:-1]),
        "several faults at once, e.g. one-way links, messages lost at random, and messages that "
        "carry only a fifth of the coordinates, in every 2nd step only": ("all at once",),
    },
    "different": {
        "one of these faults: one-way links; messages lost at random; messages of four bits per "
        "number": WELL,
        "several faults at once, or one of these: messages lost in bursts; messages that carry "
        "only a tenth of the coordinates, or only signs; messages in every 5th step only": ILL,
    },
}
"""Nodes → words for networks → their names in the study."""

NOISES = {"light tails": "Gaussian", "heavy tails": "Student-t"}


def bad() -> list[Choice]:
    """On networks that average nearly as well as the clean one, and on worse ones."""
    results = gathered("bad-networks").results
    return [
        Choice(
            f"nodes {nodes}, {noise}; {words}",
            [_errors(bad_networks.in_situation(results, nodes, n, law)) for n in names],
        )
        for nodes, groups in BAD.items()
        for words, names in groups.items()
        for noise, law in NOISES.items()
    ]


def few_bytes() -> list[Choice]:
    """Every method with the messages that suit it best."""
    results = gathered("bad-networks").results
    return [
        Choice(f"nodes different, {noise}", [_at_best(results, law)])
        for noise, law in NOISES.items()
    ]


def _at_best(results: Results, noise: str) -> Errors:
    return {
        m: min(_errors(bad_networks.on_networks(results, "equal bytes", noise, m)).values())
        for m in METHODS
    }


def guessed() -> list[Choice]:
    """The worse of a second parameter four times too low and too high, else as tuned."""
    results = gathered("clip-or-normalize").results
    return [
        Choice(
            f"nodes {nodes}, {shape} noise",
            [
                _second_is_off(results, s)
                for s in SITUATIONS
                if s.spread in spreads and s.shape == shape
            ],
        )
        for shape in clipping.SKEWNESS
        for nodes, spreads in APART.items()
    ]


def _second_is_off(results: Results, situation: Situation) -> Errors:
    found = {m: results[clipping.unit_name(situation, m)]["mistuned"] for m in clipping.METHODS}
    return {
        m: max(statistics.median(e) for what, e in of.items() if not what.startswith("lr"))
        for m, of in found.items()
    }


CHOICES: dict[str, Callable[[], list[Choice]]] = {
    "clean": clean,
    "constant": constant_steps,
    "bad": bad,
    "bytes": few_bytes,
    "guessed": guessed,
}


def models(_: str) -> str:
    """Validation losses on both corpora, the method that is least far from the best first."""
    results = gathered("modern-table").results
    both = multiples([losses(results, corpus) for corpus in TASKS])
    rows = [
        [link(m), *modern_cells(results, m)[1::2], f"{times - 1:.1%}"] for m, times in both.items()
    ]
    return table(["method", *TASKS, "above the lowest loss"], rows)


TABLES: dict[str, Callable[[str], str]] = {"choices": choices, "models": models}
