"""A comparison on a terminal: a table that fits, and who won."""

import math

import click

from gossamer.cli.terminal import bad, columns, good, say
from gossamer.simulation import Comparison, Table
from gossamer.simulation.comparison import Entry


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


def say_winner(found: Comparison, metric: str) -> None:
    """The verdict: who is best, by how much, and whether the seeds agree."""
    best, *others = found.ranked(metric)
    lowest = best.final(metric).middle
    if not math.isfinite(lowest):
        say(": try smaller step sizes.", head="No method reached the end", paint=bad)
    elif others:
        say(_lead(best, others[0], metric), head=f"Best: {best.run.label}", paint=good)


def _lead(best: Entry, second: Entry, metric: str) -> str:
    """By how much the best leads."""
    name = metric.replace("_", " ")
    first, after = best.final(metric), second.final(metric)
    lead = f", with a final {name} of {first.middle:.3g}. "
    if not math.isfinite(after.middle):
        return lead + "No other method reached the end."
    times = f"{after.middle / first.middle:.3g} times that value" if first.middle > 0 else ""
    lead += f"Second is {second.run.label}, with {times or format(after.middle, '.3g')}"
    apart = first.numbers["highest"] < after.numbers["lowest"]
    return f"{lead}; their ranges over the seeds {'do not overlap' if apart else 'overlap'}."
