"""Compare five tuned methods on one problem, and write a figure and a table.

    python examples/own_comparison.py

The problem is a nonconvex logistic regression on a random geometric graph of 30 nodes. Each node
has data of one label only, and the noise has infinite variance. Every method is tuned on seeds
other than those whose results are reported. The script prints a table and writes it to
own_comparison.tex. It draws the curves in own_comparison.png, where the bands contain the middle
half of the seeds. This takes about 10 s.
"""

from pathlib import Path

import networkx as nx

import gossamer as gs

METHODS = [gs.DSGD, gs.DSGDGClip, gs.GTDSGD, gs.QGDSGDm, gs.GTNSGDm]
STEPS = 300


def task() -> tuple[gs.Problem, gs.Network, gs.Noise]:
    network = gs.from_graph(nx.random_geometric_graph(30, radius=0.35, seed=0))
    patients = gs.data.load("breast_cancer", standardize=True)
    nodes = patients.split(network.num_nodes, gs.data.by_label(1))
    problem = gs.LogisticRegression(nodes, penalty=gs.NonconvexPenalty(0.01))
    return problem, network, gs.MultivariateT(1.3, scale=0.3)


def main() -> None:
    problem, network, noise = task()
    found = gs.compare(METHODS, problem, network, noise=noise, steps=STEPS)
    print(f"{problem} on {network}", found, sep="\n")
    found.plot(band=(0.25, 0.75)).figure.savefig("own_comparison.png")
    Path("own_comparison.tex").write_text(found.table().to_latex(), encoding="utf-8")


if __name__ == "__main__":
    main()
