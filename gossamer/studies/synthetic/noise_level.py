"""Dependence on the noise level: Gaussian and α-stable noise of several scales."""

from collections.abc import Sequence
from itertools import pairwise

from gossamer.colours import OKABE_ITO
from gossamer.experiments import Experiment, Figures, Results, Table, Unit, Verdict
from gossamer.noise import AlphaStable, Gaussian, Noise
from gossamer.plots import curve, panels, style
from gossamer.simulation.words import spread
from gossamer.studies.synthetic.curve import NAMED, SIZES, Size, curve_unit
from gossamer.studies.synthetic.task import NETWORKS, final_errors, median_final_error

GAUSSIAN = [1.0, 2.0, 4.0]
STABLE = [0.1, 0.3, 1.0]
FAMILIES: dict[str, dict[str, Noise]] = {
    "Gaussian": {f"Gaussian, scale {s:g}": Gaussian(s) for s in GAUSSIAN},
    "α-stable": {f"α-stable, scale {s:g}": AlphaStable(1.5, 0.5, s) for s in STABLE},
}
NETWORK = NETWORKS["directed exponential"]


class NoiseLevel(Experiment[Size]):
    """The paper's figure on σ."""

    name = "noise-level"
    study = "synthetic"
    title = "Dependence on the noise level σ"
    about = (
        "GT-NSGDm on the directed exponential graph of 20 nodes under Gaussian and α-stable noise "
        f"of growing scale, with the same {NAMED} for all. The paper does not print its scales, "
        "except for the unit variance of its best curve."
    )

    sizes = SIZES

    def units(self, size: Size, seed: int) -> Sequence[Unit]:
        """A unit per noise."""
        return [
            curve_unit(name, NETWORK, noise, size, seed)
            for family in FAMILIES.values()
            for name, noise in family.items()
        ]

    def figures(self, results: Results) -> Figures:
        """Error over steps, a panel per family."""
        with style():
            figure, axes = panels(2, width=4.0, height=3.2)
            for ax, (family, members) in zip(axes, FAMILIES.items(), strict=True):
                for colour, name in zip(OKABE_ITO, members, strict=False):
                    curve(ax, results[name]["steps"], results[name]["error"], name, colour)
                ax.set(title=f"{family} noise", xlabel="step t", yscale="log", ylim=(0.08, 6))
                ax.legend(loc="lower left")
            axes[0].set_ylabel("average estimation error")
        return {"noise-level": figure}

    def tables(self, results: Results) -> list[Table]:
        """Final errors."""
        rows = [[name, spread(final_errors(result))] for name, result in results.items()]
        title = "Final errors, median [range] over the seeds"
        return [Table(title, ["noise", "final error"], rows)]

    def verdicts(self, results: Results) -> list[Verdict]:
        """The error grows with σ, and is smallest at unit Gaussian variance."""
        errors = {name: median_final_error(result) for name, result in results.items()}
        grows = {
            f"{family} noise": increasing([errors[name] for name in members])
            for family, members in FAMILIES.items()
        }
        best = min(errors, key=lambda name: errors[name])
        return [
            Verdict(
                "The final error increases as σ grows, under Gaussian and α-stable noise",
                "\n".join(f"{name}: {error:.3f}" for name, error in errors.items()),
                grows,
            ),
            Verdict(
                "Among all noises tried, GT-NSGDm comes closest to the optimum under Gaussian "
                "noise with scale 1",
                f"lowest: {best} ({errors[best]:.3f}); "
                f"Gaussian, scale 1: {errors['Gaussian, scale 1']:.3f}",
                best == "Gaussian, scale 1",
                "This is true among the Gaussian scales. Whether the error is also lower than "
                "under α-stable noise depends on the scales of that noise, which the paper does "
                "not print."
                if best != "Gaussian, scale 1"
                else "",
            ),
        ]


def increasing(values: Sequence[float]) -> bool:
    """Whether each value exceeds the one before."""
    return all(a < b for a, b in pairwise(values))
