"""What ranks say to all others before they know whom they are connected with."""

import json
import time
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch.distributed as dist

from gossamer.distributed.collectives import Interrupted, read_json
from gossamer.distributed.patient_store import PatientStore, StoreLost
from gossamer.distributed.rendezvous import POLL_SECONDS, ranks_text
from gossamer.distributed.secret import secret

_asked: WeakKeyDictionary[dist.ProcessGroup, int] = WeakKeyDictionary()
"""How often the ranks of each group have gathered something: all of them the same number."""


@dataclass(frozen=True)
class ByStore:
    """Gathering through a store, which all ranks reach.

    Args:
        group: the ranks.
        store: where they leave what they say; the group's own, since a newcomer knows nothing of
            what others have said in groups before.
        timeout: seconds that one of them may be silent.
    """

    group: dist.ProcessGroup
    store: PatientStore
    timeout: float

    def gather(self, value: Any) -> list[Any]:
        """`value` of every rank, by rank, as JSON knows it; a collective."""
        ranks = dist.get_process_group_ranks(self.group)
        who = "-".join(map(str, ranks))
        times = _asked[self.group] = _asked.get(self.group, 0) + 1
        keys = [f"said/{who}/{times}/{rank}" for rank in ranks]
        own = keys[dist.get_rank(self.group)]
        try:
            self.store.put(own, json.dumps(value))
            texts = self._await(keys)
        except StoreLost as reason:
            raise Interrupted(str(reason)) from None
        return [read_json(text.encode(), rank) for rank, text in enumerate(texts)]

    def _await(self, keys: list[str]) -> list[str]:
        """What is written under all keys."""
        found: dict[str, str] = {}
        deadline = time.monotonic() + self.timeout
        while missing := [key for key in keys if key not in found]:
            told = zip(missing, self.store.look(missing), strict=True)
            found |= {key: text for key, text in told if text is not None}
            if time.monotonic() > deadline:
                silent = ranks_text([keys.index(key) for key in missing])
                doubt = ", or for a seal of the same secret" if secret() else ""
                waited = f"timed out after {self.timeout:g} s"
                raise Interrupted(f"{waited}, waiting for a word of {silent}{doubt}")
            time.sleep(POLL_SECONDS if len(found) < len(keys) else 0)
        return [found[key] for key in keys]
