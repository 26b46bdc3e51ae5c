"""`gossamer plan`: parameters and guarantees before a run."""

from pathlib import Path

import click

from gossamer.cli._tails import read_samples
from gossamer.cli.picture import picture_option
from gossamer.cli.task import build_task, network_option, problem_option
from gossamer.noise import NOISES
from gossamer.spec import build


@click.command()
@problem_option
@network_option
@click.option("--steps", "-T", default=10_000, show_default=True)
@click.option("--noise", default=None, help="The law of the noise, as 'StudentT(1.5)'.")
@click.option("--tail", "p", type=float, default=None, help="Order p of its moment; overrides.")
@click.option("--sigma", type=float, default=None, help="σ = (E‖noise‖^p)^(1/p); overrides.")
@click.option(
    "--samples",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Measured noise vectors, .npy or .csv.",
)
@picture_option("--figure", "a figure")
def plan(
    problem: str | None,
    network: str | None,
    steps: int,
    noise: str | None,
    p: float | None,
    sigma: float | None,
    samples: Path | None,
    figure: Path | None,
) -> None:
    """Step size, momentum and guarantee of GT-NSGDm before a run.

    Prints the parameters of both theorems, the bound split by term, and what a better network
    or more nodes would buy.

    \b
    gossamer plan --noise 'AlphaStable(1.5, skewness=0.5, scale=0.1)'
    gossamer plan -n 'exponential(20)' -T 100000 --tail 1.5 --sigma 2
    gossamer plan --samples noise.npy
    """  # fmt: skip
    import torch

    from gossamer import theory

    net, task = build_task(network, problem)
    law = None if noise is None else build("noise", noise, NOISES)
    measured = None if samples is None else torch.as_tensor(read_samples(samples))
    result = theory.plan(task, net, steps, noise=law, samples=measured, p=p, sigma=sigma)
    click.echo(result)
    if figure is not None:
        result.figure().savefig(figure)
        click.echo(f"\nFigure: {figure}")
