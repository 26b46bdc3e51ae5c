"""Do all ranks run the same thing? Asked before the first message of a step."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gossamer.digests import digest
from gossamer.distributed.rendezvous import ranks_text
from gossamer.errors import InvalidInput
from gossamer.networks import Network


def require_agreement(everyone: Sequence[Mapping[str, str]]) -> None:
    """Raise the same `InvalidInput` on every rank unless all say the same of everything.

    >>> require_agreement([{"step": "3"}, {"step": "3"}])
    """
    if found := differences(everyone):
        raise InvalidInput(f"{found}; start all with the same arguments")


def differences(everyone: Sequence[Mapping[str, str]]) -> str:
    """What the ranks do not say alike, in words; nothing if they say the same of everything.

    >>> differences([{"lr": "0.1"}, {"lr": "0.2"}])
    'the ranks disagree on lr: rank 0 has 0.1, rank 1 has 0.2'
    """
    found = [
        f"{name}: {says}"
        for name in dict.fromkeys(name for theirs in everyone for name in theirs)
        if (says := who_says_what([theirs.get(name, "nothing") for theirs in everyone]))
    ]
    return f"the ranks disagree on {'; '.join(found)}" if found else ""


def in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """What a rank says of them; of numbers nine digits, since machines round a schedule otherwise.

    >>> in_words({"lr": 0.1 + 0.2, "step": 3})
    {'lr': '0.3', 'step': '3'}
    """
    return {
        name: f"{fact:.9g}" if isinstance(fact, float) else str(fact)
        for name, fact in facts.items()
    }


def about_network(network: Network) -> dict[str, str]:
    """What ranks with the same network say of it."""
    return {"network": network.name, "links": short_digest(network.describe())}


def short_digest(description: object) -> str:
    """A few letters that differ where descriptions, as JSON, do."""
    return digest(json.dumps(description, sort_keys=True))[:12]


def who_says_what(values: Sequence[str]) -> str:
    """The ranks by what they say; nothing if all say the same.

    >>> who_says_what(["0.1", "0.1", "0.2", "0.1"])
    'ranks 0, 1, 3 have 0.1, rank 2 has 0.2'
    """
    ranks = {value: [r for r, v in enumerate(values) if v == value] for value in values}
    if len(ranks) == 1:
        return ""
    return ", ".join(
        f"{ranks_text(each)} {'have' if len(each) > 1 else 'has'} {value}"
        for value, each in ranks.items()
    )
