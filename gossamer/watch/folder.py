"""What lies in a folder, as sections of a page; a part is read again only when it has changed."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from safetensors import SafetensorError

from gossamer.watch import stores, studies, trainings
from gossamer.watch.section import Section

DEPTH = 3
"""How many folders deep to look: `runs/quick/claim-1` lies two below `runs`."""

Signature = tuple[tuple[str, int, int], ...]
"""Of the files that were read: their names, when they changed, their sizes."""

Read = Callable[[Path], list[Section]]

KINDS: tuple[tuple[Callable[[Path], list[Path]], Read], ...] = (
    (trainings.find, trainings.read),
    (stores.find, stores.read),
    (studies.find, studies.read),
)
"""How the files of each kind are found in a folder, and how they are read."""

FAILURES = (OSError, ValueError, LookupError, TypeError, ArithmeticError, SafetensorError)
"""What damaged or foreign files lead to."""


class Watched:
    """A folder that is looked at again and again.

    Nothing in it is executed: logs and results are JSON, stored runs are safetensors.

    Args:
        folder: with results of `gossamer run`, stored runs, or checkpoints of `gossamer train`.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._lock = Lock()
        self._known: dict[tuple[Path, int], tuple[Signature, list[dict[str, Any]]]] = {}

    def state(self) -> dict[str, Any]:
        """All sections, as the page takes them."""
        with self._lock:
            found = [part for place in _folders(self.folder.resolve()) for part in self._at(place)]
        return {"folder": str(self.folder), "sections": found}

    def _at(self, place: Path) -> Iterator[dict[str, Any]]:
        """The sections of what lies in this very folder."""
        for kind, (find, read) in enumerate(KINDS):
            signature = _signature(find(place))
            if not signature:
                continue
            if self._known.get((place, kind), ((), []))[0] != signature:
                self._known[place, kind] = signature, _sections(place, read)
            yield from self._known[place, kind][1]


def _folders(top: Path) -> Iterator[Path]:
    """The folder and those in it, not too deep, hidden ones left out."""
    for path, inside, _ in os.walk(top):
        deep = len(Path(path).relative_to(top).parts) >= DEPTH
        inside[:] = [] if deep else sorted(name for name in inside if not name.startswith("."))
        yield Path(path)


def _signature(files: Sequence[Path]) -> Signature:
    found = []
    for file in files:
        try:
            told = file.stat()
        except OSError:  # it was removed in between
            continue
        found.append((str(file), told.st_mtime_ns, told.st_size))
    return tuple(found)


def _sections(place: Path, read: Read) -> list[dict[str, Any]]:
    """What was read; where that fails, a section that says why."""
    try:
        return [section.as_json() for section in read(place)]
    except FAILURES as reason:
        return [Section(place.name, f"cannot be read: {reason}", None, []).as_json()]
