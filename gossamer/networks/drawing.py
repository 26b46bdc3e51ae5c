"""Pictures of networks."""

from typing import TYPE_CHECKING, Any

import networkx as nx

from gossamer.networks.network import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NODE, LINK = "#2a6f97", "#8d99ae"
SPRING_LIMIT = 500
"""Fewest nodes that go on a circle whatever the graph: springs would take too long."""


def draw(network: Network, ax: "Axes | None" = None) -> "Axes":
    """Draw every link of a period: circulants on a circle, others by springs; arrows if directed"""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(5, 5), layout="constrained")[1]
    graph = _links(network)
    place = nx.circular_layout(graph) if _on_circle(network) else nx.spring_layout(graph, seed=0)
    few = network.num_nodes <= 50
    nx.draw_networkx(
        graph,
        place,
        ax=ax,
        with_labels=few,
        node_size=260 if few else 20,
        node_color=NODE,
        edge_color=LINK,
        font_color="white",
        font_size=8,
        **_arrows(graph),
    )
    ax.set_title(_title(network))
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _title(network: Network) -> str:
    """Name and λ, where there is one, on a line of its own if the name is long."""
    if network.why_no_lam:
        return network.name
    lam = f"λ = {network.lam:.3g}" + (f" {network.lam_note}" if network.lam_note else "")
    return f"{network.name}{chr(10) if len(network.name + lam) > 40 else ', '}{lam}"


def _arrows(graph: "nx.Graph[int]") -> dict[str, Any]:
    """One-way links bend, so that two between the same nodes can be told apart."""
    return {"connectionstyle": "arc3,rad=0.08", "arrowsize": 9} if graph.is_directed() else {}


def _on_circle(network: Network) -> bool:
    circulant = all(r.matrix.symbol is not None for r in network.rounds)
    return circulant or network.num_nodes >= SPRING_LIMIT


def _links(network: Network) -> "nx.Graph[int]":
    """Sender → receiver over all rounds, no self-loops; undirected when all links go both ways."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(network.num_nodes))
    for r in network.rounds:
        graph.add_edges_from(zip(r.matrix.col.tolist(), r.matrix.row.tolist(), strict=True))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    two_way = all(graph.has_edge(v, u) for u, v in graph.edges)
    return graph.to_undirected() if two_way else graph
