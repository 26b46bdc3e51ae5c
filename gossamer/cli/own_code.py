"""The option `--import`, the same in every command that takes names."""

from collections.abc import Sequence

import click

FILES = f"{__name__}.files"
"""Where a context keeps what was typed."""


def _import(context: click.Context, option: click.Parameter, files: Sequence[str]) -> None:
    from gossamer.own_names import import_file

    for file in files:
        import_file(file)
    context.meta[FILES] = files


def imported() -> Sequence[str]:
    """The files of the option, as they were typed."""
    files: Sequence[str] = click.get_current_context().meta.get(FILES, ())
    return files


import_option = click.option(
    "--import",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=_import,
    metavar="FILE",
    help="A Python file of yours, repeatable: it is executed, and what it defines has a name here.",
)
