"""Dependence on connectivity: GT-NSGDm on four networks of 20 nodes under α-stable noise."""

from collections.abc import Sequence

from gossamer.colours import OKABE_ITO
from gossamer.experiments import Experiment, Figures, Results, Table, Unit, Verdict
from gossamer.plots import curve, panels, style
from gossamer.simulation.words import spread
from gossamer.studies.synthetic.curve import NAMED, SIZES, STABLE, Size, curve_unit
from gossamer.studies.synthetic.task import (
    NETWORKS,
    PRINTED_LAMBDA,
    final_errors,
    median_final_error,
)
from gossamer.studies.wording import listed

COMPARABLE = 1.25
"""Errors are comparable while the largest median is at most this multiple of the smallest."""


class Connectivity(Experiment[Size]):
    """The paper's figure on λ."""

    name = "connectivity"
    study = "synthetic"
    title = "Dependence on connectivity λ"
    about = (
        "GT-NSGDm under α-stable noise on a ring, a directed and an undirected exponential graph "
        f"and a complete graph of 20 nodes, with the same {NAMED} on all of them."
    )

    sizes = SIZES

    def units(self, size: Size, seed: int) -> Sequence[Unit]:
        """A unit per network."""
        return [curve_unit(name, net, STABLE, size, seed) for name, net in NETWORKS.items()]

    def figures(self, results: Results) -> Figures:
        """Error over steps."""
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
        near = {n: abs(network.lam - PRINTED_LAMBDA[n]) < 1e-3 for n, network in NETWORKS.items()}
        errors = {name: median_final_error(results[name]) for name in NETWORKS}
        ratio = max(errors.values()) / min(errors.values())
        return [
            Verdict(
                "λ = 0.904, 0.714, 0.6, 0 for ring, directed and undirected exponential, complete",
                ", ".join(f"{network.lam:.6f}" for network in NETWORKS.values()),
                near,
                "The weights are Metropolis weights; for the exponential graphs the degree counts "
                "the self-loop.",
                source="setting",
            ),
            Verdict(
                "GT-NSGDm achieves comparable final errors under weak connectivity and on "
                "complete graphs",
                f"{listed(errors)}; the largest divided by the smallest: {ratio:.2f}",
                ratio <= COMPARABLE,
                f"The runs on all networks have {NAMED}. Errors are comparable if the largest is "
                f"at most {COMPARABLE - 1:.0%} above the smallest.",
            ),
        ]
