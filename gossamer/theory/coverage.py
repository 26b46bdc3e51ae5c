"""Which networks the theorems are about."""

from gossamer.networks import Network
from gossamer.networks.modified import layers
from gossamer.text import listing


def not_covered(network: Network) -> str:
    """Why the theorems say nothing about a network; "" if they hold on it.

    They assume one doubly stochastic W in every round. An accelerated network has one: P_k(W) may
    have negative entries, but the proofs use no more of W than its sums and its λ.

    >>> import gossamer as gs
    >>> not_covered(gs.ring(20).accelerated(3))
    ''
    >>> not_covered(gs.ring(20).drops(0.1).every(5))
    'messages are lost and nodes talk in every 5th step only'
    >>> not_covered(gs.ring(20).drops(0.1).compressed(gs.TopK(0.1)))
    'messages are lost and compressed'
    """
    outermost_first = [one.departure for one in layers(network) if one.departure]
    states: dict[str, list[str]] = {}
    for reason in outermost_first[::-1]:
        subject, verb, state = reason.partition(" are ")
        states.setdefault(subject + verb, []).append(state)
    reasons = [subject + listing(told) for subject, told in states.items()]
    return listing(reasons) if reasons else ""


def clean(network: Network) -> Network:
    """The network without losses, compression and pauses.

    >>> import gossamer as gs
    >>> clean(gs.ring(20).drops(0.1).every(5)).name
    'ring(20)'
    """
    *_, plain = layers(network)
    return plain
