"""The moment estimator of Dekkers, Einmahl and de Haan: it can say "no power tail"."""

from dataclasses import dataclass

import numpy as np

from gossamer.errors import require
from gossamer.tails._hill import log_excesses
from gossamer.tails.estimate import Z95, TailEstimate, cutoffs
from gossamer.tails.samples import Array, Samples, as_magnitudes


@dataclass(frozen=True)
class MomentEstimate:
    r"""The extreme-value index γ and its standard error.

    γ > 0 is a power tail of index 1/γ, γ = 0 an exponential-like tail (Gaussian, lognormal), γ < 0
    a bounded one. `power_tail` asks whether γ is above 0 beyond its 95 % error.
    """

    gamma: float
    standard_error: float

    @property
    def power_tail(self) -> bool:
        """Whether γ is significantly positive."""
        return self.gamma > Z95 * self.standard_error

    @property
    def tail_index(self) -> float:
        """1/γ, or ∞ when γ ≤ 0."""
        return 1 / self.gamma if self.gamma > 0 else float("inf")

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the tail index: the ends of γ ± 1.96 s.e., inverted."""
        half = Z95 * self.standard_error
        low, high = self.gamma - half, self.gamma + half
        invert = [round(1 / g, 6) if g > 0 else float("inf") for g in (high, low)]
        return invert[0], invert[1]

    def __str__(self) -> str:
        if not self.power_tail:
            return f"no power tail (γ = {self.gamma:.2f} ± {self.standard_error:.2f})"
        return str(TailEstimate(self.tail_index, self.standard_error * self.tail_index**2))


def moments(samples: Samples, k: int) -> MomentEstimate:
    r"""Extreme-value index γ from the `k` largest magnitudes; the tail index is 1/γ.

    With \(M_r = \frac1k \sum_{i \le k} \log^r (X_{(i)} / X_{(k+1)})\),

    $$\hat γ = M_1 + 1 - \frac12 \Big(1 - \frac{M_1^2}{M_2}\Big)^{-1},$$

    where the asymptotic variance is \((1 + γ^2)/k\) for γ ≥ 0. Unlike `hill` it is consistent
    for every tail, so it can find that there is no power law at all. The price is a wider error.

    >>> import torch
    >>> from gossamer.noise import Gaussian
    >>> x = Gaussian().sample((10_000,), generator=torch.Generator().manual_seed(0))
    >>> print(moments(x, k=500))
    no power tail (γ = -0.11 ± 0.04)

    Reference: A. L. M. Dekkers, J. H. J. Einmahl and L. de Haan, "A moment estimator for the
    index of an extreme-value distribution", Annals of Statistics 17 (1989).
    """
    return _moments(as_magnitudes(samples), k)


def moments_cutoffs(samples: Samples) -> dict[str, MomentEstimate]:
    """`moments` at the three cut-offs √n, 5 % and 10 %.

    >>> import torch
    >>> from gossamer.noise import AlphaStable
    >>> x = AlphaStable(1.8).sample((10_000,), generator=torch.Generator().manual_seed(0))
    >>> {cut: str(estimate) for cut, estimate in moments_cutoffs(x).items()}
    {'√n': '2.09 ± 0.48', '5 %': '2.12 ± 0.22', '10 %': '2.32 ± 0.19'}
    """
    magnitudes = as_magnitudes(samples)
    return {name: _moments(magnitudes, k) for name, k in cutoffs(magnitudes.size).items()}


def _moments(magnitudes: Array, k: int) -> MomentEstimate:
    require(k >= 2, "k", k, "at least 2", "try k = √n")
    excesses = log_excesses(magnitudes, k)
    first, second = excesses.mean(), np.square(excesses).mean()
    spread = 1 - first**2 / second if second > 0 else 0.0
    require(spread > 0, "samples", f"{k} equal largest values", "different ones", "take k larger")
    gamma = float(first + 1 - 0.5 / spread)
    return MomentEstimate(gamma, (_variance(gamma) / k) ** 0.5)


def _variance(g: float) -> float:
    """k times the asymptotic variance of γ̂ (Dekkers, Einmahl and de Haan, Theorem 3.1)."""
    if g >= 0:
        return 1 + g**2
    last = (5 - 11 * g) * (1 - 2 * g) / ((1 - 3 * g) * (1 - 4 * g))
    return (1 - g) ** 2 * (1 - 2 * g) * (4 - 8 * (1 - 2 * g) / (1 - 3 * g) + last)
