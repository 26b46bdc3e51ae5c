"""The verdicts: when to clip, what to clip, whether to track, and what rules and mistakes cost."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, product

from gossamer.experiments import Results, Verdict
from gossamer.studies.methods.clip_or_normalize.reading import (
    CLIPPED,
    MATTERS,
    best_clipping,
    cost_of_mistakes,
    cost_of_rule,
    cost_of_theorem,
    median_and_worst,
    median_errors,
    multiple,
)
from gossamer.studies.methods.clip_or_normalize.situations import (
    GRADIENT,
    METHODS,
    PLAIN,
    SITUATIONS,
    SKEWNESS,
    SPREADS,
    TRACKER,
    Situation,
    unit_name,
)
from gossamer.studies.methods.standing import OURS
from gossamer.studies.wording import least_to_most, none_on_an_edge


def verdicts_of(results: Results) -> list[Verdict]:
    """All verdicts, in the order in which they are shown."""
    return [
        *(_clip_is_as_good(results, shape) for shape in SKEWNESS),
        _clipped_tracker(results),
        _what_to_clip(results),
        _track(results),
        _good_everywhere(results),
        _connectivity(results),
        _rule(results),
        _forgiving(results),
        _inside(results),
    ]


def _grouped(value: Callable[[Situation], float]) -> dict[str, list[float]]:
    """Nodes and shape of the noise, in words → a value in each of these situations."""
    found: dict[str, list[float]] = {}
    for situation in SITUATIONS:
        group = f"nodes {situation.nodes}, {situation.shape} noise"
        found.setdefault(group, []).append(value(situation))
    return found


def _range(found: Mapping[str, Sequence[float]]) -> str:
    """The least and the most of all groups, and the groups in which they are.

    >>> _range({"alike": [0.5, 0.25], "apart": [2.0]})
    '0.25 (alike) to 2 (apart)'
    """
    pairs = ((group, value) for group, values in found.items() for value in values)
    return least_to_most(pairs, "{:.3g}".format)


def _clip_is_as_good(results: Results, shape: str) -> Verdict:
    found = _grouped(lambda s: multiple(results, s, best_clipping(results, s), OURS))
    found = {group: values for group, values in found.items() if shape in group}
    every = list(chain(*found.values()))
    return Verdict(
        f"Under {shape} noise the best way to clip ends as low as {OURS}, or lower",
        f"error as a multiple of that of {OURS}: {_range(found)}; clearly lower in "
        f"{sum(value < 1 / MATTERS for value in every)} of {len(every)} situations",
        {group: max(values) <= MATTERS for group, values in found.items()},
        f"It holds if the error is at most {MATTERS} times that of {OURS} in every situation. "
        f"Clearly lower means below {1 / MATTERS:g} times that error. The best way to clip is "
        "taken in each situation, and its parameters are tuned there.",
        source="ours",
    )


def _clipped_tracker(results: Results) -> Verdict:
    found = _grouped(lambda s: multiple(results, s, TRACKER, OURS))
    return Verdict(
        f"A clipped tracker ends as low as {OURS}",
        f"error as a multiple of that of {OURS}: {_range(found)}",
        {group: max(values) <= MATTERS for group, values in found.items()},
        f"It holds if the error is at most {MATTERS} times that of {OURS} in every situation.",
        source="ours",
    )


def _what_to_clip(results: Results) -> Verdict:
    found = _grouped(lambda s: multiple(results, s, GRADIENT, TRACKER))
    return Verdict(
        "With gradient tracking, clipping the gradient ends as low as clipping the tracker",
        "error with clipped gradients as a multiple of that with a clipped tracker: "
        + _range(found),
        {group: max(values) <= MATTERS for group, values in found.items()},
        f"It holds if the error with clipped gradients is at most {MATTERS} times that with a "
        "clipped tracker in every situation.",
        source="ours",
    )


def _track(results: Results) -> Verdict:
    found = _grouped(lambda s: multiple(results, s, PLAIN, GRADIENT))
    return Verdict(
        "If gradients are clipped and nodes differ, tracking lowers the error",
        f"error of {PLAIN} (no tracking) as a multiple of that of {GRADIENT} (tracking): "
        f"{_range(found)}",
        {
            group: statistics.median(values) >= MATTERS
            for group, values in found.items()
            if "alike" not in group
        },
        f"It holds if the error without tracking is at least {MATTERS} times that with tracking in "
        "the median situation.",
        source="ours",
    )


def _good_everywhere(results: Results) -> Verdict:
    medians = [median_errors(results, situation) for situation in SITUATIONS]
    worst = {m: max(of[m] / min(of.values()) for of in medians) for m in METHODS}
    ranked = sorted(worst, key=worst.__getitem__)
    return Verdict(
        f"One method is within {MATTERS} times the lowest error in every situation",
        "every method's error as a multiple of the lowest, in its worst situation: "
        + ", ".join(f"{m} {worst[m]:.3g}" for m in ranked),
        worst[ranked[0]] <= MATTERS,
        source="ours",
    )


def _connectivity(results: Results) -> Verdict:
    """Whether GT-NSGDm and the best clipping keep their order between ring and complete."""
    found = {}
    for shape, apart in product(SKEWNESS, SPREADS):
        pair = [Situation(apart, 1.5, shape, network) for network in ("ring", "complete")]
        values = [multiple(results, s, best_clipping(results, s), OURS) for s in pair]
        found[f"{pair[0].nodes}, {shape}"] = values
    return Verdict(
        "Whether clipping or normalizing ends lower does not depend on the network",
        f"error of the best way to clip as a multiple of that of {OURS}, on the ring and on the "
        "complete network: "
        + "; ".join(f"{where} {a:.3g} and {b:.3g}" for where, (a, b) in found.items()),
        {where: _side(a) == _side(b) for where, (a, b) in found.items()},
        f"It holds if both multiples are below {1 / MATTERS:g}, both above {MATTERS}, or both "
        "between. The tail index is 1.5.",
        source="ours",
    )


def _side(value: float) -> int:
    """−1 where clipping is clearly lower, 1 where it is clearly higher, else 0."""
    return (value > MATTERS) - (value < 1 / MATTERS)


def _rule(results: Results) -> Verdict:
    found = {method: list(cost_of_rule(results, method).values()) for method in METHODS}
    return Verdict(
        "With the momentum or clipping level of the theory, and a tuned step size, methods end "
        "nearly as low as tuned methods",
        "error as a multiple of the tuned method's, in the median and in the worst situation: "
        + ", ".join(f"{m} {median_and_worst(costs)}" for m, costs in found.items())
        + f"; {OURS} with momentum and step size of Theorem 1 "
        + median_and_worst(cost_of_theorem(results).values()),
        {method: max(costs) <= 1.5 for method, costs in found.items()},
        "It holds for a method if its error is at most 1.5 times that of the tuned method in every "
        "situation. All clipping levels are that of the theorem on clipped DSGD.",
        source="ours",
    )


def _forgiving(results: Results) -> Verdict:
    found = {
        m: [max(cost_of_mistakes(results[unit_name(s, m)])) for s in SITUATIONS] for m in METHODS
    }
    middles = {method: statistics.median(costs) for method, costs in found.items()}
    return Verdict(
        f"{OURS} suffers least from a parameter that is four times off",
        "error with the worst of four mistakes as a multiple of the tuned method's, in the median "
        "and in the worst situation: "
        + ", ".join(f"{m} {median_and_worst(costs)}" for m, costs in found.items()),
        {m: middles[OURS] <= middles[m] for m in CLIPPED},
        f"It holds against a method if {OURS} loses no more in the median situation. A mistake "
        "makes the step size, the clipping level or 1 − momentum four times too small or too "
        "large. Where the tuned momentum is 0, 1 − momentum cannot be too large.",
        source="ours",
    )


def _inside(results: Results) -> Verdict:
    return none_on_an_edge({name: of["tuned"]["edges"] for name, of in results.items()})
