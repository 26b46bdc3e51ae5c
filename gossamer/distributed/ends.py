"""Ranks tell each other that they have come to the end of their data."""

import time
from collections.abc import Collection

from gossamer.distributed.patient_store import PatientStore

ASK_SECONDS = 0.05
"""From one question to the store to the next."""


class Ends:
    """Who has come to the end, in the rendezvous store, which is asked now and then.

    Args:
        store: where it is told.
        about: which end it is about, a text that no other end of the run has.

    >>> from torch.distributed import HashStore
    >>> ends = Ends(PatientStore(HashStore(), patience=1.0), "epoch 3")
    >>> ends.tell(0)
    >>> ends.told([0, 1])
    {0}
    """

    def __init__(self, store: PatientStore, about: str) -> None:
        self._store, self._about = store, about
        self._told: set[int] = set()
        self._asked = -ASK_SECONDS

    def tell(self, number: int) -> None:
        """Say that this rank, which began with `number`, has come to its end."""
        self._store.put(self._key(number), "ended")

    def told(self, numbers: Collection[int]) -> set[int]:
        """Who of these has come to the end, as the store said when it was last asked."""
        missing = [number for number in numbers if number not in self._told]
        if missing and time.monotonic() >= self._asked + ASK_SECONDS:
            found = self._store.look([self._key(number) for number in missing])
            told = zip(missing, found, strict=True)
            self._told |= {number for number, text in told if text is not None}
            self._asked = time.monotonic()
        return self._told & set(numbers)

    def _key(self, number: int) -> str:
        return f"{self._about}/{number}"
