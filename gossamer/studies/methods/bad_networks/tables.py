"""The tables: what to choose, what it rests on, and what the searches chose."""

from gossamer.experiments import Result, Results, Table
from gossamer.simulation.words import show_bytes, spread
from gossamer.studies.methods.bad_networks.matrix import show
from gossamer.studies.methods.bad_networks.on_network import OnNetwork
from gossamer.studies.methods.bad_networks.reading import (
    as_multiple,
    in_situation,
    multiples,
    on_networks,
    show_error,
    survived,
)
from gossamer.studies.methods.bad_networks.situations import (
    METHODS,
    NETWORKS,
    NOISES,
    PARTS,
    unit_name,
)
from gossamer.studies.methods.standing import OURS, median_error, robust
from gossamer.studies.wording import edges_in_words, show_chosen

TENTH = OnNetwork.levels.index(0.1)
"""Place of a tenth of the initial error among the levels of a unit."""


def tables_of(results: Results) -> list[Table]:
    """All tables, in the order in which they are shown."""
    return [
        _decision(results),
        _survival(results),
        *(_errors(results, part, noise) for part in PARTS for noise in NOISES),
        *(_bytes(results, noise) for noise in NOISES),
        _ours(results),
        *_on_the_edge(results),
    ]


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
    return [best, show(as_multiple(found[OURS], median_error(result)))]


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
    times = multiples(found)
    worst = max(times, key=times.__getitem__)
    return [f"{len(survived(found))} of {len(found)}", f"{show(times[worst])} ({worst})"]


def _errors(results: Results, part: str, noise: str) -> Table:
    lowest = {n: next(iter(in_situation(results, part, n, noise).values())) for n in PARTS[part]}
    found = {m: on_networks(results, part, noise, m) for m in METHODS}
    rows = [
        [method, *(show_error(of.get(network), lowest[network]) for network in PARTS[part])]
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
        [part, network, noise, *_chosen(result)]
        for part in PARTS
        for noise in NOISES
        for network, result in on_networks(results, part, noise, OURS).items()
    ]
    columns = ["part", "network", "noise", "tuned to", "final error"]
    return Table(f"What the search chose for {OURS}", columns, rows)


def _chosen(result: Result) -> list[str]:
    """What the search chose, and where that ends."""
    return [show_chosen(result["hyperparameters"]), spread(result["errors"])]


def _on_the_edge(results: Results) -> list[Table]:
    rows = [
        [name, edges_in_words(result["edges"]), *_chosen(result)]
        for name, result in results.items()
        if result["edges"] and robust(result)
    ]
    title = (
        "Searches whose best lies on the edge of all that was tried, extensions included, of those "
        "that found a robust setting"
    )
    columns = ["situation and method", "edge", "tuned to", "final error"]
    return [Table(title, columns, rows)] if rows else []
