"""Why a run ends, told to all ranks by the one that ends it."""

import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store

from gossamer.distributed.collectives import gather
from gossamer.distributed.secret import opened, sealed

POLL_SECONDS = 0.02
PATIENCE = 5.0
"""Seconds that a rank waits for the store to answer, and for the others to have heard."""


class LastWords:
    """Words in the rendezvous store: the first rank to say some is heard by all.

    A rank that ends the run says why and closes its connections. Those that wait for it fail, and
    look here for the reason. With a secret, words count only with a seal that nobody else can make.
    """

    def __init__(self, group: dist.ProcessGroup) -> None:
        self._about = f"last_words_{gather(secrets.token_hex(8), group)[0]}"
        store = dist.distributed_c10d._get_default_store()
        self._store: Store = PrefixStore(self._about, store)
        self._size = dist.get_world_size(group)

    def say(self, words: str, at_once: bool) -> str:
        """Say why the run ends, and return what all are told: who says something first.

        A rank that has only heard of it, not `at_once`, lets another speak first.
        """
        deadline = time.monotonic() + (0 if at_once else PATIENCE)
        while time.monotonic() < deadline and self.heard() is None:
            time.sleep(POLL_SECONDS)
        mine = sealed(self._about, words)
        told = _in_time(lambda: self._store.compare_set("words", "", mine))
        return opened(self._about, told) or words

    def heard(self) -> str | None:
        """What some rank has said, if one has."""
        there = _in_time(lambda: self._store.check(["words"]))
        told = _in_time(lambda: self._store.get("words")) if there else None
        return opened(self._about, told)

    def await_others(self) -> None:
        """Wait a little until all have come here: the store may end with this process."""
        _in_time(self._meet)

    def _meet(self) -> None:
        here, deadline = self._store.add("heard", 1), time.monotonic() + PATIENCE
        while here < self._size and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            here = self._store.add("heard", 0)


def _in_time(ask: Callable[[], Any]) -> Any:
    """What a store answers; None if it does not, since the machine that has it may be gone."""
    answers: list[Any] = []

    def wait() -> None:
        try:
            answers.append(ask())
        except RuntimeError:
            answers.append(None)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(2 * PATIENCE)
    return answers[0] if answers else None
