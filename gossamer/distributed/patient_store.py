"""A rendezvous store that is given up when it does not answer in time."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from torch.distributed.distributed_c10d import Store

from gossamer.distributed.secret import opened, sealed
from gossamer.errors import first_line

T = TypeVar("T")


class StoreLost(ConnectionError):
    """The store does not answer: the machine that has it is gone, or cut off."""


class PatientStore:
    """One of torch's stores, asked for at most `patience` seconds at a time.

    torch itself would wait for minutes for a machine that is cut off. A store that was lost once is
    lost for good. With a secret, what is written counts only with a seal that nobody else can make.

    >>> from torch.distributed import HashStore
    >>> store = PatientStore(HashStore(), patience=1.0)
    >>> store.put("greeting", "hello")
    >>> store.look(["greeting", "answer"])
    ['hello', None]
    """

    def __init__(self, store: Store, patience: float) -> None:
        self.store, self.patience = store, patience
        self._lost = ""

    def put(self, key: str, text: str) -> None:
        """Write, and return when it can be read: torch's own returns before."""

        def written() -> None:
            self.store.set(key, sealed(key, text))
            self.store.check([key])

        self.asked(written)

    def has(self, key: str) -> bool:
        """Whether something is written there, sealed or not."""
        return self.asked(lambda: self.store.check([key]))

    def look(self, keys: Sequence[str]) -> list[str | None]:
        """What is written under each key, None where nothing is, or nothing that counts."""
        held, there = self.store.get, self.store.check
        found = self.asked(lambda: [held(key) if there([key]) else None for key in keys])
        return [opened(key, content) for key, content in zip(keys, found, strict=True)]

    def first(self, key: str, text: str) -> str | None:
        """Write unless something is there already; returns what is there now, if it counts."""
        return opened(key, self.asked(lambda: self.store.compare_set(key, "", sealed(key, text))))

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which begins with 0, and return it."""
        return self.asked(lambda: self.store.add(key, amount))

    def asked(self, ask: Callable[[], T]) -> T:
        """What `ask` finds out from the store."""
        if self._lost:
            raise StoreLost(self._lost)
        try:
            return in_time(ask, self.patience)
        except (RuntimeError, TimeoutError) as reason:
            self._lost = f"the rendezvous store is of no use: {first_line(reason)}"
            raise StoreLost(self._lost) from None


def in_time(work: Callable[[], T], limit: float) -> T:
    """What `work` returns or raises; `TimeoutError` if it does neither within `limit` seconds."""
    results: list[T] = []
    errors: list[BaseException] = []

    def worked() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=worked, daemon=True)
    thread.start()
    thread.join(limit)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"no answer within {limit:g} s")
    return results[0]
