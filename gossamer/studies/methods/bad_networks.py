"""Which method survives which network: lost, one-way, short and rare messages, under two noises."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import torch

from gossamer.algorithms import (
    EXTRA,
    DIGing,
    DSGDCClip,
    ExactDiffusion,
    GTAdam,
    GTClip,
    GTSignSGDm,
    MomentumTracking,
    MoTEF,
    NormalizedDSGD,
    QGDSGDm,
    SClipEF,
)
from gossamer.experiments import (
    Experiment,
    Figures,
    Result,
    Results,
    SizeName,
    Table,
    Unit,
    Verdict,
)
from gossamer.networks import QSGD, Network, Sign, TopK, random_digraph, ring
from gossamer.noise import Noise
from gossamer.simulation.search_sets import SearchSet, search_set
from gossamer.simulation.words import show_bytes, show_hyperparameters, spread
from gossamer.studies.methods.compared import Alike, Different
from gossamer.studies.methods.matrix import Cells, matrices, show
from gossamer.studies.methods.on_network import OnNetwork, admitted, bytes_per_step
from gossamer.studies.methods.standing import AS_GOOD, OURS, as_good, median_error, robust
from gossamer.studies.searched import Entry, Method, Size
from gossamer.studies.synthetic.grids import SYNTHETIC
from gossamer.studies.synthetic.task import NODES
from gossamer.studies.synthetic.task import NOISES as ALL_NOISES
from gossamer.studies.wording import edges_in_words, least_to_most, none_on_an_edge
from gossamer.text import listing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIM = 20
RING = ring(NODES, hops=2)
ONE_WAY = random_digraph(NODES, degree=2)
"""Nodes hear one to four others; the shares of a total that they would settle at differ by 25."""

NETWORKS: dict[str, Network] = {
    "clean": RING,
    "one-way": ONE_WAY,
    "loss both ways": RING.drops(0.3, both_ways=True),
    "loss one way": RING.drops(0.3),
    "loss in bursts": RING.drops(0.3, burst=10),
    "top tenth": RING.compressed(TopK(0.1)),
    "four bits": RING.compressed(QSGD(4)),
    "signs": RING.compressed(Sign()),
    "every 5th": RING.every(5),
    "lossy, short, rare": RING.drops(0.1).compressed(QSGD(4)).every(5),
    "all at once": ONE_WAY.drops(0.1).compressed(TopK(0.2)).every(2),
}

NOISES: dict[str, Noise] = {name: ALL_NOISES[name] for name in ("Gaussian", "Student-t")}
HEAVY = "Student-t"


def _searched(*algorithms: Method) -> dict[str, Entry]:
    return {algorithm.label: (algorithm, search_set(algorithm)) for algorithm in algorithms}


def _of_the_paper(*names: str) -> dict[str, Entry]:
    return {name: SYNTHETIC[name] for name in names}


def _clipped(*places: str) -> dict[str, Entry]:
    grid = search_set(GTClip)
    return {f"GT-Clip ({place})": (GTClip, {**grid, "clipped": [place]}) for place in places}


SMOOTHLY_CLIPPED: SearchSet = {
    "lr": [0.01, 0.1, 1.0, 10.0],
    "momentum": [0.1, 0.5, 0.8, 0.99],
    "scale": [5.0, 10.0, 20.0, 50.0],
    "clip": [1.0, 10.0, 100.0],
}
"""The middle of SClip-EF's own search set, which has 900 settings; extensions reach its rest."""

METHODS: dict[str, Entry] = {
    **_of_the_paper("DSGD"),
    **_searched(QGDSGDm, NormalizedDSGD),
    **_of_the_paper("DSGD-GClip"),
    **_searched(DSGDCClip),
    **_of_the_paper("DSGD-Clip"),
    "SClip-EF": (SClipEF, SMOOTHLY_CLIPPED),
    **_searched(EXTRA, ExactDiffusion),
    **_of_the_paper("GT-DSGD"),
    **_searched(DIGing, MomentumTracking, MoTEF, GTAdam),
    **_clipped("gradient", "tracker"),
    **_searched(GTSignSGDm),
    **_of_the_paper("GT-NSGDm"),
}
"""Those without a tracker, those with a correction, those with a tracker."""

PARTS: dict[str, tuple[str, ...]] = {
    "different": tuple(NETWORKS),
    "alike": ("clean", "one-way", "loss one way", "top tenth", "every 5th", "all at once"),
    "equal bytes": ("clean", "top tenth", "four bits", "signs", "every 5th", "lossy, short, rare"),
}
"""Part of the study → its networks. The last is on nodes that differ, too."""

KINDS = ("different", "alike")
"""The parts at equal steps."""

SURVIVES = 2.0
"""A method survives a network where it is robust, and its median error is at most this multiple of
its error on the clean network."""

TENTH = OnNetwork.levels.index(0.1)
"""Place of a tenth of the initial error among the levels of a unit."""


@dataclass(frozen=True, kw_only=True)
class NetworksSize(Size):
    """How long, how often and how widely, and how long at equal bytes."""

    whole_steps: int
    """At equal bytes, the steps of a method with a tracker while messages are whole."""

    extensions: int

    def of_part(self, part: str, network: str, algorithm: Method) -> "NetworksSize":
        """With as many steps as the part of the study says."""
        if part != "equal bytes":
            return self
        whole = _bytes_per_step(GTAdam, "clean")
        steps = round(self.whole_steps * whole / _bytes_per_step(algorithm, network))
        return replace(self, steps=steps)


@cache
def _bytes_per_step(algorithm: Method, network: str) -> float:
    return bytes_per_step(algorithm, NETWORKS[network], DIM, torch.float32)


class BadNetworks(Experiment[NetworksSize]):
    """Tuned in every situation, reported on fresh seeds."""

    name = "bad-networks"
    study = "methods"
    title = "Which method survives which network"
    about = (
        "Eighteen methods on 20 nodes and eleven networks: a 2-hop ring; a one-way network, whose "
        "nodes are heard by two others and hear one to four; the ring when 30 % of the "
        "messages are lost, links failing both ways, messages failing one way, or links staying "
        "dead for 10 rounds on average; when messages carry the top tenth of the coordinates, four "
        "bits of each, or signs; when nodes talk in every fifth step only; and two compositions: "
        "10 % loss with four bits in every fifth step, and the one-way network with 10 % loss and "
        "the top fifth in every second step. Noise is N(0, 3) or Student-t with 1.5 degrees of "
        "freedom in each of 20 coordinates. Nodes differ, their optima some 10 apart in every "
        "coordinate; some networks are tried with nodes that are alike, too. In every situation "
        "every method is tuned by halving on its search set, which is extended where its best "
        "lies on the edge, with tuning seeds, and runs as many steps on fresh seeds. A method that "
        "needs a balanced network runs by push-sum where there is none; one that would go to the "
        "wrong point there is refused. At equal bytes, every method runs until a node has sent as "
        "much as a tracking method sends in few steps with whole messages: short and rare messages "
        "buy steps. Messages are of 20 numbers, so that the scale which goes "
        "with four bits or signs is a large part of them; a model would gain more."
    )

    sizes: ClassVar[Mapping[SizeName, NetworksSize]] = {
        "test": NetworksSize(
            steps=16, whole_steps=2, tuning_seeds=1, fresh_seeds=2, every=6, extensions=0
        ),
        "quick": NetworksSize(steps=500, whole_steps=40, tuning_seeds=1, every=3, extensions=1),
        "full": NetworksSize(steps=5_000, whole_steps=400, tuning_seeds=3, extensions=12),
    }

    def units(self, size: NetworksSize, seed: int) -> list[Unit]:
        """A unit per part, network, noise and method that is not refused there."""
        different = Different(NODES, DIM, 10.0, seed)
        return [
            OnNetwork(
                unit_name(part, network, noise, method),
                **size.of_part(part, network, kind).search((kind, grid), seed),
                network=NETWORKS[network],
                noise=NOISES[noise],
                nodes=Alike(NODES, seed) if part == "alike" else different,
                extensions=size.extensions,
            )
            for part, networks in PARTS.items()
            for network in networks
            for noise in NOISES
            for method, (algorithm, grid) in METHODS.items()
            if (kind := admitted(algorithm, grid, NETWORKS[network])) is not None
        ]

    def finding(self, results: Results) -> str:
        """How GT-NSGDm fares on bad networks, and who ends lowest there."""
        worst = max(_ours_on_bad_networks(results).values())
        places = [(network, noise) for network in NETWORKS for noise in NOISES]
        best = [next(iter(in_situation(results, "different", *place))) for place in places]
        often = [f"{method} in {count}" for method, count in Counter(best).most_common(3)]
        return (
            f"On {len(NETWORKS) - 1} bad networks the error of {OURS} is at most {_times(worst)} "
            f"times that on the clean one. It is the lowest of all methods in {best.count(OURS)} "
            f"of {len(best)} situations; most often lowest are {listing(often)}."
        )

    def figures(self, results: Results) -> Figures:
        """A matrix of methods and networks for every part, the noises side by side."""
        return {f"{self.name}-{part.replace(' ', '-')}": _figure(results, part) for part in PARTS}

    def tables(self, results: Results) -> list[Table]:
        """What to choose, who survives, all errors, bytes, and what the searches chose."""
        return [
            _decision(results),
            _survival(results),
            *(_errors(results, part, noise) for part in PARTS for noise in NOISES),
            *(_bytes(results, noise) for noise in NOISES),
            _ours(results),
            *_on_the_edge(results),
        ]

    def verdicts(self, results: Results) -> list[Verdict]:
        """Who survives everything, where GT-NSGDm loses, what heavy tails need, what bytes buy."""
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


def unit_name(part: str, network: str, noise: str, method: str) -> str:
    """Of a method in one situation."""
    return f"{part}, {network}, {noise}, {method}"


def in_situation(results: Results, part: str, network: str, noise: str) -> dict[str, Result]:
    """Method → how it did, robust ones first, the lowest median error first; none is refused."""
    names = {method: unit_name(part, network, noise, method) for method in METHODS}
    found = {method: results[name] for method, name in names.items() if name in results}
    return dict(sorted(found.items(), key=lambda entry: rank(entry[1])))


def rank(result: Result) -> tuple[bool, float]:
    """Lower is better: what is not robust comes last, however low its median."""
    return not robust(result), median_error(result)


def on_networks(results: Results, part: str, noise: str, method: str) -> dict[str, Result]:
    """Network → how the method did there; without those that refuse it."""
    names = {network: unit_name(part, network, noise, method) for network in PARTS[part]}
    return {network: results[name] for network, name in names.items() if name in results}


def _multiples(found: Mapping[str, Result]) -> dict[str, float]:
    """Network → median error there as a multiple of that on the clean network.

    ∞ where it is not robust, there or on the clean network.
    """
    if not robust(found["clean"]):
        return dict.fromkeys(found, math.inf)
    clean = median_error(found["clean"])
    return {network: _multiple(result, clean) for network, result in found.items()}


def survived(found: Mapping[str, Result]) -> list[str]:
    """The networks that a method survives."""
    return [network for network, times in _multiples(found).items() if times <= SURVIVES]


# ---------------------------------------------------------------------- the picture


def _figure(results: Results, part: str) -> "Figure":
    where = part if part == "equal bytes" else f"nodes {part}"
    return matrices(
        {f"{noise} noise, {where}": _cells(results, part, noise) for noise in NOISES},
        list(METHODS),
        PARTS[part],
        "final error, as a multiple of the lowest in the panel; ✗ not robust: a seed ends above "
        "half of its initial error; – refused",
    )


def _cells(results: Results, part: str, noise: str) -> Cells:
    """(method, network) → error as a multiple of the lowest; ∞ if not robust, None if refused."""
    found = {
        (method, network): results.get(unit_name(part, network, noise, method))
        for method in METHODS
        for network in PARTS[part]
    }
    best = min((result for result in found.values() if result is not None), key=rank)
    lowest = median_error(best)
    return {
        place: None if result is None else _multiple(result, lowest)
        for place, result in found.items()
    }


def _multiple(result: Result, lowest: float) -> float:
    return median_error(result) / lowest if robust(result) else math.inf


# ---------------------------------------------------------------------- tables


def _decision(results: Results) -> Table:
    rows = [
        [network, *(cell for noise in NOISES for cell in _lowest_and_ours(results, network, noise))]
        for network in NETWORKS
    ]
    title = (
        "Which method ends lowest on which network, where nodes differ, and the error of "
        f"{OURS} as a multiple of the lowest error"
    )
    columns = [f"{noise}: {what}" for noise in NOISES for what in ("lowest", OURS)]
    return Table(title, ["network", *columns], rows)


def _lowest_and_ours(results: Results, network: str, noise: str) -> list[str]:
    """The method with the lowest error, and the multiple of it at which GT-NSGDm ends."""
    found = in_situation(results, "different", network, noise)
    (best, result), *_ = found.items()
    return [best, show(_multiple(found[OURS], median_error(result)))]


def near_the_lowest(found: Mapping[str, Result]) -> list[str]:
    """Methods that are robust and near the lowest median error."""
    return as_good(found, median_error(min(found.values(), key=rank)))


def _survival(results: Results) -> Table:
    rows = [
        [method, *(cell for noise in NOISES for cell in _survives(results, noise, method))]
        for method in METHODS
    ]
    title = (
        "Survival where nodes differ: the number of networks that a method survives, of those on "
        "which it runs, and its error on its worst network as a multiple of its error on the clean "
        "network (✗: not robust)"
    )
    columns = [f"{noise}: {what}" for noise in NOISES for what in ("survives", "worst")]
    return Table(title, ["method", *columns], rows)


def _survives(results: Results, noise: str, method: str) -> list[str]:
    found = on_networks(results, "different", noise, method)
    times = _multiples(found)
    worst = max(times, key=times.__getitem__)
    return [f"{len(survived(found))} of {len(found)}", f"{show(times[worst])} ({worst})"]


def _errors(results: Results, part: str, noise: str) -> Table:
    lowest = {n: next(iter(in_situation(results, part, n, noise).values())) for n in PARTS[part]}
    found = {m: on_networks(results, part, noise, m) for m in METHODS}
    rows = [
        [method, *(_error(of.get(network), lowest[network]) for network in PARTS[part])]
        for method, of in found.items()
    ]
    sent = show_bytes(results[unit_name(part, "clean", noise, OURS)]["bytes"])
    equal = f"at equal bytes, about {sent} per node, nodes different"
    where = equal if part == "equal bytes" else f"nodes {part}"
    title = (
        f"Median errors, {where}, {noise} noise: ★ lowest on its network, ✗ not robust, "
        "∞ diverged, – refused"
    )
    return Table(title, ["method", *PARTS[part]], rows)


def _error(result: Result | None, lowest: Result | None = None) -> str:
    if result is None:
        return "–"
    mark = "✗ " if not robust(result) else "★ " if result is lowest else ""
    return mark + f"{median_error(result):.3g}".replace("inf", "∞")


def _bytes(results: Results, noise: str) -> Table:
    rows = [
        [method, *(_bytes_until_a_tenth(results, network, noise, method) for network in NETWORKS)]
        for method in METHODS
    ]
    title = (
        f"Bytes that a node sends, nodes different, {noise} noise, until the median error is a "
        "tenth of the initial; – where it never is, or the method is refused. Parameters are those "
        "that end lowest, not those that get there first"
    )
    return Table(title, ["method", *NETWORKS], rows)


def _bytes_until_a_tenth(results: Results, network: str, noise: str, method: str) -> str:
    result = results.get(unit_name("different", network, noise, method))
    return "–" if result is None else show_bytes(result["bytes_until"][TENTH])


def _ours(results: Results) -> Table:
    rows = [
        [part, network, noise, show_hyperparameters(result["hyperparameters"]), spread(errors)]
        for part in PARTS
        for noise in NOISES
        for network, result in on_networks(results, part, noise, OURS).items()
        for errors in [result["errors"]]
    ]
    columns = ["part", "network", "noise", "tuned to", "final error"]
    return Table(f"What the search chose for {OURS}", columns, rows)


def _on_the_edge(results: Results) -> list[Table]:
    rows = [
        [
            name,
            edges_in_words(result["edges"]),
            show_hyperparameters(result["hyperparameters"]),
            spread(result["errors"]),
        ]
        for name, result in results.items()
        if result["edges"] and robust(result)
    ]
    title = (
        "Searches whose best lies on the edge of all that was tried, extensions included, of those "
        "that found a robust setting"
    )
    columns = ["situation and method", "edge", "tuned to", "final error"]
    return [Table(title, columns, rows)] if rows else []


# ---------------------------------------------------------------------- verdicts


def _survivors(results: Results, noise: str) -> Verdict:
    found = {method: on_networks(results, "different", noise, method) for method in METHODS}
    admitted_everywhere = [m for m, of in found.items() if len(of) == len(NETWORKS)]
    worst = {m: max(_multiples(found[m]).values()) for m in admitted_everywhere}
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
    times = _ours_on_bad_networks(results)
    return Verdict(
        f"{OURS} survives every bad network, under both noises, where nodes differ",
        f"as a multiple of its error on the clean network: {least_to_most(times.items(), _times)}",
        {where: multiple <= SURVIVES for where, multiple in times.items()},
        source="ours",
    )


def _ours_on_bad_networks(results: Results) -> dict[str, float]:
    """Network and noise → our error there, as a multiple of that on the clean network."""
    return {
        f"{network}, {noise}": multiple
        for noise in NOISES
        for network, multiple in _multiples(on_networks(results, "different", noise, OURS)).items()
        if network != "clean"
    }


def _ours_as_good(results: Results, part: str, noise: str) -> Verdict:
    found = {network: in_situation(results, part, network, noise) for network in PARTS[part]}
    times = _beside_the_lowest(found)
    return Verdict(
        f"Under {noise} noise, where nodes {_are(part)}, the error of {OURS} is at most {AS_GOOD} "
        "times the lowest on every network",
        f"as a multiple of the lowest error: {least_to_most(times.items(), _times)}",
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
    return {network: _multiple(of[OURS], lowest[network]) for network, of in found.items()}


def _times(multiple: float) -> str:
    return f"{multiple:.2f}" if multiple < math.inf else "not robust"


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
        "others: " + ", ".join(f"{m} {_error(result)}" for m, result in list(found.items())[:3]),
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
    times = {where: _multiple(plain[where][m], lowest[where]) for where, m in best.items()}
    return Verdict(
        f"Where nodes {_are(part)}, the best method without a tracker is within {AS_GOOD} times "
        "the lowest error, on every network on which such methods run",
        "error of the best method without a tracker as a multiple of the lowest: "
        + least_to_most(times.items(), _times),
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
