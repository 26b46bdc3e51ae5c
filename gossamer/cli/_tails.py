"""`gossamer tails`: how heavy is the noise in this file?"""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from gossamer.cli.option_names import option_names
from gossamer.cli.picture import picture_option
from gossamer.cli.terminal import say
from gossamer.errors import InvalidInput, require
from gossamer.tails.samples import Kind

if TYPE_CHECKING:
    from gossamer.tails import Diagnosis
    from gossamer.tails.samples import Array


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(get_args(Kind)),
    default=None,
    help="What the file holds, where its shape does not say.",
)
@picture_option("--figure", "a figure")
def tails(file: Path, kind: Kind | None, figure: Path | None) -> None:
    """Diagnose the tail of gradient noise stored in a file.

    FILE, .npy or .csv, holds noise vectors g − ∇f, one per row, or their norms in one column.
    Samples must be independent, and in the order in which they were drawn.

    \b
    gossamer tails noise.npy
    gossamer tails norms.csv --kind norms --figure tails.png
    """  # fmt: skip
    from gossamer.tails import diagnose, plot

    samples = read_samples(file)
    quiet = warnings.catch_warnings(action="ignore")  # the diagnosis prints its own
    with quiet, option_names({'kind="vectors"': "--kind vectors"}):
        diagnosis = diagnose(samples, kind=kind)
    click.echo(diagnosis)
    if figure is not None:
        plot(diagnosis).savefig(figure)
        click.echo(f"\nFigure: {figure}")
    click.echo()
    told = f"--tail {diagnosis.suggested_p:.2f} --sigma {_level(samples, diagnosis):.4g}"
    say(
        f"Next: `gossamer plan {told}` gives a step size, a momentum and a bound; name your own "
        "problem with -p and your own network with -n."
    )


def _level(samples: "Array", diagnosis: "Diagnosis") -> float:
    """σ of the noise, of its vectors or of their norms."""
    from gossamer.theory import estimate_sigma_from_samples

    p = diagnosis.suggested_p
    if diagnosis.dim is None:
        return float((samples**p).mean() ** (1 / p))
    return estimate_sigma_from_samples(samples.reshape(len(samples), -1), p).value


def read_samples(file: Path) -> "Array":
    """Numbers from a .npy or .csv file (a header line is skipped); nothing in it is executed."""
    import numpy as np

    try:
        with warnings.catch_warnings(action="error"):  # numpy warns of an empty file
            if file.suffix == ".npy":
                return np.asarray(np.load(file, allow_pickle=False), dtype=float)
            if file.suffix == ".csv":
                skip = int(_has_header(file))
                with file.open(encoding="utf-8-sig") as lines:
                    return np.loadtxt(lines, delimiter=",", skiprows=skip, ndmin=1)
    except InvalidInput:
        raise
    except (ValueError, OSError, EOFError, Warning) as reason:
        raise InvalidInput(
            f"file: {file} holds no table of numbers ({reason}), need rows of equally many "
            "numbers; a .csv file may have one header line"
        ) from reason
    raise InvalidInput(f"file: got {file.name}, need a .npy or .csv file; np.save writes one")


def _has_header(file: Path) -> bool:
    """Whether the file begins with names of columns; row numbers of pandas are refused."""
    with file.open(encoding="utf-8-sig") as lines:
        cells = next(lines, "").split(",")
    try:
        [float(cell) for cell in cells]
    except ValueError:
        numbered = len(cells) > 1 and not cells[0].strip(' "')
        found, way_out = "a first column without a name", "with pandas, to_csv(…, index=False)"
        require(not numbered, file.name, found, "noise only, without row numbers", way_out)
        return True
    return False
