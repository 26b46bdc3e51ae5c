"""What pages say of stored results in words: every such sentence, and what must be true for it.

A result that changes so that a sentence is no longer true makes its test fail, and so does a
sentence that was changed or moved without its test.
"""

import re
import statistics
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from gossamer.experiments import Options, Results, Work
from gossamer.studies import EXPERIMENTS
from gossamer.studies.methods import clip_or_normalize as clip
from gossamer.studies.methods.situations import SITUATIONS, Situation

ROOT = Path(__file__).parent.parent


class Claim(NamedTuple):
    """Words of a page, the study that they speak of, and whether they are true of its results."""

    page: str
    words: str
    study: str
    true: Callable[[Results], bool]


@cache
def stored(study: str) -> Results:
    results = Work.below(ROOT / "results", EXPERIMENTS[study], Options("full")).results()
    assert results is not None, f"{study} is not complete"
    return results


def situations(**fixed: object) -> list[Situation]:
    """Those of clip-or-normalize with the given fields."""
    return [s for s in SITUATIONS if all(getattr(s, k) == v for k, v in fixed.items())]


def beside(results: Results, method: str, other: str, **fixed: object) -> list[float]:
    """The error of one method as a multiple of another's, in these situations."""
    return [clip.multiple(results, s, method, other) for s in situations(**fixed)]


def best_clipping(results: Results) -> list[float]:
    found = [(s, min(clip.CLIPPED, key=clip.median_errors(results, s).get)) for s in SITUATIONS]
    return [clip.multiple(results, s, method, clip.OURS) for s, method in found]


def clipping_is_as_low(results: Results) -> bool:
    found = best_clipping(results)
    lower = sum(value < 1 / clip.MATTERS for value in found) / len(found)
    return max(found) <= clip.MATTERS and 0.4 < lower < 0.5


def the_winner_is_among_the_worst(results: Results) -> bool:
    alike = [s for s in situations(spread=0.0, shape="symmetric") if s.tail < 2]
    apart = situations(spread=10.0, shape="symmetric", network="2-hop ring")
    wins = all(next(iter(clip.median_errors(results, s))) == "DSGD-CClip" for s in alike)
    return wins and all("DSGD-CClip" in list(clip.median_errors(results, s))[-2:] for s in apart)


def gains_with_heavier_tails(results: Results) -> bool:
    for spread in (0.0, 1.0):
        ring = {"spread": spread, "shape": "symmetric", "network": "2-hop ring"}
        found = beside(results, "DSGD-CClip", clip.OURS, **ring)
        if found != sorted(found):
            return False
    return True


def gaussian_ends_alike(results: Results) -> bool:
    near = [s for s in situations(tail=2.0) if s.spread < 10]
    (far,) = situations(tail=2.0, spread=10.0)
    ends = [list(clip.median_errors(results, s).values()) for s in near]
    alike = all(max(errors) <= clip.MATTERS * min(errors) for errors in ends)
    return alike and list(clip.median_errors(results, far))[-2:] == ["DSGD-GClip", "DSGD-CClip"]


def mistakes(results: Results, method: str) -> list[list[float]]:
    """Situation by situation, what each of the four mistakes costs."""
    found = [results[clip.unit_name(s, method)] for s in SITUATIONS]
    return [
        [
            statistics.median(clip.ratios(errors, result["tuned"]["errors"]))
            for errors in result["mistuned"].values()
        ]
        for result in found
    ]


def short_steps_are_dearest(results: Results) -> bool:
    for method in clip.METHODS:
        middles = [statistics.median(of) for of in zip(*mistakes(results, method), strict=True)]
        if max(middles) != middles[0]:
            return False
    return True


def guess_high(results: Results) -> bool:
    high = [max(cost[3] for cost in mistakes(results, m)) for m in clip.CLIPPED]
    low = [max(cost[2] for cost in mistakes(results, m)) for m in clip.CLIPPED]
    return max(high) < 2.25 and min(low) > 10


def no_momentum(results: Results) -> bool:
    found = [results[clip.unit_name(s, clip.OURS)]["tuned"] for s in situations(shape="symmetric")]
    return {tuned["hyperparameters"]["momentum"] for tuned in found} == {0}


CLIP = "clip-or-normalize"
CLAIMS = [
    Claim("clip-or-normalize.md", words, CLIP, true)
    for words, true in {
        "clearly lower in almost half of them": clipping_is_as_low,
        "the one that wins where they are alike is among the worst": the_winner_is_among_the_worst,
        "The heavier the tails, the more it gains": gains_with_heavier_tails,
        "`GTNSGDm` ends at most half as high again": lambda r: (
            max(beside(r, clip.OURS, clip.TRACKER, spread=10.0)) <= 1.5
        ),
        "The gain over normalizing is between a twentieth and a third": lambda r: all(
            1 / 20 <= 1 - times <= 1 / 3
            for times in beside(r, clip.GRADIENT, clip.OURS, shape="skewed")
        ),
        "all end alike, but for the bias of DSGD": gaussian_ends_alike,
        "ends nowhere clearly higher than `GTNSGDm`": lambda r: (
            max(beside(r, clip.TRACKER, clip.OURS)) <= clip.MATTERS
        ),
        "under symmetric noise the search chose no momentum at all": no_momentum,
        "in the middle situation of every method": short_steps_are_dearest,
        "costs little, at most about a factor of two": guess_high,
    }.items()
]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.page}: {claim.words}")
def test_the_page_says_it_and_it_is_true(claim: Claim):
    page = (ROOT / "docs" / claim.page).read_text(encoding="utf-8")
    assert claim.words in re.sub(r"\s+", " ", page)
    assert claim.true(stored(claim.study))
