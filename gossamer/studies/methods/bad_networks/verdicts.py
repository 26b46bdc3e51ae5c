"""The verdicts: who survives, where ours is near the lowest, what is needed, what bytes buy."""

import math
from collections import Counter
from collections.abc import Mapping

from gossamer.algorithms import GTSignSGDm, NormalizedDSGD
from gossamer.experiments import Result, Results, Verdict
from gossamer.studies.methods.bad_networks.reading import (
    SURVIVES,
    as_multiple,
    in_situation,
    multiples,
    near_the_lowest,
    on_networks,
    ours_on_bad_networks,
    rank,
    show_error,
    show_multiple,
)
from gossamer.studies.methods.bad_networks.situations import (
    HEAVY,
    KINDS,
    METHODS,
    NETWORKS,
    NOISES,
    PARTS,
)
from gossamer.studies.methods.standing import AS_GOOD, OURS, median_error, robust
from gossamer.studies.synthetic.grids import SYNTHETIC
from gossamer.studies.wording import least_to_most, none_on_an_edge


def verdicts_of(results: Results) -> list[Verdict]:
    """All verdicts, in the order in which they are shown."""
    return [
        *(_survivors(results, noise) for noise in NOISES),
        _ours_survives(results),
        *(_ours_as_good(results, part, noise) for part in KINDS for noise in NOISES),
        *(_who_is_robust(results, part) for part in KINDS),
        _all_at_once(results),
        *(_without_a_tracker(results, part) for part in KINDS),
        _short_messages(results),
        _inside(results),
    ]


def _survivors(results: Results, noise: str) -> Verdict:
    found = {method: on_networks(results, "different", noise, method) for method in METHODS}
    admitted_everywhere = [m for m, of in found.items() if len(of) == len(NETWORKS)]
    worst = {m: max(multiples(found[m]).values()) for m in admitted_everywhere}
    sound = {m: worst[m] for m in sorted(worst, key=worst.__getitem__) if worst[m] < math.inf}
    return Verdict(
        f"Some method survives every network under {noise} noise where nodes differ",
        "each method's error on its worst network as a multiple of its error on the clean network, "
        "for methods that are admitted and robust everywhere: "
        + (", ".join(f"{m} {times:.2f}" for m, times in sound.items()) or "none"),
        any(times <= SURVIVES for times in sound.values()),
        f"A method survives a network if it is robust there and ends within {SURVIVES:g} times its "
        "error on the clean network. It is robust if no seed ends above half of its initial error.",
        source="ours",
    )


def _ours_survives(results: Results) -> Verdict:
    times = ours_on_bad_networks(results)
    return Verdict(
        f"{OURS} survives every bad network, under both noises, where nodes differ",
        "as a multiple of its error on the clean network: "
        + least_to_most(times.items(), show_multiple),
        {where: multiple <= SURVIVES for where, multiple in times.items()},
        source="ours",
    )


def _ours_as_good(results: Results, part: str, noise: str) -> Verdict:
    found = {network: in_situation(results, part, network, noise) for network in PARTS[part]}
    times = _beside_the_lowest(found)
    return Verdict(
        f"Under {noise} noise, where nodes {_are(part)}, the error of {OURS} is at most {AS_GOOD} "
        "times the lowest on every network",
        f"as a multiple of the lowest error: {least_to_most(times.items(), show_multiple)}",
        {network: OURS in near_the_lowest(of) for network, of in found.items()},
        "SClip-EF and DSGD-Clip shrink their steps; all other methods have constant steps. The "
        "noise is independent in every coordinate, which favours signs and clipping by coordinate.",
        source="ours",
    )


def _are(part: str) -> str:
    """How the nodes of a part are to each other, after "nodes"."""
    return {"different": "differ", "alike": "are alike"}[part]


def _beside_the_lowest(found: Mapping[str, Mapping[str, Result]]) -> dict[str, float]:
    """Network → our error there, as a multiple of the lowest."""
    lowest = {network: median_error(next(iter(of.values()))) for network, of in found.items()}
    return {network: as_multiple(of[OURS], lowest[network]) for network, of in found.items()}


def _who_is_robust(results: Results, part: str) -> Verdict:
    found = {m: on_networks(results, part, HEAVY, m) for m in METHODS}
    sound = {m: sum(map(robust, of.values())) for m, of in found.items()}
    tamed, others = (
        [m for m in METHODS if _bounds_its_step(m) == is_so] for is_so in (True, False)
    )
    initial = found[OURS]["clean"]["initial"]
    return Verdict(
        f"Under {HEAVY} noise, where nodes {_are(part)}, methods that clip or normalize are robust "
        "on every network on which they run, and no other method is robust on any network",
        "methods that clip or normalize are robust in "
        f"{_counted(sound, found, tamed)} combinations of method and network, other methods in "
        f"{_counted(sound, found, others)}",
        {
            f"{m} ({'robust' if m in tamed else 'not robust'})": sound[m]
            == (len(of) if m in tamed else 0)
            for m, of in found.items()
        },
        "A method is robust if no seed ends above half of its initial error, which is "
        f"{initial:.1f} here. This is easier the farther from the optimum the runs start.",
        source="ours",
    )


def _counted(
    sound: Mapping[str, int], found: Mapping[str, Mapping[str, Result]], methods: list[str]
) -> str:
    """On how many networks these methods are robust, of how many that admit them, in all."""
    return f"{sum(sound[m] for m in methods)} of {sum(len(found[m]) for m in methods)}"


def _bounds_its_step(method: str) -> bool:
    """Whether one gradient, however large, moves it no farther than a parameter says."""
    algorithm, grid = METHODS[method]
    return "clip" in grid or algorithm in (NormalizedDSGD, GTSignSGDm, SYNTHETIC[OURS][0])


def _all_at_once(results: Results) -> Verdict:
    found = in_situation(results, "different", "all at once", HEAVY)
    return Verdict(
        f"On the network “all at once”, under {HEAVY} noise, the error of {OURS} is the lowest",
        f"{len(METHODS) - len(found)} of {len(METHODS)} methods are refused; lowest errors of the "
        "others: "
        + ", ".join(f"{m} {show_error(result)}" for m, result in list(found.items())[:3]),
        next(iter(found)) == OURS,
        "✗ marks a method that is not robust.",
        source="ours",
    )


def _without_a_tracker(results: Results, part: str) -> Verdict:
    found = {
        f"{network}, {noise}": in_situation(results, part, network, noise)
        for network in PARTS[part]
        for noise in NOISES
    }
    plain = {
        where: {method: of[method] for method in of if not METHODS[method][0].tracker}
        for where, of in found.items()
    }
    best = {where: next(iter(of)) for where, of in plain.items() if of}
    lowest = {where: median_error(next(iter(of.values()))) for where, of in found.items()}
    times = {where: as_multiple(plain[where][m], lowest[where]) for where, m in best.items()}
    return Verdict(
        f"Where nodes {_are(part)}, the best method without a tracker is within {AS_GOOD} times "
        "the lowest error, on every network on which such methods run",
        "error of the best method without a tracker as a multiple of the lowest: "
        + least_to_most(times.items(), show_multiple),
        {where: method in near_the_lowest(found[where]) for where, method in best.items()},
        source="ours",
    )


def _short_messages(results: Results) -> Verdict:
    found = {
        f"{method}, {noise}": on_networks(results, "equal bytes", noise, method)
        for noise in NOISES
        for method in METHODS
    }
    sound = {who: of for who, of in found.items() if robust(of["clean"])}
    best = {who: _lowest(of) for who, of in sound.items()}
    gain = {w: median_error(of["clean"]) / median_error(of[best[w]]) for w, of in sound.items()}
    return Verdict(
        "At equal bytes every method ends lower with short or rare messages than with whole ones",
        f"the messages with which the {len(best)} combinations of method and noise end lowest: "
        + "; ".join(f"{network} for {count}" for network, count in Counter(best.values()).items())
        + f". {_gain(gain)}",
        {who: network != "clean" for who, network in best.items()},
        "Only methods that are robust with whole messages count. Nodes differ here.",
        source="ours",
    )


def _inside(results: Results) -> Verdict:
    edges = {name: result["edges"] for name, result in results.items()}
    note = "If its best setting lies on an edge, a search goes on beyond it, up to twelve times."
    return none_on_an_edge(edges, note)


def _lowest(found: Mapping[str, Result]) -> str:
    return min(found, key=lambda where: rank(found[where]))


def _gain(times: Mapping[str, float]) -> str:
    if not times:
        return "With whole messages no method is robust"
    found = least_to_most(times.items(), "{:.1f} times".format)
    return f"With whole messages they end {found} as high"
