"""Progress bars on terminals, silence elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def progress(
    description: str, total: int, show: bool | None = None
) -> Iterator[Callable[[int], None]]:
    """Yield `advance(count)`; draws on stderr only if it is a terminal, unless `show` decides.

    Bars that are shown at the same time are drawn one below the other.

    >>> with progress("sweep", total=3, show=False) as advance:
    ...     advance(3)
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda count: None
        return
    bars = SCREEN.enter()
    task = bars.add_task(description, total=total)
    try:
        yield lambda count: bars.advance(task, count)
    finally:
        bars.remove_task(task)
        SCREEN.leave()


class Screen:
    """The one live display that a terminal can have, while anybody needs it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._bars: Progress | None = None

    def enter(self) -> "Progress":
        """The display, started for the first who needs it."""
        with self._lock:
            self._users += 1
            if self._bars is None:
                self._bars = _bars()
                self._bars.start()
            return self._bars

    def leave(self) -> None:
        """Stop the display after the last."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._bars is not None:
                self._bars.stop()
                self._bars = None


SCREEN = Screen()


def _bars() -> "Progress":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True, force_terminal=True)
    return Progress(*columns, console=console, transient=True)
