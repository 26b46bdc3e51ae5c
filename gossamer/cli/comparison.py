"""A comparison on a terminal: a table that fits, and who won."""

import math
from collections.abc import Mapping

import click

from gossamer.cli.terminal import bad, columns, good, say
from gossamer.simulation import Comparison, Table
from gossamer.simulation.comparison import COST_COLUMNS, Entry
from gossamer.simulation.words import digits_apart
from gossamer.text import listing


def say_table(found: Comparison, metric: str) -> None:
    """Its table, hyper-parameters below it where there is no room; the best green, failures red."""
    whole = found.table(metric)
    fits = max(map(len, repr(whole).splitlines()[: len(found.entries) + 1])) <= columns()
    table = whole if fits else _narrow(whole)
    head, *rest = repr(table).splitlines()
    click.echo(head)
    ranked = found.ranked(metric)
    for line, entry in zip(rest, ranked, strict=False):
        failed = not math.isfinite(entry.final(metric).middle)
        click.echo(bad(line) if failed else good(line) if entry is ranked[0] else line)
    for note in rest[len(ranked) :]:
        say(note, then="  ")


def _narrow(whole: Table) -> Table:
    """Without hyper-parameters, which become notes."""
    columns = {column.name: column for column in whole.columns}
    told = columns.pop("hyperparameters")
    pairs = zip(columns["method"].cells, told.cells, strict=True)
    return Table([*columns.values()], [*(f"{name}: {cell}" for name, cell in pairs), *whole.notes])


SPENT = {
    "gradients": ("evaluated", " gradients"),
    "messages": ("sent", " messages"),
    "bytes": ("sent", ""),
    "seconds": ("taken", " seconds"),
}
"""Cost → what a node has done for it, and the unit that is not written with the number."""


def say_winner(found: Comparison, metric: str, against: str = "steps") -> None:
    """The verdict: who is best, by how much, whether the seeds agree, and what it cost."""
    best, *others = found.ranked(metric)
    lowest = best.final(metric).middle
    if not math.isfinite(lowest):
        say(": try smaller step sizes.", head="No method reached the end", paint=bad)
    elif others:
        steps = f" after {best.run.steps[-1]:,} steps each" if against in SPENT else ""
        name = {id(entry): name for entry, name in zip(found.entries, found.names, strict=True)}
        two = {name[id(entry)]: entry for entry in (best, others[0])}
        head, second = two
        told = _lead(best, others[0], second, metric) + _by_then(two, against)
        say(told, head=f"Best{steps}: {head}", paint=good)


def _by_then(entries: Mapping[str, Entry], cost: str) -> str:
    """What the steps have cost with each method that has taken them, as a sentence."""
    if cost not in SPENT:
        return ""
    (verb, unit), (_, show) = SPENT[cost], COST_COLUMNS[cost]
    spent = [(name, entry.final(cost).middle) for name, entry in entries.items()]
    told = [f"{show(much)}{unit} with {label}" for label, much in spent if math.isfinite(much)]
    return f" By then, a node has {verb} {listing(told)}."


def _lead(best: Entry, second: Entry, called: str, metric: str) -> str:
    """By how much the best leads before the second, which is `called` so."""
    name = metric.replace("_", " ")
    first, after = best.final(metric), second.final(metric)
    digits = digits_apart([first.middle, after.middle])
    lead = f", with a final {name} of {first.middle:.{digits}g}. "
    if not math.isfinite(after.middle):
        return lead + "No other method reached the end."
    times = after.middle / first.middle if first.middle > 0 else 1
    behind = f"{times:.3g} times that value" if times > 1.01 else f"{after.middle:.{digits}g}"
    lead += f"Second is {called}, with {behind}"
    apart = first.numbers["highest"] < after.numbers["lowest"]
    return f"{lead}; their ranges over the seeds {'do not overlap' if apart else 'overlap'}."
