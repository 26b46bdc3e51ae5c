"""A comparison of your own, from data to figure and table: five methods, each tuned fairly.

    python examples/own_comparison.py

Nonconvex logistic regression on a random geometric graph of 30 nodes, each of which has seen one
label only, under isotropic noise of infinite variance. Every method is tuned on its own search set,
on seeds that are not reported. Prints a table and writes two files: own_comparison.tex is the same
table, and own_comparison.png shows the curves, each with a band for the middle half of the seeds.
It takes about 10 s.
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
