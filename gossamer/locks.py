"""One process at a time on a folder."""

import fcntl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.errors import require


class _Held(threading.local):
    """The folders that a thread holds."""

    def __init__(self) -> None:
        self.folders: set[Path] = set()


_held = _Held()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until nobody else holds the folder, then hold it; a process that dies lets go.

    A thread that holds the folder already would wait for itself, and is refused.
    """
    real = folder.resolve()
    free = real not in _held.folders
    need = "a folder that no call around this one has open"
    require(free, "folder", folder, need, "use another store within on_record")
    with (folder / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _held.folders.add(real)
        try:
            yield
        finally:
            _held.folders.remove(real)
