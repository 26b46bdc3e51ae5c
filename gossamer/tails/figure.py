"""One figure of a diagnosis: density, survival, Hill plot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gossamer.colours import BLUE, GREEN, GREY, VERMILLION
from gossamer.noise import AlphaStable
from gossamer.plots import panels, style
from gossamer.tails._diagnose import Diagnosis, diagnose
from gossamer.tails._hill import hill_curve
from gossamer.tails._stable_fit import StableFit, stable_fit
from gossamer.tails.estimate import GAUSSIAN_IQR, Z95, cutoffs
from gossamer.tails.samples import Array, Samples
from gossamer.tails.verdict import SHOWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STABLE: dict[str, Any] = {"color": VERMILLION, "ls": "-", "lw": 1.5, "label": "α-stable, fitted"}
GAUSSIAN: dict[str, Any] = {"color": GREEN, "ls": "--", "lw": 1.5, "label": "Gaussian, fitted"}


def plot(samples: Diagnosis | Samples) -> Figure:
    """Draw a diagnosis, or diagnose samples and draw the result, as a figure of three panels.

    - Density: the norms of the noise, with an α-stable law fitted to their quantiles and the
      Gaussian of the same median and interquartile range.
    - Survival: the share of norms above x on log–log axes, where a power tail is a straight line,
      with both fitted laws and the line of Hill's index.
    - Hill plot: Hill's estimate for every k with its 95 % band, the four cut-offs, and the Pareto
      fits. A power tail shows as a plateau. If it lies below 2, the variance is infinite.

    >>> import torch
    >>> from gossamer.noise import AlphaStable
    >>> x = AlphaStable(1.5).sample((1000, 3), generator=torch.Generator().manual_seed(0))
    >>> figure = plot(x)
    >>> [axes.get_title() for axes in figure.axes]
    ['Density', 'Survival', 'Hill plot']
    >>> figure.savefig("tails.pdf")  # doctest: +SKIP
    """
    diagnosis = samples if isinstance(samples, Diagnosis) else diagnose(samples)
    fit = stable_fit(diagnosis.norms)
    with style():
        figure, (density, survival, hill) = panels(3, width=3.5, height=3.3)
        _draw_density(density, diagnosis.norms, fit)
        _draw_survival(survival, diagnosis, fit)
        _draw_hill(hill, diagnosis)
        for axes in (density, survival, hill):
            axes.legend(loc="lower right" if axes is hill else "upper right")
    return figure


def _draw_density(axes: Axes, norms: Array, fit: StableFit) -> None:
    median, deviation = _gaussian_of_quartiles(norms)
    x = np.linspace(norms.min(), np.quantile(norms, 0.99), 400)
    bins = np.linspace(x[0], x[-1], 51)
    counts, _ = np.histogram(norms, bins)
    axes.stairs(
        counts / norms.size / np.diff(bins), bins, fill=True, color=BLUE, alpha=0.35, label="norms"
    )
    axes.plot(x, fit.density(x), **STABLE)
    z = (x - median) / deviation
    axes.plot(x, np.exp(-(z**2) / 2) / deviation / math.sqrt(2 * math.pi), **GAUSSIAN)
    axes.set(title="Density", xlabel="noise norm", ylabel="density", ylim=(0, None))


def _draw_survival(axes: Axes, diagnosis: Diagnosis, fit: StableFit) -> None:
    ordered = np.sort(diagnosis.norms)[::-1]
    share = np.arange(1, ordered.size + 1) / ordered.size
    axes.loglog(ordered, share, ".", ms=3, color=BLUE, label="norms")
    x = np.geomspace(np.median(ordered), ordered[0], 200)
    if fit.tail_index > 1:
        axes.loglog(x, _stable_survival(x, fit), **STABLE)
    median, deviation = _gaussian_of_quartiles(ordered)
    z = (x - median) / deviation
    axes.loglog(x, [math.erfc(value / math.sqrt(2)) / 2 for value in z], **GAUSSIAN)
    index, k = diagnosis.hill[SHOWN].tail_index, cutoffs(ordered.size)[SHOWN]
    tail = x[x >= ordered[k]]
    line = k / ordered.size * (tail / ordered[k]) ** -index
    axes.loglog(tail, line, color=GREY, ls=":", label=f"Hill at {SHOWN}: {index:.2f}")
    axes.set(title="Survival", xlabel="noise norm x", ylabel="P(norm > x)")
    axes.set(xlim=(np.quantile(ordered, 0.01), None), ylim=(0.5 / ordered.size, 1.2))


def _draw_hill(axes: Axes, diagnosis: Diagnosis) -> None:
    curve = hill_curve(diagnosis.norms)
    shown = (curve.k >= 10) & (curve.k <= curve.k.size / 2) & np.isfinite(curve.tail_index)
    k, index, error = curve.k[shown], curve.tail_index[shown], Z95 * curve.standard_error[shown]
    axes.fill_between(k, index - error, index + error, color=BLUE, alpha=0.2, lw=0)
    axes.semilogx(k, index, color=BLUE, label="Hill, 95 % band")
    axes.axhline(2, color=GREY, ls=":", label="finite variance above")
    top = 1.3 * float(np.max(index))
    for cut, count in cutoffs(diagnosis.norms.size).items():
        estimate = diagnosis.pareto_fit[cut]
        axes.axvline(count, color=GREY, lw=0.5)
        axes.text(count, top, f"{cut} ", rotation=90, va="top", ha="right", fontsize=8, color=GREY)
        if estimate.tail_index < top:
            label = None if cut != SHOWN else "Pareto fit"
            axes.plot(count, estimate.tail_index, "D", ms=5, color=VERMILLION, label=label)
    axes.set(title="Hill plot", xlabel="largest k norms", ylabel="tail index", ylim=(0, top))


def _gaussian_of_quartiles(norms: Array) -> tuple[float, float]:
    """Mean and deviation of the Gaussian with the median and quartiles of the sample."""
    low, median, high = np.quantile(norms, [0.25, 0.5, 0.75])
    return float(median), float(high - low) / GAUSSIAN_IQR


def _stable_survival(x: Array, fit: StableFit) -> Array:
    """P(X > x) of the fitted law, from a million synthetic draws."""
    law = AlphaStable(fit.tail_index, fit.skewness, fit.scale)
    draws = law.sample((2**20,), generator=torch.Generator().manual_seed(0)).numpy()
    below = np.searchsorted(np.sort(draws + fit.location), x, side="right")
    return 1 - below / draws.size
