"""`gossamer watch`: a study, a store or a training in the browser, while it runs."""

import click


@click.command()
@click.argument("folder")
def watch(folder: str) -> None:
    """Show in a browser."""
