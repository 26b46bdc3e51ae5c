"""Which networks the theorems are about."""

from gossamer.networks import Compressed, Drops, Every, Modified, Network, RandomRounds
from gossamer.networks.modified import layers


def not_covered(network: Network) -> str:
    """Why the theorems say nothing about a network; "" if they hold on it.

    They assume one doubly stochastic W in every round. An accelerated network has one: P_k(W) may
    have negative entries, but the proofs use no more of W than its sums and its λ.

    >>> import gossamer as gs
    >>> not_covered(gs.ring(20).accelerated(3))
    ''
    >>> not_covered(gs.ring(20).drops(0.1).every(5))
    'messages are lost and nodes talk in every 5th step only'
    """
    *first, last = _reasons(network) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def clean(network: Network) -> Network:
    """The network without losses, compression and pauses.

    >>> import gossamer as gs
    >>> clean(gs.ring(20).drops(0.1).every(5)).name
    'ring(20)'
    """
    *_, plain = layers(network)
    return plain


def _reasons(network: Network) -> list[str]:
    """One for each modification, the innermost first."""
    inside = _reasons(network.inner) if isinstance(network, Modified) else []
    match network:
        case Drops(probability=p) if p > 0:
            return [*inside, "messages are lost"]
        case Compressed():
            return [*inside, "messages are compressed"]
        case Every(k=k) if k > 1:
            return [*inside, f"nodes talk in every {ordinal(k)} step only"]
        case RandomRounds():
            return ["links are drawn anew in every round"]
        case Network(period=period) if period > 1:
            return inside or [f"links change from round to round, with period {period}"]
        case Network(balanced=False):
            return inside or ["its one-way links are not balanced"]
    return inside


def ordinal(k: int) -> str:
    """The number in a row.

    >>> [ordinal(k) for k in (1, 2, 3, 5, 12, 21)]
    ['1st', '2nd', '3rd', '5th', '12th', '21st']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{'th' if 10 <= k % 100 <= 20 else ending}"
