"""The diagnosis: every estimator on one sample, and what they say together."""

import math
import warnings
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np

from gossamer.errors import choice, require
from gossamer.tails._hill import hill_cutoffs
from gossamer.tails._log_moment import log_moment
from gossamer.tails._max_to_sum import max_to_sum
from gossamer.tails._pareto_fit import ParetoFit, pareto_fit_cutoffs
from gossamer.tails._stable_fit import stable_fit
from gossamer.tails.alternatives import LEAST, PowerLawTest, power_law_test
from gossamer.tails.dependence import correlation_time
from gossamer.tails.estimate import TailEstimate, cutoffs, span
from gossamer.tails.samples import Array, Kind, Samples, as_array, as_vectors, centre, distances
from gossamer.tails.verdict import Readings, Tail, decide, describe, disagreements, suggest_p
from gossamer.text import aligned, wrapped

COLUMNS = ("estimator", "tail index", "95 % interval", "uses")


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """The result of `diagnose`: all estimates, where they disagree, and a moment order p to use.

    Print it to read it.
    """

    num_samples: int
    """The number of samples."""

    dim: int | None
    """The dimension of the vectors; None if only norms were given."""

    tail: Tail
    """The kind of tail; `diagnose` lists the conditions of the four answers."""

    verdict: str
    """The kind of tail, and the reasons for it, in words."""

    disagreements: tuple[str, ...]
    """Where the estimators contradict each other, and why, in words."""

    warnings: tuple[str, ...]
    """What is wrong with the samples, in words."""

    interval: tuple[float, float]
    """A lower and an upper bound of the tail index, each with 95 % confidence.

    They are one-sided bounds, as in `TailEstimate.bounds`, not a two-sided 95 % interval.
    """

    suggested_p: float
    """The moment order p to use, from 1.05 to 2; a lower bound of the tail index if possible."""

    reason: str
    """Why this order is suggested, in words."""

    correlation_time: float
    """How many successive samples count as one (1 if they are independent)."""

    hill: dict[str, TailEstimate]
    """Cut-off → Hill's estimate."""

    pareto_fit: dict[str, ParetoFit]
    """Cut-off → the Pareto fit."""

    power_law: dict[str, PowerLawTest]
    """Cut-off → the power-law test, for cut-offs that count at least 100 norms."""

    log_moment: TailEstimate | None
    """The log-moment estimate; None if only norms were given."""

    stable_index: float | None
    """The tail index of the stable fit; None if only norms were given."""

    max_to_sum: float
    """The share of the largest norm in the sum of squares."""

    norms: Array
    """The norms that the estimators read, which are those above 0."""

    def table(self) -> list[tuple[str, str, str, str]]:
        """One row per estimate: name, tail index ± standard error, 95 % interval, what it uses."""
        rows: list[tuple[str, str, str, str]] = []
        counts = cutoffs(self.norms.size)
        for name, estimates in (("Hill", self.hill), ("Pareto fit", self.pareto_fit)):
            for cut, estimate in estimates.items():
                reads = f"largest {counts[cut]:,} norms"
                rows.append((f"{name}, {cut}", str(estimate), span(*estimate.interval), reads))
        if self.log_moment is not None:
            interval = span(*self.log_moment.interval)
            rows.append(
                ("log-moment", str(self.log_moment), interval, "sums of vectors, for stable laws")
            )
        if self.stable_index is not None:
            index = f"{self.stable_index:.2f}"
            rows.append(("stable fit", index, "–", "quantiles, for stable laws"))
        share = f"R₂ = {self.max_to_sum:.3f}"
        rows.append(("max-to-sum", share, "–", "share of the largest norm"))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Everything but the norms, as dictionaries, lists, strings and numbers for JSON.

        None stands for ∞.
        """
        fields = asdict(self)
        del fields["norms"]
        fields["pareto_fit"] = {
            cut: asdict(fit) | {"tail_index": fit.tail_index}
            for cut, fit in self.pareto_fit.items()
        }
        plain: dict[str, Any] = _for_json(fields)
        return plain

    def __repr__(self) -> str:
        what = "norms" if self.dim is None else f"vectors of dimension {self.dim:,}"
        lines = [f"Gradient noise: {self.num_samples:,} {what}", ""]
        lines += [f"  {row}" for row in aligned([COLUMNS, *self.table()])]
        lines += ["", *_wrap(self.verdict, "")]
        lines += [line for words in self.disagreements for line in _wrap(words, "– ")]
        lines += [line for words in self.warnings for line in _wrap(words, "! ")]
        lines += ["", *_wrap(f"Suggested p = {self.suggested_p:.2f}. {self.reason}", "")]
        return "\n".join(lines)


def diagnose(
    samples: Samples,
    *,
    kind: Kind | None = None,
    norms: Samples | None = None,
) -> Diagnosis:
    r"""How heavy is the tail of this gradient noise? Runs all estimators and compares them.

    `samples` are noise vectors \(g - ∇f\), one per row, shape (m, d), or their norms, shape (m,).
    Vectors tell more, because the estimators that assume a stable law add up vectors or fit their
    coordinates. For scalar noise of shape (m,), pass `kind="vectors"`; otherwise it would be taken
    for norms. If the rows hold only some coordinates of each vector, pass the norms of the whole
    vectors as `norms`.

    Samples must be independent, and in the order in which they were drawn. If successive samples
    depend on each other, the diagnosis says so and widens the intervals.

    Hill, the Pareto fit and max-to-sum use the norms of the vectors, after the median of each
    coordinate is subtracted: a norm is as heavy-tailed as the heaviest coordinate, and the median,
    unlike the mean, is not moved by the tail. The stable fit is the median over at most 64
    coordinates, each fitted by itself. Coordinates are never pooled into one sample, since a
    mixture of scales has a heavier tail than each of its parts.

    `Diagnosis.tail` is one of four answers. A *cut-off* says how many of the largest norms count as
    the tail (see `cutoffs`).

    - "infinite variance": at some cut-off that counts at least 100 norms, Hill and the Pareto fit
      put the index below 2 with 95 % confidence, and `power_law_test` rejects a lognormal and a
      stretched exponential, whose moments are all finite. A further condition is that, at this
      cut-off and at all that count fewer norms, the test does not reject a power law, and neither
      estimator puts the index above 2 with 95 % confidence.
    - "finite variance": Hill and the Pareto fit put the index above 2 with 95 % confidence at every
      cut-off, and there are at least 5,000 independent samples.
    - "no power tail" is given instead of "finite variance" if the Pareto fit finds no power tail at
      two or more of the four cut-offs.
    - "undecided": all other cases, however many estimators agree.

    >>> import torch
    >>> from gossamer.noise import StudentT
    >>> noise = StudentT(df=1.5).sample((10_000, 3), generator=torch.Generator().manual_seed(0))
    >>> diagnosis = diagnose(noise)
    >>> diagnosis.tail, diagnosis.suggested_p
    ('infinite variance', 1.26)
    >>> print(diagnosis)
    Gradient noise: 10,000 vectors of dimension 3
    <BLANKLINE>
      estimator         tail index   95 % interval  uses
      Hill, √n          1.31 ± 0.13  1.05 – 1.58    largest 100 norms
      Hill, 2 %         1.45 ± 0.10  1.24 – 1.65    largest 200 norms
      Hill, 5 %         1.48 ± 0.07  1.35 – 1.61    largest 500 norms
      Hill, 10 %        1.46 ± 0.05  1.37 – 1.56    largest 1,000 norms
      Pareto fit, √n    1.22 ± 0.27  0.85 – 2.17    largest 100 norms
      Pareto fit, 2 %   1.14 ± 0.17  0.87 – 1.63    largest 200 norms
      Pareto fit, 5 %   1.31 ± 0.14  1.09 – 1.65    largest 500 norms
      Pareto fit, 10 %  1.43 ± 0.11  1.24 – 1.69    largest 1,000 norms
      log-moment        1.33 ± 0.03  1.26 – 1.39    sums of vectors, for stable laws
      stable fit        1.24         –              quantiles, for stable laws
      max-to-sum        R₂ = 0.365   –              share of the largest norm
    <BLANKLINE>
    Infinite variance. The tail is a power law of index 1.26 to 1.64 (each limit with 95 %
    confidence). Beyond the 10 % cut-off, two laws whose moments are all finite do not fit:
    a lognormal and a stretched exponential.
    <BLANKLINE>
    Suggested p = 1.26. The tail index is above 1.26 with 95 % confidence; a smaller p is
    safe and only slows the guaranteed rate.
    """
    vectors, whole, notes = _read(samples, kind, norms)
    positive = whole[whole > 0]
    count = f"{positive.size} non-zero"
    way_out = "tails are rare events, so fewer samples say nothing"
    require(positive.size >= 100, "samples", count, "at least 100", way_out)
    if positive.size < whole.size:
        notes.append(f"{whole.size - positive.size:,} norms are 0: the estimators read the others")
    if positive.size < 1000:
        notes.append(f"only {positive.size} samples: every interval below is wide; 10,000 are good")
    time = correlation_time(positive)
    if time > 1:
        notes.append(_dependent(time, positive.size))
    readings = _estimate(vectors, positive, time)
    decision = decide(readings)
    p, reason = suggest_p(decision)
    return Diagnosis(
        num_samples=whole.size,
        dim=None if vectors is None else vectors.shape[1],
        tail=decision.tail,
        verdict=describe(decision, readings),
        disagreements=tuple(disagreements(decision.tail, readings)),
        warnings=tuple(notes),
        interval=decision.interval,
        suggested_p=p,
        reason=reason,
        correlation_time=time,
        hill=readings.hill,
        pareto_fit=readings.pareto_fit,
        power_law=readings.power_law,
        log_moment=readings.log_moment,
        stable_index=readings.stable_index,
        max_to_sum=readings.max_to_sum,
        norms=positive,
    )


def _estimate(vectors: Array | None, norms: Array, time: float) -> Readings:
    """Every estimate, its error as wide as that of one independent sample for `time` samples."""
    ordered = np.sort(norms)[::-1]
    hill, fits, factor = hill_cutoffs(norms), pareto_fit_cutoffs(norms), math.sqrt(time)
    enough = {cut: k for cut, k in cutoffs(norms.size).items() if k >= LEAST}
    return Readings(
        hill={cut: estimate.widened(factor) for cut, estimate in hill.items()},
        pareto_fit={cut: fit.widened(factor) for cut, fit in fits.items()},
        power_law={cut: power_law_test(ordered, k, time) for cut, k in enough.items()},
        independent=norms.size / time,
        max_to_sum=max_to_sum(norms),
        log_moment=None if vectors is None else log_moment(vectors).widened(factor),
        stable_index=None if vectors is None else _stable_index(vectors),
    )


def _dependent(time: float, count: int) -> str:
    return (
        f"the samples are not independent: {time:.0f} in a row count as one, so the intervals are "
        f"as wide as those of {count / time:,.0f} independent samples; take samples further apart, "
        "and in the order in which they were drawn (sorted ones look dependent too)"
    )


def _read(
    samples: Samples, kind: Kind | None, norms: Samples | None
) -> tuple[Array | None, Array, list[str]]:
    """The centred vectors (None for norms), the norms of whole vectors, and warnings."""
    array = as_array(samples)
    by_shape: Kind = "norms" if array.ndim == 1 else "vectors"
    if choice("kind", kind or by_shape, get_args(Kind)) == "norms":
        _require_norms(array)
        return None, array, ["norms only: the estimators that need vectors were left out"]
    array = as_vectors(array[:, None] if array.ndim == 1 else array)
    vectors, note = centre(array)
    if note:
        warnings.warn(note, UserWarning, stacklevel=3)
    whole = distances(array) if norms is None else as_array(norms)
    _require_norms(whole)
    require(len(whole) == len(vectors), "norms", len(whole), f"one per vector, {len(vectors)}")
    return vectors, whole, [note] if note else []


def _require_norms(array: Array) -> None:
    require(array.ndim == 1, "samples", f"shape {array.shape}", "norms of shape (m,)")
    require(
        bool((array >= 0).all()),
        "samples",
        f"{int((array < 0).sum())} negative values in one axis",
        "norms, which are ≥ 0, or vectors of shape (m, d)",
        'scalar noise is kind="vectors"; coordinates of vectors must not be pooled: keep (m, d)',
    )


def _stable_index(vectors: Array) -> float | None:
    """Median over coordinates of the stable quantile fit; constant coordinates do not count."""
    chosen = np.linspace(0, vectors.shape[1] - 1, min(64, vectors.shape[1])).astype(int)
    low, high = np.quantile(vectors[:, chosen], [0.25, 0.75], axis=0)
    indices = [stable_fit(vectors[:, c]).tail_index for c in chosen[high > low]]
    return float(np.median(indices)) if indices else None


def _for_json(value: Any) -> Any:
    """Tuples as lists, and None for numbers that are not finite, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _for_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_for_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _wrap(words: str, bullet: str) -> list[str]:
    return wrapped(words, first=bullet, then=" " * len(bullet))
