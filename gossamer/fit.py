"""Which methods may run on which networks."""

from typing import Any

from gossamer.algorithms import Algorithm
from gossamer.errors import InvalidInput, require
from gossamer.networks import Network


def require_fit(method: Algorithm[Any], network: Network) -> None:
    """Refuse a method that would go to the wrong point on this network.

    Parameters that are only pulled are averaged with the weight that the network gives each node;
    where it is not balanced, that is the optimum of another sum of objectives.

    A correction that sums up what mixing changed has a sum of 0, and the right point, only while no
    round changes an average, and comes to rest only where W = Wᵀ.

    Under push-sum a node's weight w changes with every message that is lost one way, and u = w x
    with it, even where x is at rest: compressed copies of u then lag behind for ever.
    """
    label = type(method).label
    if method.needs_symmetric:
        _require_symmetric(label, network)
    found = f"{label} on {network.name}, which has no doubly stochastic weights"
    way_out = f"use PushSum({type(method).__name__}), or a method with a tracker"
    need = "gradient tracking or push-sum"
    require(network.balanced or bool(method.pushes), "algorithm", found, need, way_out)
    found = f"{label} on {network.name}"
    need = "losses both ways or none where messages are compressed: push-sum's weights change with "
    need += "every loss, and compressed copies lag behind them"
    way_out = "leave out .compressed(…), or use a method with a tracker, without PushSum"
    lagging = network.loses_one_way and network.compresses
    chasing = "push_weight" in method.pushes and lagging
    require(not chasing, "algorithm", found, need, way_out)


def fits(method: Algorithm[Any], network: Network) -> bool:
    """Whether `require_fit` lets the method run on this network."""
    try:
        require_fit(method, network)
    except InvalidInput:
        return False
    return True


def _require_symmetric(label: str, network: Network) -> None:
    found = f"{label} on {network.name}"
    need = "W = Wᵀ in every round, and messages that are lost both ways or not at all"
    way_out = "use a method with a tracker, e.g. DIGing"
    require(network.symmetric and not network.loses_one_way, "algorithm", found, need, way_out)
