"""One training at a time in a folder of checkpoints: that of another process is refused.

Rank 0 holds a lock on `folder/.lock` as long as it trains. The system releases it when the process
ends, however that happens; a network file system may hold it for a machine that has crashed, until
the file is deleted. On a file system without such locks nothing is held and nobody refused.
"""

import fcntl
import json
import os
import socket
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

FILE = ".lock"

HELD = (BlockingIOError, PermissionError)
"""What the system raises if another process has the lock."""


class Lock:
    """The lock of one file, which this process can hold as long as this object lives."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        weakref.finalize(self, os.close, self._file)

    def take(self, run: str) -> str:
        """Hold it for this run; returns the process that has it for another run, if one has.

        Another process of the same run may have it, which was rank 0 before this one came.
        """
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except HELD:
            found = self._read()
            same = run and found.get("run") == run
            return "" if same else str(found.get("process", "another process"))
        except OSError:  # there are no locks on this file system
            return ""
        self._write({"run": run, "process": f"process {os.getpid()} on {socket.gethostname()}"})
        return ""

    def _read(self) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            return dict(json.loads(os.pread(self._file, 1 << 12, 0)))
        return {}

    def _write(self, facts: dict[str, str]) -> None:
        with suppress(OSError):  # a full disk
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps(facts).encode(), 0)


_locks: weakref.WeakValueDictionary[Path, Lock] = weakref.WeakValueDictionary()
"""Those of this process, by file; if a file was opened twice, the first to close would let go."""


def lock_of(folder: Path) -> Lock | None:
    """The lock of a folder, to be kept; None where no file can be made."""
    path = folder.resolve() / FILE
    try:
        return _locks[path] if path in _locks else _locks.setdefault(path, Lock(path))
    except OSError:
        return None
