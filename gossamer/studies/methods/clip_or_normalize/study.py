"""Clip or normalize? Clipped tracking, normalized tracking and clipped DSGD beside each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gossamer.experiments import Experiment, Figures, Results, SizeName, Table, Unit, Verdict
from gossamer.studies.methods.clip_or_normalize.apart import Apart
from gossamer.studies.methods.clip_or_normalize.contender import Contender
from gossamer.studies.methods.clip_or_normalize.picture import figure_of
from gossamer.studies.methods.clip_or_normalize.reading import MATTERS, best_clipping, multiple
from gossamer.studies.methods.clip_or_normalize.situations import (
    DIMENSION,
    METHODS,
    NETWORKS,
    NODES,
    SITUATIONS,
    SKEWNESS,
    unit_name,
)
from gossamer.studies.methods.clip_or_normalize.tables import tables_of
from gossamer.studies.methods.clip_or_normalize.verdicts import verdicts_of
from gossamer.studies.methods.standing import OURS
from gossamer.studies.searched import Size


@dataclass(frozen=True, kw_only=True)
class ClipSize(Size):
    """How long, how often and how widely."""

    extensions: int = 3


class ClipOrNormalize(Experiment[ClipSize]):
    """Tuned, by theory, and mistuned, over heterogeneity, tails and networks."""

    name = "clip-or-normalize"
    study = "methods"
    title = "Clip or normalize, over heterogeneity, tails and networks"
    about = (
        "Clipped DSGD is known to be optimal in order, and whether clipped gradient tracking is, "
        "and whether to clip its gradients or its tracker, was left open (arXiv 2610.10527). Here "
        "both run beside normalized tracking (GT-NSGDm) and clipped DSGD, on 20 nodes with 20 "
        "parameters. The nodes' quadratics have optima 0, 1 or 10 apart in every coordinate while "
        "their average stays the same, so that nothing but heterogeneity changes. The noise is "
        "α-stable with scale 0.3 and α = 1.2, 1.5 or 1.8, symmetric or skewed (0.5), and Gaussian "
        "at α = 2. All of these run on the 2-hop ring (λ = 0.904); the ring (0.967) and the "
        "complete network (0) run at α = 1.5 only. In every situation every method is tuned by "
        "successive halving, its search set extended where the best lay on its edge, and reported "
        "on fresh seeds. Ratios compare the same seeds, that is the same noise."
    )

    sizes: ClassVar[Mapping[SizeName, ClipSize]] = {
        "test": ClipSize(steps=16, tuning_seeds=1, fresh_seeds=2, extensions=0, every=9),
        "quick": ClipSize(steps=1_000, tuning_seeds=1, every=2),
        "full": ClipSize(steps=10_000, tuning_seeds=3, fresh_seeds=10),
    }

    def units(self, size: ClipSize, seed: int) -> list[Unit]:
        """A unit per situation and method."""
        return [
            Contender(
                unit_name(situation, method),
                **size.search(entry, seed),
                network=NETWORKS[situation.network],
                noise=situation.noise,
                nodes=Apart(NODES, DIMENSION, situation.spread, seed),
                extensions=size.extensions,
            )
            for situation in SITUATIONS
            for method, entry in METHODS.items()
        ]

    def finding(self, results: Results) -> str:
        """How the best way to clip compares with GT-NSGDm."""
        found = [multiple(results, s, best_clipping(results, s), OURS) for s in SITUATIONS]
        lower = sum(value < 1 / MATTERS for value in found)
        return (
            f"The best way to clip, tuned, ends at {min(found):.2g} to {max(found):.3g} times the "
            f"error of {OURS}, clearly lower in {lower} of {len(found)} situations; which way is "
            "best changes from one to the next."
        )

    def figures(self, results: Results) -> Figures:
        """Errors over the tail index, a figure per shape of the noise."""
        return {f"{self.name}-{shape}": figure_of(results, shape) for shape in SKEWNESS}

    def tables(self, results: Results) -> list[Table]:
        """What to use, the errors behind it, the theory's levels, mistuning, and every choice."""
        return tables_of(results)

    def verdicts(self, results: Results) -> list[Verdict]:
        """When to clip, what to clip, whether to track, and what a rule or a mistake costs."""
        return verdicts_of(results)
