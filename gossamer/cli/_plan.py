"""`gossamer plan`: parameters and guarantees before a run."""

from collections.abc import Mapping
from pathlib import Path

import click

from gossamer.algorithms import GTNSGDm
from gossamer.cli._tails import read_samples
from gossamer.cli.option_names import option_names
from gossamer.cli.own_code import import_option, imported
from gossamer.cli.picture import picture_option
from gossamer.cli.task import DEFAULT_NOISE, build_task, network_option, problem_option
from gossamer.cli.terminal import say, say_command
from gossamer.noise import NOISES, Noise
from gossamer.spec import build

OPTIONS = {
    "p": "--tail",
    "sigma": "--sigma",
    "by samples": "by --samples",
    "or samples": "or --samples",
    "samples=noise.sample((10_000, dim), generator=generator)": "--samples FILE",
}
"""Arguments of `theory.plan` → the options that give them."""

PLACEHOLDER = "LAW"
"""Stands for a noise law in a command where none is known."""


@click.command()
@import_option
@problem_option
@network_option
@click.option("--steps", "-T", default=10_000, show_default=True, help="T, the length of the run.")
@click.option(
    "--noise",
    default=None,
    help=f"The law of the noise, e.g. 'StudentT(1.5)', or 'none'.  [default: {DEFAULT_NOISE}]",
)
@click.option(
    "--samples",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Measured noise vectors instead of a law, .npy or .csv.",
)
@click.option(
    "--tail",
    "p",
    type=float,
    default=None,
    help="Order p of a finite moment: with --sigma instead of a law, or to override its p.",
)
@click.option(
    "--sigma",
    type=float,
    default=None,
    help="σ = (E‖noise‖^p)^(1/p): with --tail instead of a law, or to override its σ.",
)
@picture_option("--figure", "a figure")
def plan(
    problem: str | None,
    network: str | None,
    steps: int,
    noise: str | None,
    samples: Path | None,
    p: float | None,
    sigma: float | None,
    figure: Path | None,
) -> None:
    """Step size, momentum and guarantee of GT-NSGDm before a run.

    Prints the parameters of both theorems and a practical setting, how far their steps reach,
    the bound split by term, and how much a better network or more nodes would help.

    \b
    gossamer plan --noise 'AlphaStable(1.5, skewness=0.5, scale=0.1)'
    gossamer plan -n 'exponential(20)' -T 100000 --tail 1.5 --sigma 2
    gossamer plan --samples noise.npy
    gossamer plan --import mine.py -p my_problem --noise 'MyNoise(1.4)'
    """  # fmt: skip
    import torch

    from gossamer import theory

    net, task = build_task(network, problem)
    described = any(value is not None for value in (noise, samples, p, sigma))
    named = noise if described else DEFAULT_NOISE
    law = _law(named)
    measured = None if samples is None else torch.as_tensor(read_samples(samples))
    with option_names(OPTIONS):
        result = theory.plan(task, net, steps, noise=law, samples=measured, p=p, sigma=sigma)
    click.echo(result)
    click.echo()
    if not described:
        say("No noise was named: this is the default, as in `gossamer compare`.")
    if figure is not None:
        result.figure().savefig(figure)
        say(f"Figure: {figure}")
    told = {"-n": network, "-p": problem, "--steps": str(steps)}
    drawn = law is not None or (samples is None and sigma is None)
    _say_next(result.practical, told | {"--noise": named or "none" if drawn else PLACEHOLDER})


def _say_next(setting: GTNSGDm, told: Mapping[str, str | None]) -> None:
    """The command that runs a setting on what was planned, as far as `compare` can draw it."""
    if told["--noise"] == PLACEHOLDER:
        say(
            "Next, to measure the practical setting. `gossamer compare` draws noise from a law: "
            f"put one like yours in the place of {PLACEHOLDER}, or none if your noise is only "
            "that of the problem's mini-batches."
        )
    else:
        say("Next, to measure the practical setting:")
    method = f"GTNSGDm(lr={setting.lr:.3g}, momentum={setting.momentum:.5g})"
    files = [("--import", file) for file in imported()]
    options = [(flag, word) for flag, word in told.items() if word is not None]
    say_command("gossamer compare", [("-a", method), *files, *options])


def _law(noise: str | None) -> Noise | None:
    """The noise of that name; 'none' and no name are none."""
    return None if noise in (None, "none") else build("noise", noise, NOISES)
