"""Parts of the pages that are made of measurements, which docs/scripts/gather.py reads."""

import re
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gather import DOCS, EXPERIMENTS, NotStored, gathered
from markup import table

from gossamer.experiments import Results, Table, Verdict
from gossamer.studies.language.grids import MODERN, TRANSFORMER
from gossamer.studies.language.modern_table.situations import PRINTED as PUBLISHED
from gossamer.studies.language.modern_table.situations import TASKS as CORPORA
from gossamer.studies.language.modern_table.situations import tuned_name
from gossamer.studies.language.task import final_losses
from gossamer.studies.language.transformer_table import PRINTED
from gossamer.studies.language.transformer_table import TASKS as PROTOCOLS
from gossamer.studies.methods.all_methods import METHODS
from gossamer.studies.methods.bad_networks import situations as bad_networks
from gossamer.studies.theory.rates import NOISY, RULES
from gossamer.studies.wording import mean_and_deviation

LINKED = {**MODERN, **METHODS, **bad_networks.METHODS}
"""Name in a table → class and search set."""


def experiment(name: str) -> str:
    """The tables of an experiment, as its report shows them; "name words" takes those titled so."""
    name, _, words = name.partition(" ")
    shown = [found for found in gathered(name).tables if words in found.title]
    return "\n\n".join(f"{found.title}:\n\n{_linked(found)}" for found in shown)


def _linked(found: Table) -> str:
    return table(found.columns, [[link(cell) for cell in row] for row in found.rows])


def link(cell: str) -> str:
    """A method, or several, linked to their pages; a second reading of one keeps its remark.

    >>> link("GT-NSGDm, DSGD-Clip (shrinking)")
    '[GT-NSGDm](algorithms/GTNSGDm.md), [DSGD-Clip](algorithms/DSGDClip.md) (shrinking)'
    >>> link("lr = 0.1, clip = 1")
    'lr = 0.1, clip = 1'
    """
    names = cell.split(", ")
    return ", ".join(map(_link, names)) if set(names) <= set(LINKED) else cell


def _link(method: str) -> str:
    label, remark, rest = method.partition(" (")
    return f"[{label}](algorithms/{LINKED[method][0].__name__}.md){remark}{rest}"


def measured(method: str) -> str:
    """One method's tuned parameters and final errors; the name only if it has several readings."""
    (found,) = [t for t in gathered("all-methods").tables if t.title.startswith("What every")]
    rows = [row for row in found.rows if METHODS[row[0]][0].__name__ == method]
    k, shown = found.columns.index("tuned to"), len({row[0] for row in rows}) == 1
    tuned = zip(rows, _varied([row[k] for row in rows]), strict=True)
    rows = [[*row[:k], settings, *row[k + 1 :]] for row, settings in tuned]
    return table(found.columns[shown:], [row[shown:] for row in rows])


def _varied(settings: Sequence[str]) -> list[str]:
    """The settings without what is the same in all of them.

    >>> _varied(["lr = 1, eps = 0.1", "lr = 2, eps = 0.1"])
    ['lr = 1', 'lr = 2']
    """
    apart = [one.split(", ") for one in settings]
    fixed = set.intersection(*map(set, apart))
    return [", ".join(part for part in parts if part not in fixed) for parts in apart]


def momenta(_: str) -> str:
    """GT-NSGDm's final error for every momentum of the grid and of two rules, step size tuned."""
    found = gathered("auto-momentum").results
    grid = next(iter(found.values()))["momenta"][:-2]
    rules = ["Theorem 2 (p unknown)", "Theorem 1 (p estimated)"]
    rows = [
        [name, *(_tuned(entry["errors"], k) for entry in found.values())]
        for k, name in enumerate([f"{beta:g}" for beta in grid] + rules)
    ]
    return table(["β", *(f"{noise} noise" for noise in found)], rows)


def _tuned(errors: Sequence[Sequence[float]], k: int) -> str:
    error = statistics.median(errors[k])
    return f"**{error:.2f}**" if error == min(map(statistics.median, errors)) else f"{error:.2f}"


def rates(_: str) -> str:
    """The slopes of both theorems, and those measured under mild and loud noise, for every p."""
    (found,) = gathered("rates").tables
    slopes = {(p, noise, rule): shown[:2] for p, noise, rule, *shown in found.rows}
    rows = [
        [p, *(cell for rule in RULES for cell in _slopes(slopes, p, rule))]
        for p in dict.fromkeys(p for p, _, _ in slopes)
    ]
    noises = [f"measured, {noise} noise" for noise in NOISY]
    return table(["p", "exponent of Theorem 1", *noises, "exponent of Theorem 2", *noises], rows)


def _slopes(slopes: Mapping[tuple[str, str, str], Sequence[str]], p: str, rule: str) -> list[str]:
    theorem, _ = slopes[p, NOISY[0], rule]
    return [theorem, *(slopes[p, noise, rule][1] for noise in NOISY)]


def verdicts(name: str) -> str:
    """What is said, what we measure, whether it holds; "name words" takes statements with words."""
    name, _, words = name.partition(" ")
    rows = [
        [v.statement, v.ours, holds(v), v.note]
        for v in gathered(name).verdicts
        if words in v.statement
    ]
    return table(["statement", "measured", "holds", "remarks"], rows)


def failures(source: str) -> str:
    """All stored statements of the paper, or of ours, that hold in part only or not at all."""
    rows = [
        [v.statement, holds(v), f"[{name}]({_evidence(name)})"]
        for name in EXPERIMENTS
        for v in _verdicts(name)
        if v.source == source and v.holds != "yes"
    ]
    return table(["statement", "holds", "experiment"], rows)


def _verdicts(name: str) -> Sequence[Verdict]:
    try:
        return gathered(name).verdicts
    except NotStored:
        return ()


def _evidence(name: str) -> str:
    """The page that shows an experiment, or else the list of all."""
    marker = re.compile(rf"^\[\[(verdicts|experiment) {name}\b", re.MULTILINE)
    for page in sorted(DOCS.glob("*.md")):
        if marker.search(page.read_text(encoding="utf-8")):
            return page.name
    return "reproduce.md"


NAMED = 3
"""Up to so many parts that hold are named."""


def holds(verdict: Verdict) -> str:
    """In a word, and for which parts, or for how many.

    >>> holds(Verdict("λ is small", "0.1", {"ring": True, "complete": True, "path": False}))
    '**partly**, for ring; complete'
    >>> holds(Verdict("λ is small", "0.1", {f"network {k}": k > 3 for k in range(9)}))
    '**partly**, in 5 of 9 cases'
    """
    if isinstance(verdict.condition, bool) or verdict.holds != "partly":
        return f"**{verdict.holds}**"
    true, parts = sum(verdict.condition.values()), len(verdict.condition)
    return "**partly**, " + (
        f"for {verdict.holds_for}" if true <= NAMED else f"in {true} of {parts} cases"
    )


def provenance(name: str) -> str:
    """When and with what most of the results of an experiment were made."""
    made = Counter(map(_made, gathered(name).made))
    [(how, most)] = made.most_common(1)
    share = f"All {most}" if most == made.total() else f"{most} of the {made.total()}"
    return f"{share} results in `results/full/{name}` were made {how}. Each file says how."


def _made(how: Mapping[str, Any]) -> str:
    day, commit = how["time"][:10], (how["commit"] or "unknown")[:7]
    return f"on {day} at commit `{commit}` with torch {how['torch']} and Python {how['python']}"


def transformer(method: str) -> str:
    """The printed losses beside ours."""
    names = [name for name in PRINTED if TRANSFORMER[name][0].__name__ == method]
    if not names:
        return "The Transformer study of the paper does not include this method."
    printed = [f"{mean:.3f} ± {deviation:.3f}" for mean, deviation in PRINTED[names[0]]]
    tables = gathered("transformer-table").tables
    ours = [
        [f"ours, `{protocol}` protocol", *losses(found, names[0])]
        for protocol, found in zip(PROTOCOLS, tables, strict=False)
    ]
    columns = ["validation loss", "ring", "directed exponential", "complete"]
    return table(columns, [["printed in the paper", *printed], *ours])


def losses(found: Table, method: str) -> Sequence[str]:
    """Our losses in the row of a method, whose table may have the printed ones between them.

    >>> losses(Table("", ["method", "ring, printed", "ring, ours"], [["DSGD", "1", "2"]]), "DSGD")
    ['2']
    >>> losses(Table("", ["method", "ring", "complete"], []), "DSGD")
    ['still to be run', 'still to be run']
    """
    ours = [k for k, column in enumerate(found.columns) if k and "printed" not in column]
    cells = next((row for row in found.rows if row[0] == method), None)
    return ["still to be run" if cells is None else cells[k] for k in ours]


MODERN_COLUMNS = [f"{corpus}, {whose}" for corpus in CORPORA for whose in ("printed", "ours")]


def modern_cells(results: Results, method: str) -> list[str]:
    """A method's printed losses and ours, on both corpora."""
    found = []
    for corpus in CORPORA:
        published = PUBLISHED[corpus].get(method)
        found.append("–" if published is None else f"{published:.3f}")
        found.append(mean_and_deviation(final_losses(results[tuned_name(corpus, method)])))
    return found


TABLES: dict[str, Callable[[str], str]] = {
    "momenta": momenta,
    "measured": measured,
    "experiment": experiment,
    "verdicts": verdicts,
    "failures": failures,
    "provenance": provenance,
    "transformer": transformer,
    "rates": rates,
}
