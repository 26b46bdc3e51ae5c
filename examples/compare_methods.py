"""Tune five methods on a graph of your own, compare them, and draw the curves.

    python examples/compare_methods.py

The script prints a table and writes compare_methods.png (about 10 s on 2 cores).
"""

import networkx as nx

import gossamer as gs
from gossamer.plots import panels, style

STEPS = 1500
LR = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0]
GRIDS = {  # the values to try for each method
    gs.DSGD: {"lr": LR},
    gs.DSGDGClip: {"lr": LR, "clip": [0.1, 0.3, 1.0]},
    gs.GTDSGD: {"lr": LR},
    gs.SClipEF: {"lr": LR, "momentum": [0.9], "scale": [1.0], "clip": [0.1, 0.3, 1.0]},
    gs.GTNSGDm: {"lr": LR, "momentum": [0.8, 0.9, 0.95]},
}


def my_network() -> gs.Network:
    """Two groups of eight nodes: everyone talks within a group, one link joins the groups."""
    return gs.from_graph(nx.barbell_graph(8, 0))


def main() -> None:
    network = my_network()
    problem = gs.RobustRegression(network.num_nodes)
    noise = gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)  # infinite variance
    print(f"{network.num_nodes} nodes, λ = {network.lam:.4f}")
    found = gs.compare(list(GRIDS), problem, network, grids=GRIDS, noise=noise, steps=STEPS)
    print(found)
    with style():
        figure, (ax,) = panels(1, width=5.5, height=3.8)
        found.plot(x="messages", ax=ax)
        figure.savefig("compare_methods.png")


if __name__ == "__main__":
    main()
