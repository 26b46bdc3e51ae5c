"""The noise that a plan assumes: its p, its σ, and what it is in words."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gossamer.errors import require
from gossamer.interval import NONNEGATIVE, within
from gossamer.noise import CoordinateNoise, Noise
from gossamer.problems import Problem
from gossamer.theory.batches import MINI_BATCHES, estimate_sigma_from_batches
from gossamer.theory.estimate import (
    Estimate,
    admissible_p,
    estimate_sigma,
    estimate_sigma_from_samples,
)

if TYPE_CHECKING:
    from gossamer.tails.samples import Array, Samples


@dataclass(frozen=True)
class AssumedNoise:
    """All noise of a problem's gradients, as `plan` is told of it."""

    problem: Problem
    law: Noise | None = None
    samples: "Samples | None" = None
    p: float | None = None
    sigma: float | None = None

    def __post_init__(self) -> None:
        one = self.law is None or self.samples is None
        require(one, "samples", "noise as well", "only one of them")
        if self.law is None and self.samples is None:
            self._require_both()

    @property
    def measures_batches(self) -> bool:
        """Whether the problem's mini-batches tell σ, alone or beside the law."""
        return not self.problem.exact and self.samples is None and self.sigma is None

    def order(self) -> Estimate:
        """p: as given, else from the samples, else from the law."""
        if self.p is not None:
            return Estimate(self.p, "given")
        if self.samples is not None:
            from gossamer.tails import diagnose

            diagnosis = diagnose(self.samples)
            return Estimate(diagnosis.suggested_p, f"from {diagnosis.num_samples} samples")
        if self.law is not None:
            return Estimate(admissible_p(self.law), "the noise has a finite p-th moment")
        assumed = "assumed: mini-batches have a finite variance"
        return Estimate(2.0, assumed if self.measures_batches else "no noise")

    def level(self, p: float) -> Estimate:
        """σ: as given, else from the samples, else of the law and the mini-batches together."""
        if self.sigma is not None:
            return Estimate(within("sigma", self.sigma, NONNEGATIVE), "given")
        if self.samples is not None:
            return estimate_sigma_from_samples(_of_dimension(self.problem.dim, self.samples), p)
        law = None if self.law is None else self._level_of(self.law, p)
        own = estimate_sigma_from_batches(self.problem, p) if self.measures_batches else None
        return _sum(law, own) if law and own else law or own or Estimate(0.0, "no noise")

    def words(self, order: Estimate, level: Estimate) -> str:
        """Which noise this is, and what it says of mini-batches."""
        if self.measures_batches:
            law = "" if self.law is None else f"{self._in_words(order, level)}, and "
            return (
                f"{law}that of mini-batches, estimated at the start from {MINI_BATCHES} of every "
                "node. It may be larger elsewhere, and then the bounds do not hold."
            )
        said = self._in_words(order, level)
        return said if self.problem.exact else f"{said}, that of mini-batches included"

    def _in_words(self, order: Estimate, level: Estimate) -> str:
        if self.law is not None:
            return f"{self.law}{' in every coordinate' * isinstance(self.law, CoordinateNoise)}"
        if self.samples is not None:
            return "as in the measured samples"
        if level.value == 0 and self.problem.exact:
            return "none, the gradients are exact"
        return f"p = {order.value:g} and σ = {level.value:g} as given"

    def _require_both(self) -> None:
        """Refuse a size without a tail, and a tail without a size that could be measured."""
        way_out = "or describe the noise by its law, e.g. StudentT(1.5), or by samples"
        sized = self.sigma is not None or self.p is None or not self.problem.exact
        require(sized, "sigma", "none beside p", "σ as well as p", way_out)
        tailed = self.p is not None or self.sigma is None
        require(tailed, "p", "none beside sigma", "p as well as σ", way_out)

    def _level_of(self, law: Noise, p: float) -> Estimate:
        return estimate_sigma(law, self.problem.dim, p, self.problem.num_nodes)


def _sum(law: Estimate, batches: Estimate) -> Estimate:
    """σ of both noises together, by Minkowski's inequality."""
    how = f"{law.value:.4g} of the law + {batches.value:.4g} of mini-batches at x⁰"
    return Estimate(law.value + batches.value, how)


def _of_dimension(dim: int, samples: "Samples") -> "Array":
    """The samples, refused unless they are noise vectors of the problem's dimension."""
    from gossamer.tails.samples import as_array

    rows = as_array(samples)
    admissible = f"shape (samples, {dim}): noise of the problem's {dim} coordinates"
    way_out = "with sigma given, other samples can still tell p"
    require(rows.shape[1:] == (dim,), "samples", f"shape {rows.shape}", admissible, way_out)
    return rows
