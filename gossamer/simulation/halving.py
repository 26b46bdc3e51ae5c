"""Successive halving that ranks settings by where they are heading, not by where they are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.interval import SHARE, Interval


@dataclass(frozen=True)
class Halving:
    """The rule by which a search ends hopeless settings early.

    By default, at steps t = T/16, T/8, T/4 and T/2 only the best 60, 40, 25 and 12 % of all
    settings go on, but at least two. Those that run to the end are ranked by `Sweep.scores`. If no
    setting diverges, a search over many settings costs
    1/16 + 0.6/16 + 0.4/8 + 0.25/4 + 0.12/2 = 27 % of running all of them to the end.

    The level e(t) of a setting is the median of the metric over the seeds, averaged over the last
    eighth of the records up to step t. Large step sizes lead early and lose late. If the least
    value of the metric is 0, as it is for the error, settings are therefore ranked by a forecast of
    their level at step T, which continues the exponential fall from step t/2 to step t. The
    forecast is e(t) · exp(−ρ (T − t)) with the rate ρ = max(0, log(e(t/2)/e(t)) / (t/2)). A loss
    falls to a minimum that is not known, so it has no such rate, and settings are ranked by e(t).
    """

    schedule: Sequence[tuple[float, float]] = (
        (1 / 16, 0.6),
        (1 / 8, 0.4),
        (1 / 4, 0.25),
        (1 / 2, 0.12),
    )
    """Pairs (share of T at which settings are judged, share of all settings that goes on)."""

    def __post_init__(self) -> None:
        need = "pairs of shares in (0, 1), the first ones rising"
        way_out = "e.g. ((1/4, 0.5), (1/2, 0.2))"
        require(_is_schedule(self.schedule), "schedule", repr(self.schedule), need, way_out)

    def rungs(self, steps: int) -> list[int]:
        """The steps at which settings are judged, if T is `steps`."""
        rungs = {_rung(share, steps) for share, _ in self.schedule}
        return sorted(rung for rung in rungs if rung < steps)

    def survivors(self, history: Tensor, times: Tensor, steps: int, extrapolate: bool) -> Tensor:
        """Which settings go on, as booleans of shape `(settings,)`.

        Args:
            history: the metric so far, `(records, settings, seeds)`.
            times: the steps at which it was recorded, `(records,)`.
            steps: T.
            extrapolate: whether to rank by forecasts, because the metric's least value is 0.
        """
        if len(times) < 3:  # too early to tell where anything is heading
            return torch.ones(history.shape[1], dtype=torch.bool, device=history.device)
        score = forecast(median(history), times, steps if extrapolate else int(times[-1]))
        share = next(keep for at, keep in self.schedule if _rung(at, steps) >= int(times[-1]))
        lowest = score.argsort(stable=True)[: max(2, math.ceil(share * len(score)))]
        going_on = torch.zeros_like(score, dtype=torch.bool)
        going_on[lowest] = score[lowest].isfinite()
        return going_on


@dataclass(frozen=True, eq=False)
class HalvingBeside(Halving):
    """Halving of settings that come later, ranked among all: as if they had been there before."""

    rivals: Tensor = field(kw_only=True)
    """The metric of the settings that ran before, `(records, settings, seeds)`; ∞ where ended."""

    def survivors(self, history: Tensor, times: Tensor, steps: int, extrapolate: bool) -> Tensor:
        """Which of the later settings go on, `(settings,)`."""
        everyone = torch.cat([history, self.rivals[: len(times)].to(history)], dim=1)
        return super().survivors(everyone, times, steps, extrapolate)[: history.shape[1]]


def _is_schedule(schedule: Any) -> bool:
    """Whether these are pairs (time in (0, 1), share in (0, 1]), the times rising."""
    if not isinstance(schedule, Sequence):
        return False
    if not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in schedule):
        return False
    times, shares = [time for time, _ in schedule], [share for _, share in schedule]
    inside = all(time in Interval(0, 1) for time in times) and all(one in SHARE for one in shares)
    return inside and times == sorted(times)


def _rung(share: float, steps: int) -> int:
    return max(2, round(share * steps))


def median(values: Tensor) -> Tensor:
    """The median over the last axis, of an even number the mean of the middle two; NaN is worst.

    >>> median(torch.tensor([[3.0, 1.0, torch.inf, 2.0], [1.0, torch.inf, torch.nan, torch.inf]]))
    tensor([2.5000,    inf])
    """
    ranked, count = values.sort(dim=-1).values, values.shape[-1]
    return (ranked[..., (count - 1) // 2] + ranked[..., count // 2]) / 2


def forecast(history: Tensor, times: Tensor, steps: int) -> Tensor:
    """The metric at the last step, extrapolated exponentially from `(records, settings)`.

    >>> times = torch.arange(0, 101, 10)
    >>> fast, flat = torch.exp(-0.01 * times), torch.full((11,), 0.3)
    >>> forecast(torch.stack([fast, flat], dim=1), times, steps=400)
    tensor([0.0183, 0.3000])
    """
    now = int(times[-1])
    half = int((times <= now / 2).sum()) - 1
    window = max(1, len(times) // 8)
    late = history[-window:].mean(0)
    early = history[max(0, half - window + 1) : half + 1].mean(0)
    fall = torch.log(early / late).nan_to_num(0, posinf=0).clamp(min=0)  # of 0 and ∞ no rate
    rate = fall / (now - int(times[half]))
    return late * torch.exp(-rate * (steps - now))
