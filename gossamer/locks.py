"""One process at a time on a folder."""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from gossamer.errors import require


class _Held(threading.local):
    """The folders that a thread holds."""

    def __init__(self) -> None:
        self.folders: set[Path] = set()


_held = _Held()

_open: set[TextIO] = set()
"""The files by which this process holds folders."""


def _hold_nothing() -> None:
    """A process that is forked meanwhile would hold them, too, for as long as it lives."""
    _held.folders.clear()
    while _open:
        _open.pop().close()


os.register_at_fork(after_in_child=_hold_nothing)


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
        _open.add(file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            _held.folders.add(real)
            yield
        finally:
            _held.folders.discard(real)
            _open.discard(file)
