"""An option that names the file of one figure, the same in every command."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from gossamer.errors import require
from gossamer.report.figures import FORMATS

Command = TypeVar("Command", bound=Callable[..., Any])


def picture_option(flag: str, what: str) -> Callable[[Command], Command]:
    """The option `flag`, whose value ends in one of the formats."""
    shown = ", ".join(f".{fmt}" for fmt in FORMATS)
    kind = click.Path(path_type=Path)
    return click.option(flag, type=kind, callback=_check, help=f"Write {what} ({shown}).")


def _check(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        known = path.suffix.removeprefix(".") in FORMATS
        endings = ", ".join(f".{fmt}" for fmt in FORMATS)
        require(known, str(option.name), path.name, f"a file name that ends in one of {endings}")
    return path
