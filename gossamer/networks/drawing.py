"""Pictures of networks: who is linked to whom, and with which weight."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from gossamer.colours import BLUE, GREY, GROUND, OKABE_ITO
from gossamer.display import picture
from gossamer.errors import require
from gossamer.networks.drops import Drops
from gossamer.networks.layout import Places, circle, grid_of, layout
from gossamer.networks.modified import layers
from gossamer.networks.network import Network
from gossamer.networks.random_rounds import RandomRounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 5.0
"""Of a drawing, in inches."""

NUMBERED = 50
"""Most nodes that are drawn with their numbers."""

ROUNDS_APART = len(OKABE_ITO)
"""Most rounds whose links are told apart by colour."""

MOST_LINKS = 200_000
"""That are drawn in all; more take minutes and show nothing."""

STUB = 0.42
"""How far the links that leave a torus are drawn; neighbours are 1 apart."""

POINTS = np.linspace(0, 1, 25)[:, None]


@dataclass(frozen=True)
class Link:
    """One that is drawn: from sender to receiver, or both ways."""

    ends: tuple[int, int]
    width: float
    colour: str


def draw(network: Network, ax: "Axes | None" = None) -> "Axes":
    """Draw every link of a period, as wide as it has weight.

    Every family has its own shape. One-way links are arrows; those that may fail are dashed; the
    rounds of a period have colours.
    """
    graph = _links(network)
    places = layout(network, graph)
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(WIDTH, _height(places)), layout="constrained")[1]
    links = _looks(graph, network)
    style = "--" if _may_fail(network) else "-"
    if graph.is_directed():
        _arrows(ax, links, places, style)
    else:
        _lines(ax, links, places, style, grid_of(network))
    _nodes(ax, places)
    _name_rounds(ax, network)
    ax.set_title(_title(network))
    _frame(ax, places, STUB if grid_of(network) else 0.0)
    return ax


def element(network: Network) -> str:
    """The drawing without a title, as an element of a page."""
    height = 0.75 * _height(layout(network, _links(network)))
    return picture(
        lambda ax: draw(network, ax).set_title(""),
        f"drawing of {network.name}",
        size=(0.75 * WIDTH, height),
    )


def _height(places: Places) -> float:
    """Of a figure that is as flat as the network."""
    width, height = np.ptp(places, axis=0)
    flat = float(np.clip(height / max(width, 1e-9), 0.2, 1)) if len(places) > 1 else 1.0
    return 0.6 + 0.9 * WIDTH * flat


def _frame(ax: "Axes", places: Places, beyond: float) -> None:
    """As much air on every side, and no axes."""
    low, high = places.min(axis=0), places.max(axis=0)
    air = beyond + 0.08 * max(1.0, float((high - low).max()))
    (left, bottom), (right, top) = low - air, high + air
    ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    ax.set_axis_off()


def _title(network: Network) -> str:
    """Name and λ, where there is one, on a line of its own if the name is long."""
    if network.why_no_lam:
        return network.name
    lam = f"λ = {network.lam:.3g}" + (f" {network.lam_note}" if network.lam_note else "")
    return f"{network.name}{chr(10) if len(network.name + lam) > 40 else ', '}{lam}"


def _links(network: Network) -> "nx.Graph[int]":
    """Sender → receiver over all rounds, no self-loops; undirected when all links go both ways.

    A link has its largest weight, and the first round that it is in.
    """
    _require_few_links(network)
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(network.num_nodes))
    for t, one in enumerate(network.rounds):
        matrix = one.matrix
        entries = (matrix.col.tolist(), matrix.row.tolist(), matrix.values.tolist())
        for sender, receiver, weight in zip(*entries, strict=True):
            known = graph.get_edge_data(sender, receiver, {"weight": 0.0, "round": t})
            largest = max(weight, known["weight"])
            graph.add_edge(sender, receiver, weight=largest, round=known["round"])
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    two_way = all(graph.has_edge(v, u) for u, v in graph.edges)
    return graph.to_undirected() if two_way else graph


def _require_few_links(network: Network) -> None:
    n = network.num_nodes
    random = any(isinstance(one, RandomRounds) for one in layers(network))  # all links are drawn
    found = n * (n - 1) if random else sum(one.matrix.values.numel() for one in network.rounds)
    need = f"at most {MOST_LINKS:,} for a drawing in which they can be seen"
    require(found <= MOST_LINKS, "links", f"{found:,} of {network.name}", need, "draw a small one")


def _looks(graph: "nx.Graph[int]", network: Network) -> list[Link]:
    """How wide a link is, relative to the widest, and thinner where there are many."""
    widest = max((facts["weight"] for _, _, facts in graph.edges(data=True)), default=1.0)
    many = graph.number_of_edges() / max(1, network.num_nodes)
    scale = float(np.clip(4 / max(many, 1), 0.6, 2)) * (1 if _numbered(network.num_nodes) else 0.5)
    colours = OKABE_ITO if _told_apart(network) else (GREY,) * network.period
    return [
        Link((u, v), scale * (0.25 + 0.75 * facts["weight"] / widest), colours[facts["round"]])
        for u, v, facts in graph.edges(data=True)
    ]


def _numbered(num_nodes: int) -> bool:
    return num_nodes <= NUMBERED


def _told_apart(network: Network) -> bool:
    """Whether the rounds have colours of their own."""
    return 1 < network.period <= ROUNDS_APART


def _may_fail(network: Network) -> bool:
    parts = list(layers(network))
    lossy = any(isinstance(one, Drops) and one.probability > 0 for one in parts)
    return lossy or any(isinstance(one, RandomRounds) for one in parts)


def _lines(
    ax: "Axes", links: Sequence[Link], places: Places, style: str, grid: tuple[int, int] | None
) -> None:
    """Links both ways; those that leave a torus on one side come in on the other."""
    from matplotlib.collections import LineCollection

    spacing = _on_circle(places)
    pieces = [
        (piece, link) for link in links for piece in _pieces(link.ends, places, grid, spacing)
    ]
    ax.add_collection(
        LineCollection(
            [piece for piece, _ in pieces],
            linewidths=[link.width for _, link in pieces],
            colors=[link.colour for _, link in pieces],
            linestyles=style,
            zorder=1,
        )
    )


def _on_circle(places: Places) -> float | None:
    """How far neighbours are apart, where the nodes lie on a circle."""
    if len(places) < 2 or not np.allclose(places, circle(len(places))):
        return None
    return float(np.linalg.norm(places[1] - places[0]))


def _pieces(
    ends: tuple[int, int], places: Places, grid: tuple[int, int] | None, spacing: float | None
) -> list[Places]:
    """What is drawn of a link: a line, bent on a circle; on a torus maybe its two ends."""
    begin, end = places[ends[0]], places[ends[1]]
    around = end - begin
    if grid is not None and np.abs(around).max() > 1:
        out = np.sign(around) * STUB
        return [np.array([begin, begin - out]), np.array([end, end + out])]
    return [np.array([begin, end]) if spacing is None else _bent(begin, end, spacing)]


def _bent(begin: Places, end: Places, spacing: float) -> Places:
    """A chord that keeps clear of the nodes it passes; `spacing` is that of neighbours."""
    middle = (begin + end) / 2
    from_centre = float(np.linalg.norm(middle))
    passes = np.linalg.norm(end - begin) > 1.01 * spacing and from_centre > 1e-9
    inward = 0.6 * min(spacing, from_centre) / from_centre if passes else 0.0
    control = middle * (1 - inward)
    return (1 - POINTS) ** 2 * begin + 2 * POINTS * (1 - POINTS) * control + POINTS**2 * end


def _arrows(ax: "Axes", links: Sequence[Link], places: Places, style: str) -> None:
    """One-way links bend, so that two between the same nodes can be told apart."""
    from matplotlib.patches import FancyArrowPatch

    margin = 9 if _numbered(len(places)) else 3
    for link in links:
        look: dict[str, Any] = {"color": link.colour, "linewidth": link.width, "linestyle": style}
        ax.add_patch(
            FancyArrowPatch(
                places[link.ends[0]],
                places[link.ends[1]],
                arrowstyle="-|>",
                mutation_scale=4 + 3 * link.width,
                connectionstyle="arc3,rad=0.12",
                shrinkA=margin,
                shrinkB=margin,
                zorder=1,
                **look,
            )
        )


def _nodes(ax: "Axes", places: Places) -> None:
    numbered = _numbered(len(places))
    ax.scatter(places[:, 0], places[:, 1], s=230 if numbered else 14, color=BLUE, zorder=2)
    if numbered:
        said: dict[str, Any] = {"ha": "center", "va": "center_baseline", "zorder": 3}
        for node, (x, y) in enumerate(places):
            ax.text(x, y, str(node), color=GROUND, fontsize=8, **said)


def _name_rounds(ax: "Axes", network: Network) -> None:
    """A line of each colour, where rounds have colours."""
    if _told_apart(network):
        from matplotlib.lines import Line2D

        rounds = range(network.period)
        drawn = [Line2D([], [], color=OKABE_ITO[t], label=f"round {t}") for t in rounds]
        below: dict[str, Any] = {
            "loc": "upper center",
            "bbox_to_anchor": (0.5, 0.0),
            "frameon": False,
        }
        ax.legend(handles=drawn, ncols=min(4, network.period), **below)
