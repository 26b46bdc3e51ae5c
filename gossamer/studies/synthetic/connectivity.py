"""Dependence on connectivity: GT-NSGDm on four networks of 20 nodes under α-stable noise."""

from gossamer.experiments.experiment import Experiment, Figures, Options, Results, Unit
from gossamer.experiments.verdict import Table, Verdict, judge
from gossamer.studies.synthetic.dependence import NAMED, STABLE, unit
from gossamer.studies.synthetic.synthetic import (
    NETWORKS,
    PRINTED_LAMBDA,
    final_errors,
    median_error,
    spread,
)

COMPARABLE = 1.25
"""Errors are comparable while the largest median is at most this multiple of the smallest."""


class Connectivity(Experiment):
    """The paper's figure on λ."""

    name = "connectivity"
    title = "Dependence on connectivity λ"
    about = (
        "GT-NSGDm under α-stable noise on a ring, a directed and an undirected exponential graph "
        f"and a complete graph of 20 nodes, with the same {NAMED} on all of them."
    )

    def units(self, options: Options) -> list[Unit]:
        """A unit per network."""
        return [unit(name, network, STABLE, options) for name, network in NETWORKS.items()]

    def figures(self, results: Results) -> Figures:
        """Error over steps."""
        from gossamer.plots import OKABE_ITO, curve, panels, style

        with style():
            figure, (ax,) = panels(1, width=4.6, height=3.2)
            for colour, (name, network) in zip(OKABE_ITO, NETWORKS.items(), strict=False):
                label = f"{name}, λ = {network.lam:.3g}"
                curve(ax, results[name]["steps"], results[name]["error"], label, colour)
            ax.set(xlabel="step t", ylabel="average estimation error", yscale="log")
            ax.legend()
        return {"connectivity": figure}

    def tables(self, results: Results) -> list[Table]:
        """λ printed and computed, final errors."""
        rows = [
            [name, network.name, str(PRINTED_LAMBDA[name]), f"{network.lam:.6f}",
             spread(final_errors(results[name]))]
            for name, network in NETWORKS.items()
        ]  # fmt: skip
        columns = ["network", "built by", "λ printed", "λ computed", "final error"]
        return [Table("Networks and final errors, median [range] over the seeds", columns, rows)]

    def verdicts(self, results: Results) -> list[Verdict]:
        """The four λ's, and comparable final errors."""
        off = [abs(network.lam - PRINTED_LAMBDA[name]) for name, network in NETWORKS.items()]
        errors = {name: median_error(results[name]) for name in NETWORKS}
        ratio = max(errors.values()) / min(errors.values())
        return [
            Verdict(
                "λ = 0.904, 0.714, 0.6, 0 for ring, directed and undirected exponential, complete",
                ", ".join(f"{network.lam:.6f}" for network in NETWORKS.values()),
                judge(*(difference < 1e-3 for difference in off)),
                "Metropolis weights; for the exponential graphs the degree counts the self-loop.",
            ),
            Verdict(
                "GT-NSGDm achieves comparable final errors under weak connectivity and on "
                "complete graphs",
                ", ".join(f"{name} {error:.3f}" for name, error in errors.items())
                + f"; largest / smallest {ratio:.2f}",
                judge(ratio <= COMPARABLE),
                f"With {NAMED} on all networks; comparable means within {COMPARABLE - 1:.0%}.",
            ),
        ]
