"""The Hill estimator: the tail index of a power tail."""

from dataclasses import dataclass

import numpy as np

from gossamer.errors import require, whole
from gossamer.tails.estimate import TailEstimate, cutoffs
from gossamer.tails.samples import Array, Samples, as_magnitudes


def hill(samples: Samples, k: int) -> TailEstimate:
    r"""Tail index from the `k` largest magnitudes, assuming \(P(|X| > x) \sim x^{-α}\).

    With \(X_{(1)} \ge X_{(2)} \ge …\) the magnitudes in decreasing order,

    $$\hat α = \Big( \frac1k \sum_{i \le k} \log \frac{X_{(i)}}{X_{(k+1)}} \Big)^{-1},
      \qquad \text{s.e.} = \hat α / \sqrt{k}.$$

    It gives an index for every law, even for a Gaussian (about 9 at n = 10,000), and it
    overstates the index of a stable law with α ≥ 1.8, whose power tail starts beyond most
    samples. It uses ratios of magnitudes, which change if a constant is added to all samples. So it
    understates the index of one-sided noise that was centred, while `pareto_fit` does not. Read the
    two together.

    >>> import torch
    >>> from gossamer.noise import StudentT
    >>> generator = torch.Generator().manual_seed(0)
    >>> print(hill(StudentT(df=1.5).sample((10_000,), generator=generator), k=100))
    1.66 ± 0.17

    Reference: B. M. Hill, "A simple general approach to inference about the tail of a
    distribution", Annals of Statistics 3 (1975).
    """
    return _hill(as_magnitudes(samples), k)


def hill_cutoffs(samples: Samples) -> dict[str, TailEstimate]:
    """`hill` at the four cut-offs √n, 2 %, 5 % and 10 %.

    >>> import torch
    >>> from gossamer.noise import Pareto
    >>> pareto = Pareto(tail_index=1.5)
    >>> y = pareto.sample((10_000,), generator=torch.Generator().manual_seed(0)) + 3
    >>> {cut: str(estimate) for cut, estimate in hill_cutoffs(y).items()}
    {'√n': '1.69 ± 0.17', '2 %': '1.58 ± 0.11', '5 %': '1.48 ± 0.07', '10 %': '1.51 ± 0.05'}
    """
    magnitudes = as_magnitudes(samples)
    return {name: _hill(magnitudes, k) for name, k in cutoffs(magnitudes.size).items()}


@dataclass(frozen=True)
class HillCurve:
    """Hill's estimate for every k; a power tail shows as a plateau."""

    k: Array
    tail_index: Array
    standard_error: Array


def hill_curve(samples: Samples) -> HillCurve:
    """`hill` for every k = 1, …, n − 1 in one pass.

    >>> curve = hill_curve([8.0, 4.0, 2.0, 1.0])
    >>> curve.tail_index.round(3)
    array([1.443, 0.962, 0.721])
    """
    logs = np.log(as_magnitudes(samples))
    k = np.arange(1.0, logs.size)
    mean_excess = np.cumsum(logs)[:-1] / k - logs[1:]
    with np.errstate(divide="ignore"):
        index = 1 / np.maximum(mean_excess, 0)
    return HillCurve(k, index, index / np.sqrt(k))


def _hill(magnitudes: Array, k: int) -> TailEstimate:
    mean_excess = log_excesses(magnitudes, k).mean()
    index = float(1 / mean_excess) if mean_excess > 0 else float("inf")
    return TailEstimate(index, index / k**0.5)


def log_excesses(magnitudes: Array, k: int) -> Array:
    """log(X₍ᵢ₎ / X₍ₖ₊₁₎) for i ≤ k, from magnitudes in decreasing order."""
    tail, threshold = largest(magnitudes, k)
    return np.log(tail / threshold)


def largest(magnitudes: Array, k: int) -> tuple[Array, float]:
    """X₍₁₎, …, X₍ₖ₎ and the threshold X₍ₖ₊₁₎, from magnitudes in decreasing order."""
    n = magnitudes.size
    require(
        whole("k", k, 1) < n, "k", k, f"1 ≤ k < {n}, the number of non-zero samples", "try k = √n"
    )
    return magnitudes[:k], float(magnitudes[k])
