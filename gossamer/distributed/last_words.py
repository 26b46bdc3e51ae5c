"""Why a run ends, told to all ranks by the one that ends it."""

import time
from contextlib import suppress

from gossamer.distributed.patient_store import PatientStore, StoreLost
from gossamer.distributed.rendezvous import POLL_SECONDS

PATIENCE = 5.0
"""Seconds that a rank waits for another to speak first, and for the others to have heard."""


class LastWords:
    """Words in the rendezvous store: the first rank to say some is heard by all.

    A rank that ends the run says why and closes its connections. Those that wait for it fail, and
    look here for the reason.

    Args:
        store: where they are left.
        about: which run they are about, a text that no other run has.
    """

    def __init__(self, store: PatientStore, about: str) -> None:
        self._store, self.about = store, about

    def say(self, words: str, at_once: bool) -> str:
        """Say why the run ends, and return what all are told: who says something first.

        A rank that has only heard of it, not `at_once`, lets another speak first.
        """
        deadline = time.monotonic() + (0 if at_once else PATIENCE)
        while time.monotonic() < deadline and self.heard() is None:
            time.sleep(POLL_SECONDS)
        with suppress(StoreLost):
            return self._store.first(f"{self.about}/words", words) or words
        return words

    def heard(self) -> str | None:
        """What some rank has said, if one has."""
        with suppress(StoreLost):
            return self._store.look([f"{self.about}/words"])[0]
        return None

    def await_others(self, size: int) -> None:
        """Wait a little until all have come here: the store may end with this process."""
        deadline, key = time.monotonic() + PATIENCE, f"{self.about}/heard"
        with suppress(StoreLost):
            here = self._store.add(key, 1)
            while here < size and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
                here = self._store.add(key, 0)
