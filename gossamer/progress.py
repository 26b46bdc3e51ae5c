"""A progress bar on terminals, silence elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(
    description: str, total: int, show: bool | None = None
) -> Iterator[Callable[[int], None]]:
    """Yield `advance(count)`; draws on stderr only if it is a terminal, unless `show` decides.

    >>> with progress("sweep", total=3, show=False) as advance:
    ...     advance(3)
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda count: None
        return
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
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda count: bar.advance(task, count)
