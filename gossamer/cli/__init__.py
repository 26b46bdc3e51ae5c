"""The command line `gossamer`: every command is a file here."""

import sys
from io import TextIOWrapper

import click

from gossamer.cli._compare import compare
from gossamer.cli._network import network
from gossamer.cli._plan import plan
from gossamer.cli._store import store
from gossamer.cli._tails import tails
from gossamer.cli._train import train
from gossamer.cli._watch import watch
from gossamer.cli.experiments import list_, report, run
from gossamer.cli.terminal import colours, width
from gossamer.errors import InvalidInput, choice
from gossamer.text import wrapped
from gossamer.version import __version__

EPILOG = """\b
A first tour:
  gossamer network 'ring(20, hops=2)'    how fast it averages, what runs on it
  gossamer run claim-1                   an experiment in seconds
  gossamer run synthetic theory          the paper's figures, in minutes
  gossamer report                        what holds of them, on one page
  gossamer compare -a GTNSGDm -a DSGD    tune and compare methods
  gossamer plan --noise 'StudentT(1.5)'  parameters before a run
  gossamer tails noise.npy               how heavy is the noise you measured?
  gossamer train --data blobs --lr 0.1 --momentum 0.8 --checkpoints blobs
                                         four real processes on a ring
  gossamer watch blobs                   their curves grow in a browser
"""


class Commands(click.Group):
    """The commands by name; a misspelling is answered with what was probably meant."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        return super().get_command(ctx, choice("command", cmd_name, self.commands))


@click.group(
    cls=Commands,
    epilog=EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="gossamer")
@click.pass_context
def app(context: click.Context) -> None:
    """Decentralized optimization under heavy-tailed gradient noise.

    Nodes hold private objectives, talk only to their neighbours, and minimize the average
    from gradients whose noise may have no variance.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (list_, run, report, network, compare, store, plan, tails, train, watch):
    app.add_command(command)


def main() -> None:
    """Run the command line; bad input ends in one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without λ shows a question mark
    try:
        app.main(standalone_mode=False, **colours())
    except InvalidInput as error:
        _fail(str(error), 2)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except OSError as error:
        _fail(f"cannot read or write {error.filename or 'the output'} ({error.strerror})", 2)
    except (click.Abort, KeyboardInterrupt) as reason:
        kept = "what was stored is kept, and the same command goes on from there"
        told = str(reason.__cause__ or reason)  # click makes an Abort of a KeyboardInterrupt
        _fail(f"interrupted; {told or kept}", 130)


def _fail(message: str, code: int) -> None:
    """Say why, on a terminal in lines that fit, elsewhere in one that can be searched."""
    said = f"gossamer: {' '.join(message.split())}"
    lines = wrapped(said, width(), then="  ") if _on_terminal() else [said]
    click.echo("\n".join(lines), err=True)
    sys.exit(code)


def _on_terminal() -> bool:
    return sys.stderr.isatty()
