"""Do all ranks run the same thing? Asked once, before the first message of a step."""

from collections.abc import Mapping
from typing import Any

import torch.distributed as dist

from gossamer.distributed.collectives import gather
from gossamer.errors import InvalidInput


def require_agreement(facts: Mapping[str, Any], group: dist.ProcessGroup | None) -> None:
    """Raise the same `InvalidInput` on every rank unless all ranks hold equal `facts`.

    >>> require_agreement({"step": 3}, group=None)
    """
    everyone = gather(dict(facts), group)
    differences = [
        f"{name}: rank 0 has {everyone[0][name]}, rank {rank} has {theirs[name]}"
        for rank, theirs in enumerate(everyone)
        for name in facts
        if theirs[name] != everyone[0][name]
    ]
    if differences:
        raise InvalidInput(
            "the ranks disagree on "
            + "; ".join(differences)
            + "; start all with the same arguments"
        )
