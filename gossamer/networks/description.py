"""Networks by name: the families, and whatever `Network.describe` described."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from gossamer.errors import require
from gossamer.networks._time_varying import one_peer_exponential, time_varying
from gossamer.networks.compressors import COMPRESSORS
from gossamer.networks.digraphs import from_digraph, random_digraph
from gossamer.networks.graphs import (
    complete,
    erdos_renyi,
    exponential,
    from_graph,
    hypercube,
    line,
    random_regular,
    ring,
    star,
    torus,
)
from gossamer.networks.matrices import from_matrix
from gossamer.networks.network import Network
from gossamer.networks.random_rounds import erdos_renyi_each_round, random_matching
from gossamer.networks.recipe import read_datum
from gossamer.spec import build

NETWORKS: dict[str, Callable[..., Network]] = {
    family.__name__: family
    for family in (
        ring,
        exponential,
        complete,
        star,
        line,
        torus,
        hypercube,
        erdos_renyi,
        random_regular,
        one_peer_exponential,
        random_digraph,
        random_matching,
        erdos_renyi_each_round,
    )
}

FROM_DATA: dict[str, Callable[..., Network]] = {
    maker.__name__: maker for maker in (from_graph, from_digraph, from_matrix, time_varying)
}


def from_text(text: str) -> Network:
    """The network of a Python expression, given as text that is parsed but never executed.

    >>> from_text("ring(20).drops(0.1).compressed(TopK(0.1))").name
    'ring(20).drops(0.1).compressed(TopK(0.1))'
    """
    return build("network", text, {**NETWORKS, "from_digraph": from_digraph}, parts=COMPRESSORS)


def from_description(description: Mapping[str, Any]) -> Network:
    """Builds the network that `describe` described, with the same weights and name.

    No code is executed.

    >>> import networkx as nx
    >>> network = from_graph(nx.petersen_graph(), "laplacian")
    >>> from_description(network.describe())
    from_graph(graph_..., weights='laplacian'): 10 nodes, degree 3, λ = 0.8
    """
    known = isinstance(description, Mapping) and "name" in description
    require(known, "description", repr(description), "what network.describe() returns")
    data = {name: read_datum(facts) for name, facts in description.get("data", {}).items()}
    expression = description.get("expression", description["name"])
    network: Any = build("network", expression, {**NETWORKS, **FROM_DATA}, data, COMPRESSORS)
    if "expression" not in description:
        return network
    recipe = dataclasses.replace(network.recipe, label=description["name"])
    return dataclasses.replace(network, recipe=recipe)
