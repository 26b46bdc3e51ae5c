"""Which part of the package uses which, read from the source.

`python docs/scripts/imports.py` draws docs/images/imports.svg.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOCS = Path(__file__).parent.parent
PACKAGE = DOCS.parent / "gossamer"
PICTURE = DOCS / "images" / "imports.svg"

LAYERS = (
    ("cli",),
    ("watch",),
    ("train", "report"),
    ("own_names", ""),
    ("", "studies"),
    ("handover", "experiments"),
    ("distributed", "simulation", "theory"),
    ("native", "kinds"),
    ("problems", "tails"),
    ("", "fit", ""),
    ("models", "data", "networks", "algorithms", "noise"),
    ("", "spec", ""),
)
"""Top to bottom: a part may import from the layers below its own, and from the tools of all.

An empty word leaves a gap in the picture.
"""

A_ROW = 8
"""Most tools beside each other in the picture."""

Imports = dict[str, set[str]]
"""Part → the parts it imports."""


def imports(package: Path = PACKAGE) -> Imports:
    """Every part of the package with the other parts that any of its files imports."""
    found: Imports = {}
    for file in sorted(package.rglob("*.py")):
        part = file.relative_to(package).parts[0].removesuffix(".py")
        if not part.startswith("__"):  # the public namespace and `python -m gossamer`
            found.setdefault(part, set()).update(_imported(file, package.name) - {part})
    return found


def _imported(file: Path, package: str) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    modules = {name for node in ast.walk(tree) for name in _modules(node, package)}
    return {parts[1] for module in modules if len(parts := module.split(".")) > 1}


def _modules(node: ast.AST, package: str) -> Iterator[str]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        whole = node.module == package  # from gossamer import networks
        names = [f"{package}.{a.name}" for a in node.names] if whole else [node.module]
    return (name for name in names if name.split(".")[0] == package)


def tools(found: Imports) -> list[str]:
    """Parts that import none of the layers: everyone may use them."""
    layered = {part for layer in LAYERS for part in layer}
    return sorted(p for p, used in found.items() if not used & layered and p not in layered)


def upward(found: Imports) -> list[str]:
    """Imports against the order, and parts that have no place in it."""
    level = {part: depth for depth, layer in enumerate(LAYERS) for part in layer}
    level |= dict.fromkeys(tools(found), len(LAYERS))
    homeless = [f"{part} has no place in LAYERS" for part in found if part not in level]
    layered = {part: used for part, used in found.items() if part not in tools(found)}
    return homeless + [
        f"{part} imports {other}"
        for part, used in layered.items()
        for other in sorted(used)
        if part in level and other in level and level[other] <= level[part]
    ]


def arrows(found: Imports) -> list[tuple[str, str]]:
    """The imports that do not follow from others, those of the tools left out."""
    graph = nx.DiGraph((part, other) for part, used in found.items() for other in used)
    graph.remove_nodes_from(tools(found))
    return sorted(nx.transitive_reduction(graph).edges)


def summary(found: Imports) -> str:
    """The picture in words, kept inside it so that a stale one is noticed."""
    drawn = ", ".join(f"{part} to {other}" for part, other in arrows(found))
    return f"{drawn}; tools: {', '.join(tools(found))}"


def draw(found: Imports) -> "Figure":
    """A row per layer, and the arrows."""
    from gossamer.plots import panels, style

    shared = tools(found)
    rows = [*LAYERS, *(tuple(shared[k : k + A_ROW]) for k in range(0, len(shared), A_ROW))]
    place = {
        part: (10 * (k + 0.5) / len(row), -1.0 * depth)
        for depth, row in enumerate(rows)
        for k, part in enumerate(row)
        if part
    }
    with style():
        figure, (ax,) = panels(1, width=8.8, height=6.2)
        for part, other in arrows(found):
            _arrow(ax, place[part], place[other])
        for part, (x, y) in place.items():
            _box(ax, part, x, y, tool=part in shared)
        ax.set(xlim=(0, 10), ylim=(-len(rows) + 0.5, 0.5))
        ax.set_axis_off()
    return figure


def _arrow(ax: "Axes", start: tuple[float, float], end: tuple[float, float]) -> None:
    from gossamer.colours import GREY

    ax.annotate(
        "",
        xy=(end[0], end[1] + 0.24),
        xytext=(start[0], start[1] - 0.24),
        arrowprops={"arrowstyle": "-|>", "color": GREY, "linewidth": 1.1},
    )


def _box(ax: "Axes", part: str, x: float, y: float, *, tool: bool) -> None:
    from gossamer.colours import BLUE, GROUND

    face, ink = (GROUND, BLUE) if tool else (BLUE, GROUND)
    ax.text(
        x,
        y,
        part,
        ha="center",
        va="center",
        color=ink,
        bbox={"boxstyle": "round,pad=0.4", "facecolor": face, "edgecolor": BLUE},
    )


def main() -> None:
    """Draw the picture."""
    from gossamer.plots import style
    from gossamer.svg import for_both

    found = imports()
    with style():
        metadata = {"Description": summary(found), "Date": None}
        PICTURE.write_text(for_both(draw(found), metadata), encoding="utf-8")


if __name__ == "__main__":
    main()
