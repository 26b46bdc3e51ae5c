"""docs/peers.md and docs/images/peers.png, from results.json and the words of features.md.

python benchmarks/peers/report.py      after a change of words or looks
"""

import json
import math
import statistics
from pathlib import Path
from typing import Any

from agreement import OURS
from losses import LOST, NODES, NORMALIZED, SEEDS, SENT

from gossamer.colours import OKABE_ITO
from gossamer.plots import panels, style

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
FEATURES = HERE / "features.md"
DOCS = HERE.parents[1] / "docs"

PAGE = """\
# Comparison with other tools

This page compares Gossamer with three similar tools: decent-bench, DISROPT and decent-dp.
`make peers` installs each of them, measures, and writes this page.

## Speed

All tools ran the same problem, graph, update and number of rounds. Every node has its own
least-squares problem in {dim} dimensions, in float64, with exact gradients and one thread per
process. Gossamer applies each update in the same order as the other tool, so both must end at the
same points, up to rounding. In two cases, "ring of 20, tracking" and "four in
pairs", the update differs a little from Gossamer's own method. We wrote these two updates for this
comparison (`benchmarks/peers/forms.py`).

- *Case* names the number of nodes, the graph and the method. "In pairs" means that a node talks to
  one neighbour per round.
- *Rounds per second* is the median (lowest – highest) of {samples} repetitions in {launches}
  launches.
- *Gap* is the largest difference from Gossamer's simulator in any coordinate of any node, after
  {rounds} rounds.
- "100 stacked" is `gs.sweep` with 100 settings at once. The rounds of all settings are added up.
- "Processes" is `DecentralizedOptimizer` on a torch module with autograd. decent-dp also uses
  autograd. DISROPT computes its gradient in closed form with numpy.
- decent-dp sends messages while it computes the next gradient. It has no gradient tracking.

{table}

![Rounds per second of every tool](images/peers.png)

{notes}Measured on {date}: {cpu}, {cores} cores, Python {python}, torch {torch}. A message here is
only {dim} numbers, so the table measures the tools and not the network. With large models, messages
take most of the time: see [what a step costs](distributed.md#what-it-costs).

## What happens if 1 % of messages are lost, or if messages carry only the top 10 % of the numbers

{losses}

## Methods that decent-bench and Gossamer share

{agreement}

{features}
"""

AGREEMENT = """\
We ran decent-bench's own class and Gossamer's method on the ring of 20 nodes of the first table,
for {rounds} rounds. *Error* is defined as in the previous table. *Gap* is the largest difference
between the results of both tools in any coordinate of any node. Local Exact Diffusion (`LED`) runs
with $(I + W)/2$ in place of W.

{table}

{notes}Measured on {date}.
"""

LOSSES = """\
Here {nodes} nodes on a ring solve the same kind of problem for {rounds:,} rounds, with exact
gradients. GT-NSGDm has steps of length {normalized}. We
used each tool's own settings for lost and compressed messages:

- decent-bench uses `UniformDropRate({lost})` and `TopK({sent})`.
- Gossamer uses `ring({nodes}).drops({lost})` and `ring({nodes}).compressed(gs.TopK({sent}))`.

A compressed message contains {kept} of 20 numbers. The table shows the error
$\\tfrac{{1}}{{n}} \\sum \\lVert x_i - x^* \\rVert / \\lVert x^* \\rVert$, which is 1 at the start.
Where messages are lost, it is the median of {seeds} seeds (lowest – highest). Methods have the
names that each tool gives them.

{table}

{notes}What each tool does:

- **decent-bench** adds up the messages that arrived, with the weights of the whole network. The
  weight of a lost message is missing from the sum. So the parameters shrink towards 0, which is
  the starting point of this problem, and trackers permanently lose a part of the gradient. A
  compressed message is averaged as if its missing entries were 0.
- **Gossamer** gives the weight of a lost message to the receiver's own parameters. A lost part of a
  tracker is sent with the next message. What a compressed message leaves out is sent later
  ([bad networks](bad-networks.md)).

Compressed messages slow the averaging down. DSGD and GT-NSGDm with constant step sizes do not end
exactly at the optimum, and they end farther away where averaging is slower.

{when}
"""


MESSAGES = {
    "whole": "error, whole messages",
    "lossy": "error, 1 % of the messages lost",
    "compressed": "error, compressed messages",
}
"""Network of the second table → the head of its column."""


def write_report(results: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    (DOCS / "peers.md").write_text(page(results))
    draw(results, DOCS / "images" / "peers.png")


def page(results: dict[str, Any]) -> str:
    """The page of the docs."""
    machine, problem = results["machine"], results["problem"]
    return PAGE.format(
        table=table(results["rows"]),
        notes="".join(f"{name} is missing: {why}.\n" for name, why in results["missing"].items()),
        samples=problem["launches"] * problem["repetitions"],
        losses=losses_section(results["losses"]),
        agreement=agreement_section(results["agreement"]),
        features=FEATURES.read_text(encoding="utf-8").strip(),
        **problem,
        **machine,
    )


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| case | update | tool | rounds per second | gap |", "|---|---|---|---|---|"]
    before = ""
    for row in rows:
        case, update = ("", "") if row["case"] == before else (row["case"], row["update"])
        ours = row["tool"].startswith("Gossamer")
        tool = f"**{row['tool']}**" if ours else f"{row['tool']} {row['version']}"
        speed, gap = spread(row["rounds per second"]), f"{row['gap']:.0e}" if row["gap"] else "0"
        lines.append(f"| {case} | {update} | {tool} | {speed} | {gap} |")
        before = row["case"]
    return "\n".join(lines)


def agreement_section(agreement: dict[str, Any]) -> str:
    """The third table, with its words."""
    lines = ["| decent-bench | Gossamer | error | gap |", "|---|---|---|---|"]
    for row in agreement["rows"]:
        names = f"| `{row['method']}` | `{OURS[row['method']]}` |"
        lines.append(f"{names} {row['error']:.3g} | {row['gap']:.0e} |")
    missing = agreement["missing"].items()
    return AGREEMENT.format(
        table="\n".join(lines),
        rounds=agreement["rounds"],
        notes="".join(f"{name} is missing: {why}.\n\n" for name, why in missing),
        date=agreement["date"],
    ).strip()


def losses_section(losses: dict[str, Any]) -> str:
    """The second table, with its words."""
    return LOSSES.format(
        nodes=NODES,
        lost=LOST,
        sent=SENT,
        kept=math.ceil(SENT * 20),
        seeds=SEEDS["lossy"],
        normalized=NORMALIZED,
        rounds=losses["rounds"],
        table=losses_table(losses["rows"]),
        notes="".join(f"{name} is missing: {why}.\n\n" for name, why in losses["missing"].items()),
        when=f"Measured on {losses['date']}.",
    ).strip()


def losses_table(rows: list[dict[str, Any]]) -> str:
    """A line per tool and method, a column per network."""
    networks = list(dict.fromkeys(row["network"] for row in rows))
    heads = " | ".join(MESSAGES[network] for network in networks)
    lines = [f"| tool | method | {heads} |", "|---" * (len(networks) + 2) + "|"]
    found = {(row["tool"], row["method"], row["network"]): row["errors"] for row in rows}
    before = ""
    for tool, method in dict.fromkeys((row["tool"], row["method"]) for row in rows):
        shown = f"**{tool}**" if tool == "Gossamer" else tool
        cells = [error_cell(found.get((tool, method, network))) for network in networks]
        first = "" if tool == before else shown
        lines.append(f"| {first} | {method} | {' | '.join(cells)} |")
        before = tool
    return "\n".join(lines)


def error_cell(errors: list[float] | None) -> str:
    """The median of several, with lowest and highest where these differ as shown."""
    if errors is None:
        return ""
    median, low, high = (
        f"{value:.2g}" for value in (statistics.median(errors), min(errors), max(errors))
    )
    return median if low == high else f"{median} ({low} – {high})"


def spread(speeds: list[float]) -> str:
    median, low, high = statistics.median(speeds), min(speeds), max(speeds)
    return f"{median:,.0f} ({low:,.0f} – {high:,.0f})"


def draw(results: dict[str, Any], path: Path) -> None:
    """One line per case and tool: every repetition a dot, their median a bar."""
    lines: list[tuple[str, dict[str, Any]]] = []  # a title line, then one per tool
    for row in results["rows"]:
        if not lines or lines[-1][1]["case"] != row["case"]:
            lines.append((row["case"], {"case": row["case"], "rounds per second": []}))
        lines.append((row["tool"], row))
    with style():
        figure, (ax,) = panels(1, width=7.2, height=4.4)
        for place, (tool, row) in enumerate(lines):
            speeds, colour = row["rounds per second"], OKABE_ITO[0 if "Gossamer" in tool else 1]
            ax.plot(speeds, [place] * len(speeds), "o", color=colour, markersize=4, alpha=0.35)
            if speeds:
                ax.plot(statistics.median(speeds), place, "|", color=colour, markersize=14, mew=2.5)
        ax.set_yticks(range(len(lines)), [tool for tool, _ in lines])
        for (_, row), label in zip(lines, ax.get_yticklabels(), strict=True):
            label.set_weight("normal" if row["rounds per second"] else "bold")
        ax.set(xscale="log", xlabel="rounds per second", ylim=(len(lines) - 0.5, -0.5))
        ax.tick_params(axis="y", length=0)
        ax.grid(False, axis="y")
        figure.savefig(path)


if __name__ == "__main__":
    write_report(json.loads(RESULTS.read_text()))
