"""One progress bar for all that is going on, on terminals; silence elsewhere.

Work has parts, which have parts: whoever begins one says so, and what is done of it moves the bar
of the whole. A part that knows how many parts it has gives each the same share; one that does not
gives each that comes a third of what is left.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Lock, local
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, Task, TaskID

SOON = 0.02
"""The share that must be done before anything is said about the time left."""


@contextmanager
def progress(
    description: str, total: int, show: bool | None = None
) -> Iterator[Callable[[int], None]]:
    """Yield `advance(count)`; draws on stderr only if it is a terminal, unless `show` decides.

    >>> with progress("sweep", total=3, show=False) as advance:
    ...     advance(3)
    """
    with _part(description, show) as part:
        if part is None:
            yield lambda count: None
        else:
            yield lambda count: part.advance(count / max(1, total))


@contextmanager
def several(
    description: str, count: int, show: bool | None = None
) -> Iterator[Callable[[str], AbstractContextManager[object]]]:
    """Yield `one(name)`, a context for each of `count` parts; they may lie in several threads.

    >>> with several("compare", 2, show=False) as one:
    ...     with one("DSGD"), progress("tune", total=3, show=False) as advance:
    ...         advance(3)
    """
    with _part(description, show) as whole:
        yield lambda name: _part(name, show, whole, 1 / max(1, count))


def show_cursor() -> None:
    """Bring back the cursor of a terminal, which a process whose bar was killed has left hidden."""
    if sys.stderr.isatty():
        print("\x1b[?25h", end="", file=sys.stderr, flush=True)


def is_shown() -> bool:
    """Whether this thread is at work on something that a bar is drawn for."""
    return _current() is not None


def tell(note: str, table: Sequence[str] = ()) -> None:
    """Show beside the bar how well it goes, e.g. "error 0.1", and below it a table.

    The table, whose first line is its head and whose second the best, goes with its part.
    """
    part = _current()
    if part is not None:
        part.note, part.table = note, list(table)
        SCREEN.draw(part)


@dataclass(eq=False)
class Part:
    """A part of what is going on."""

    name: str
    parent: "Part | None" = None
    share: float = 1.0
    """Of the parent."""

    done: float = 0.0
    note: str = ""
    table: list[str] = field(default_factory=list)

    @property
    def path(self) -> "list[Part]":
        """From the whole to this part."""
        return [*(self.parent.path if self.parent else []), self]

    def advance(self, fraction: float) -> None:
        """So much of this part is done, and of all that it is part of."""
        with _counting:
            weight = 1.0
            for part in reversed(self.path):
                part.done = min(1.0, part.done + weight * fraction)
                weight *= part.share
        SCREEN.draw(self)


_here = local()
_counting = Lock()


def _current() -> Part | None:
    found: Part | None = getattr(_here, "part", None)
    return found


@contextmanager
def _part(
    name: str, show: bool | None, parent: Part | None = None, share: float | None = None
) -> Iterator[Part | None]:
    """A part of what this thread is at, or of `parent`; None where nothing is drawn."""
    if not (sys.stderr.isatty() if show is None else show):
        yield None
        return
    before = _current()
    above = before if parent is None else parent
    left = 1.0 if above is None else (1 - above.done) / 3
    part = Part(name, above, left if share is None else share)
    SCREEN.enter(part)
    _here.part = part
    try:
        yield part
    finally:
        part.advance(1 - part.done)
        _here.part = before
        SCREEN.leave(part)


class Screen:
    """The one live display that a terminal can have, while anybody needs it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._bars: Progress | None = None
        self._tasks: dict[Part, TaskID] = {}
        self._parts: list[Part] = []

    def enter(self, part: Part) -> None:
        """Show the part; the display is started for the first."""
        with self._lock:
            if self._bars is None:
                self._bars = _bars(self._tables)
                self._bars.start()
            self._parts.append(part)
            if part.parent is None:
                self._tasks[part] = self._bars.add_task(part.name, total=1.0, note="")

    def draw(self, part: Part) -> None:
        """Bring the bar that a part belongs to up to date."""
        whole, *inner = part.path
        words = " · ".join(dict.fromkeys(each.name for each in (inner or [whole])))
        with self._lock:
            if self._bars is not None and whole in self._tasks:
                now = {"completed": whole.done, "description": words, "note": part.note}
                self._bars.update(self._tasks[whole], **now)  # type: ignore[arg-type]

    def leave(self, part: Part) -> None:
        """Show the part no longer; the display is stopped after the last."""
        with self._lock:
            self._parts.remove(part)
            assert self._bars is not None
            if part in self._tasks:
                self._bars.remove_task(self._tasks.pop(part))
            if not self._parts:
                self._bars.stop()
                self._bars = None

    def _tables(self) -> list[list[str]]:
        return [part.table for part in list(self._parts) if part.table]


SCREEN = Screen()


def _bars(tables: Callable[[], list[list[str]]]) -> "Progress":
    """A line for each piece of work, and tables below."""
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.table import Column
    from rich.text import Text

    class Bars(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            yield self.make_tasks_table([task for task in self.tasks if task.visible])
            for head, best, *others in tables():
                lines = [Text(head, "bold"), Text(best, "green"), *map(Text, others)]
                yield from (Text.assemble("  ", line, overflow="ellipsis") for line in lines)

    class Left(TextColumn):
        def render(self, task: "Task") -> Text:
            return Text(_left(task.completed, task.elapsed or 0.0), "cyan", justify="right")

    words = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    columns = (
        TextColumn("{task.description}", table_column=words, markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        Left(""),
    )
    console = Console(stderr=True, force_terminal=True)
    printed_above = sys.stdout.isatty()  # and not where what is printed goes to a file
    return Bars(
        *columns, console=console, transient=True, expand=True, redirect_stdout=printed_above
    )


def _left(done: float, elapsed: float) -> str:
    """The time left, if it goes on like this.

    >>> _left(0.5, 90.0), _left(0.9, 27.0), _left(0.001, 1.0)
    ('1:30 left', '0:03 left', '')
    """
    if done < SOON:
        return ""
    minutes, seconds = divmod(round(elapsed * (1 - done) / done), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02} left" if hours else f"{minutes}:{seconds:02} left"
