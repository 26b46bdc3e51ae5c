"""Parts of the pages that are made of measurements: see docs/scripts/compare.py and gather.py."""

import json
import math
import statistics
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gather import study
from markup import table

from gossamer.experiments import Verdict
from gossamer.studies.language.grids import TRANSFORMER
from gossamer.studies.language.transformer_table import PRINTED
from gossamer.studies.language.transformer_table import TASKS as PROTOCOLS
from gossamer.studies.synthetic.ring_noise import ROBUST
from gossamer.studies.wording import show_hyperparameters

RESULTS = Path(__file__).parent.parent / "results"

Final = dict[str, Any]
"""How a tuned method did under one noise: hyper-parameters, initial error, errors of the seeds."""


@cache
def compared() -> dict[str, Any]:
    """What docs/scripts/compare.py wrote."""
    return json.loads((RESULTS / "methods.json").read_text(encoding="utf-8"))


def spread(errors: Sequence[float | None]) -> str:
    """Median and range over the seeds; a seed without a finite error diverged.

    >>> spread([0.1, 0.3, 0.2]), spread([0.1, None])
    ('0.20 [0.10, 0.30]', 'diverged')
    """
    finite = [error for error in errors if error is not None]
    if len(finite) < len(errors):
        return "diverged"
    return f"{_short(statistics.median(finite))} [{_short(min(finite))}, {_short(max(finite))}]"


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.3g}" if value < 1e4 else f"{value:.0e}"


def robust(final: Final) -> bool:
    """No seed ends above half of its initial error."""
    return all(e is not None and e < ROBUST * final["initial"] for e in final["errors"])


def _median(final: Final) -> float:
    return statistics.median(math.inf if e is None else e for e in final["errors"])


def by_noise(problem: str) -> str:
    """Every method under every noise: the lowest median in bold, failures marked."""
    found = compared()["methods"]
    noises = list(next(iter(found.values()))[problem])
    lowest = {n: min(found, key=lambda m: _median(found[m][problem][n])) for n in noises}
    worst = {m: max(_median(final) for final in found[m][problem].values()) for m in found}
    rows = [
        [_link(method)] + [_cell(found[method][problem][n], lowest[n] == method) for n in noises]
        for method in sorted(found, key=lambda m: worst[m])
    ]
    return table(["method", *(f"{noise} noise" for noise in noises)], rows)


def _cell(final: Final, best: bool) -> str:
    shown = spread(final["errors"])
    return f"**{shown}**" if best else shown if robust(final) else f"✗ {shown}"


def _link(method: str) -> str:
    """The class, linked; a second reading of it keeps its remark."""
    name, remark = compared()["methods"][method]["class"], method.partition(" ")[2]
    return f"[{name}](algorithms/{name}.md)" + (f" {remark}" if remark else "")


def decision(_: str) -> str:
    """For nodes alike and different, under every noise: the lowest, the as good, the bad."""
    found = compared()["methods"]
    rows = [
        [f"{problem}, {noise} noise", *_choice({m: e[problem][noise] for m, e in found.items()})]
        for problem in ("alike", "different")
        for noise in next(iter(found.values()))[problem]
    ]
    return table(["nodes and noise", "lowest error", "as good", "avoid"], rows)


def _choice(finals: dict[str, Final]) -> list[str]:
    errors = {m: _median(final) for m, final in sorted(finals.items(), key=lambda f: _median(f[1]))}
    best, lowest = next(iter(errors.items()))
    sound = [m for m in errors if robust(finals[m])]
    good = [m for m in sound if errors[m] <= 1.5 * lowest and m != best]
    bad = [m for m in errors if m not in sound or errors[m] >= 4 * lowest]
    return [", ".join(map(_link, group)) for group in ([best], good, bad)]


def tuning(problem: str) -> str:
    """The share of every method's search set that ends near its best, and that fails."""
    found = compared()["methods"]
    noises = list(next(iter(found.values()))[problem])
    rows = [
        [_link(method), str(entry[problem][noises[0]]["settings"])]
        + [_shares(entry[problem][noise]) for noise in noises]
        for method, entry in found.items()
    ]
    return table(["method", "settings", *(f"{noise} noise" for noise in noises)], rows)


def _shares(final: Final) -> str:
    good, useless = (final[key] / final["settings"] for key in ("good", "useless"))
    return f"{good:.0%} good, {useless:.0%} useless" if robust(final) else "✗"


def momenta(_: str) -> str:
    """GT-NSGDm's final error for every momentum of the grid and of two rules, step size tuned."""
    found = study()["momenta"]
    grid = next(iter(found.values()))["momenta"][:-2]
    rules = ["1 − T^(−1/2)", "from samples"]
    rows = [
        [name, *(_tuned(entry, k) for entry in found.values())]
        for k, name in enumerate([f"{beta:g}" for beta in grid] + rules)
    ]
    return table(["β", *(f"{noise} noise" for noise in found)], rows)


def _tuned(entry: dict[str, Any], k: int) -> str:
    best = min(statistics.median(errors) for errors in entry["errors"])
    error = statistics.median(entry["errors"][k])
    shown = f"**{error:.2f}**" if error == best else f"{error:.2f}"
    return f"{shown} (α = {entry['lr'][k]:g})"


def measured(method: str) -> str:
    """One method's tuned parameters and final errors, on both problems."""
    entries = {n: e for n, e in compared()["methods"].items() if e["class"] == method}
    rows = [
        [
            name,
            problem,
            noise,
            show_hyperparameters(final["hyperparameters"]),
            spread(final["errors"]),
            "yes" if robust(final) else "no",
        ]
        for name, entry in entries.items()
        for problem in ("alike", "different")
        for noise, final in entry[problem].items()
    ]
    return table(["method", "nodes", "noise", "tuned to", "final error", "robust"], rows)


def experiment(name: str) -> str:
    """The tables of one experiment, as its report shows them; "name word" takes those with word."""
    name, _, word = name.partition(" ")
    shown = [t for t in study()[name]["tables"] if word in t["title"]]
    return "\n\n".join(f"{t['title']}:\n\n{table(t['columns'], t['rows'])}" for t in shown)


def verdicts(name: str) -> str:
    """What the paper says, what we measure, whether it holds; "name word" takes those with word."""
    name, _, word = name.partition(" ")
    rows = [
        [v.statement, v.ours, holds(v), v.note]
        for v in study()[name]["verdicts"]
        if word in v.statement
    ]
    return table(["the paper, or the expectation", "measured", "holds", "why"], rows)


def holds(verdict: Verdict) -> str:
    """In a word, and for which part."""
    part = f", for {verdict.holds_for}" if verdict.holds == "partly" else ""
    return f"**{verdict.holds}**{part}"


def provenance(_: str) -> str:
    """When, where and with what the numbers were made."""
    methods, full = compared()["made"], study()["ring-noise"]["made"]
    return (
        f"The comparison of all methods was measured on {methods['date']} ({_with(methods)}, "
        f"{methods['machine']}) by `python docs/scripts/compare.py` and is stored in "
        "`docs/results/methods.json`. Tables of named experiments are those of the full study, "
        f"`gossamer run synthetic theory --size full`, of {full['time'][:10]} ({_with(full)}), "
        "stored in `results/full`."
    )


def _with(made: dict[str, Any]) -> str:
    commit = (made["commit"] or "unknown")[:7]
    return f"commit `{commit}`, torch {made['torch']}, Python {made['python']}"


def transformer(method: str) -> str:
    """The printed losses, and ours once gather.py has found them."""
    names = [name for name in PRINTED if TRANSFORMER[name][0].__name__ == method]
    if not names:
        return "Not part of that study."
    printed = [f"{mean:.3f} ± {deviation:.3f}" for mean, deviation in PRINTED[names[0]]]
    tables = study().get("transformer-table", {}).get("tables", [])[: len(PROTOCOLS)]
    ours = [
        [f"ours, protocol `{protocol}`", *_losses(found, names[0])]
        for protocol, found in zip(PROTOCOLS, tables, strict=False)
    ]
    columns = ["validation loss", "ring", "directed exponential", "complete"]
    return table(columns, [["printed", *printed], *ours])


def _losses(found: dict[str, Any], name: str) -> list[str]:
    """Our losses in the row of a method, whose table may have the printed ones between them."""
    cells = next((row for row in found["rows"] if row[0] == name), None)
    if cells is None:
        return ["still to be run"] * 3
    return [
        cell
        for cell, column in zip(cells[1:], found["columns"][1:], strict=True)
        if "printed" not in column
    ]


TABLES: dict[str, Callable[[str], str]] = {
    "decision": decision,
    "by_noise": by_noise,
    "tuning": tuning,
    "momenta": momenta,
    "measured": measured,
    "experiment": experiment,
    "verdicts": verdicts,
    "provenance": provenance,
    "transformer": transformer,
}
