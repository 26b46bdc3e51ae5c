"""What a network is, in words: a label and a value for each thing that a user may want to know."""

import re

import torch

from gossamer.algorithms import ALGORITHMS, DSGD, EXTRA, PushSum
from gossamer.fit import fits
from gossamer.networks import (
    Accelerated,
    Compressed,
    Compressor,
    Drops,
    Every,
    Network,
    RandomRounds,
)
from gossamer.networks.modified import layers
from gossamer.networks.random_rounds import RandomMatching
from gossamer.text import counted, listing, ordinal
from gossamer.theory.coverage import clean, not_covered

Row = tuple[str, str]

EXAMPLE = 1_000_000
"""Numbers of a model, to give an idea of bytes."""


def explain(network: Network) -> list[Row]:
    """All rows about a network, in the order of questions: what, how, how fast, and what then."""
    return [
        ("network", network.name),
        ("nodes", f"{network.num_nodes:,}"),
        ("neighbours per node", _neighbours(network)),
        *_balance(network),
        *_modifications(network),
        ("kept exactly", _kept(network)),
        *_speed(network),
        ("messages", _messages(network)),
        ("methods", _methods(network)),
        ("theorems", _theorems(network)),
    ]


def _neighbours(network: Network) -> str:
    first_word = re.compile("degrees? |each ")
    return first_word.sub("", network.degrees, count=1)


def _balance(network: Network) -> list[Row]:
    """What one-way links mean."""
    if network.symmetric:
        return []
    if network.balanced:
        heard = "a node is heard with as much weight as it hears"
        return [("links", f"one-way and balanced: {heard}")]
    opinions, totals = "opinions are averaged with R, whose rows sum to 1", "totals split with C"
    return [("links", f"one-way and not balanced: {opinions}, {totals}, whose columns do")]


def _modifications(network: Network) -> list[Row]:
    """A row for each, the innermost first."""
    *outside, _ = layers(network)
    return [row for one in reversed(outside) for row in _modification(one, network.compresses)]


def _modification(network: Network, compressed: bool) -> list[Row]:
    """What one of them does; `compressed`: whether some other, or it, compresses messages."""
    match network:
        case Drops():
            return [("lost", _lost(network) + (_sent_again(network) if compressed else ""))]
        case Compressed():
            return [("compressed", _compressed(network.compressor)), _gamma(network)]
        case Accelerated(k=k):
            averages = f"{counted(k, 'exchange')} in every mix, weighted by Chebyshev's polynomial"
            return [("accelerated", averages)]
        case Every(k=k):
            between = ", with local steps between" if k > 1 else ""
            return [("talks", f"{_now_and_then(k)}{between}")]
    raise AssertionError(f"{type(network)} has no words")


def _now_and_then(k: int) -> str:
    return f"in every {ordinal(k)} step" if k > 1 else "in every step"


def _lost(network: Drops) -> str:
    if network.probability == 0:
        return "nothing"
    in_bursts = "" if network.burst is None else f", in bursts of {network.burst:g} rounds"
    if network.both_ways:
        how = f"both ways at once{in_bursts}; its weight goes back to both ends"
        return f"each link with probability {network.probability:g}, {how}"
    opinion, total = "an opinion is replaced by the receiver's own", "a total waits on its link"
    how = f"each way by itself{in_bursts}; {opinion}, {total} for the next message"
    return f"each message with probability {network.probability:g}, {how}"


def _sent_again(network: Drops) -> str:
    """What compression adds: whoever missed a message about a difference needs it."""
    if network.probability == 0:
        return ""
    return ". A compressed message that was lost is sent again, together with the next one"


def _compressed(compressor: Compressor) -> str:
    size = compressor.message_bytes(EXAMPLE, torch.float32)
    whole = EXAMPLE * torch.float32.itemsize
    length = f"{size:,} bytes, {size / whole:.1%} of {whole:,}; the first message is uncompressed"
    return (
        f"{compressor.words}; what a message leaves out follows in later ones. "
        f"A message about {EXAMPLE:,} numbers in float32 takes {length}"
    )


def _gamma(network: Compressed) -> Row:
    """γ, and how to choose it."""
    given = network.gamma is not None
    how = "as given" if given else "by default; if a run diverges, halve γ and the step size"
    return "γ", f"{network.gamma_for(EXAMPLE):g}, {how}"


def _kept(network: Network) -> str:
    """What no round of it can change."""
    late = network.loses_one_way
    if network.balanced and not late:
        return "averages of opinions, and totals"
    totals = "totals, with what waits on the links" if late else "totals"
    drift = [] if network.balanced else ["towards nodes that are heard by many"]
    chance = ["slightly at random"] if late else []
    return f"{totals}; averages of opinions drift {' and '.join(drift + chance)}"


def _speed(network: Network) -> list[Row]:
    """λ and what it means, or why there is none."""
    if network.why_no_lam:
        return [("λ", f"none: {network.why_no_lam}")]
    note = f" {network.lam_note}" if network.lam_note else ""
    time = f"{counted(network.mixing_time(), 'step')} until disagreement falls to 0.1 %"
    rows = [
        ("λ", f"{network.shown_lam}{note}"),
        ("spectral gap 1 − λ", f"{network.spectral_gap:.3g}"),
        ("mixing time", time),
    ]
    period = ("period", f"{network.period} rounds, λ per round")
    return rows if network.period == 1 else [*rows, period]


def _messages(network: Network) -> str:
    """How many in a round, of all nodes, for each quantity that is mixed."""
    match network:
        case Every(k=k):
            return f"{_messages(network.inner)}, {_now_and_then(k)}"
        case Accelerated(k=k):
            return f"{k} × {_messages(network.inner)}"
        case Compressed(inner=Drops() as drops) if drops.loses_one_way:
            sent = _count(network) * drops.messages_per_link
            return f"{sent:,.6g} per mix in all, on average, including those sent again"
        case Drops(both_ways=True, probability=p) if p > 0:
            return f"{_count(network) * (1 - p):,.6g} per mix in all, on average"
        case RandomMatching():
            return f"{network.links_per_round:,} per mix in all"
        case RandomRounds():
            return f"{network.links_per_round:,.6g} per mix in all, on average"
    average = ", on average over a period" if network.period > 1 else ""
    return f"{_count(network):,.6g} per mix in all{average}"


def _count(network: Network) -> float:
    """Links of a round."""
    return sum(int(one.out_degrees.sum()) for one in network.rounds) / network.period


def _methods(network: Network) -> str:
    """Which may run on it."""
    by_push_sum = fits(PushSum(DSGD)(lr=1.0), network)
    if fits(DSGD(lr=1.0), network):
        symmetric = [] if fits(EXTRA(lr=1.0), network) else _needing_symmetric()
        but = [*symmetric, *([] if by_push_sum else ["PushSum(…)"])]
        return "all" + (f" except {listing(but)}" if but else "")
    tracking = f"those that track ({', '.join(n for n, m in ALGORITHMS.items() if m.tracker)})"
    never = " or ".join(_needing_symmetric())
    others = f"; any other but {never} as PushSum(…), e.g. PushSum(DSGD)"
    return tracking + (others if by_push_sum else ", but not as PushSum(…)")


def _needing_symmetric() -> list[str]:
    return [name for name, method in ALGORITHMS.items() if method.needs_symmetric]


def _theorems(network: Network) -> str:
    """Whether the guarantee of GT-NSGDm holds."""
    why, plain = not_covered(network), clean(network)
    if not why:
        return "hold for GT-NSGDm; `gossamer plan` computes them"
    planned = f"Plan with {plain.name} and measure" if not not_covered(plain) else "Measure"
    measure = f"{planned} what this network changes, e.g. by `gossamer compare`"
    return f"do not apply, because {why}. {measure}"
