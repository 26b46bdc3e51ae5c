"""`gossamer plan`: which noise it assumes, and what it prints."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gossamer.cli import compare
from gossamer.cli.task import DEFAULT_NOISE

SMALL = "plan -n 'ring(4)' -p 'Quadratic(4, 2)' -T 100"


def test_the_default_noise_is_that_of_compare(gossamer: Callable[..., tuple[int, str, str]]):
    code, out, _ = gossamer(SMALL)
    assert code == 0
    assert "Noise: AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)" in out
    assert "No noise was named" in out
    (option,) = [option for option in compare.params if option.name == "noise"]
    assert option.default == DEFAULT_NOISE


@pytest.mark.parametrize(
    ("options", "assumed"),
    [
        ("--noise none", "none, the gradients are exact"),
        ("--noise 'StudentT(1.5)'", "StudentT(df=1.5, scale=1.0) in every coordinate"),
        ("--noise 'MultivariateT(1.3)'", "MultivariateT(df=1.3, scale=1.0)\n"),
        (
            "--noise 'StudentT(1.5).scaled(per_node=[1, 1, 1, 5])'",
            "StudentT(df=1.5, scale=1.0).scaled(per_node=[1.0, 1.0, 1.0, 5.0])\n",
        ),
        ("--tail 1.5 --sigma 2", "p = 1.5 and σ = 2 as given"),
    ],
)
def test_a_noise_that_is_named_is_the_one_assumed(
    gossamer: Callable[..., tuple[int, str, str]], options: str, assumed: str
):
    code, out, _ = gossamer(f"{SMALL} {options}")
    assert code == 0
    assert f"Noise: {assumed}" in out
    assert "No noise was named" not in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--tail 1.5", "--sigma: got none beside --tail"),
        ("--sigma 2", "--tail: got none beside --sigma"),
        ("--noise none --tail 1.5", "--sigma: got none beside --tail"),
    ],
)
def test_half_of_a_noise_is_refused(refused: Callable[[str], str], options: str, message: str):
    assert message in refused(f"{SMALL} {options}")


def test_all_settings_and_their_reach_are_shown(gossamer: Callable[..., tuple[int, str, str]]):
    _, out, _ = gossamer(SMALL)
    for part in ("p known", "p unknown", "practical", "reach αT", "rule of thumb"):
        assert part in out
    assert max(map(len, out.splitlines())) <= 80


MINE = """
import torch

import gossamer as gs


class Bowl(gs.Quadratic):
    def __init__(self, num_nodes):
        super().__init__(num_nodes, 2)


my_noise = gs.StudentT(1.5)
data = [([[1.0, 2.0], [3.0, 1.0]], [1.0, 0.0])] * 4
batches = gs.LeastSquares([tuple(map(torch.tensor, pair)) for pair in data], batch_size=1)
"""


def suggested(out: str) -> str:
    """The command at the end, as a shell joins its lines, without the program's name."""
    return out[out.rindex("  gossamer compare") :].replace("\\\n", " ").split(maxsplit=1)[1]


@pytest.mark.parametrize(
    ("options", "noise"),
    [
        ("", DEFAULT_NOISE),
        ("--noise none", "none"),
        ("--tail 1.5 -p batches", "none"),
        ("--noise my_noise", "my_noise"),
        ("--noise 'StudentT(1.5)' --tail 1.2", "StudentT(1.5)"),
    ],
)
def test_the_next_command_runs_what_was_planned(gossamer, tmp_path: Path, options, noise):
    """It used to run 2,000 steps of compare's own noise, and not to know own files."""
    (tmp_path / "mine.py").write_text(MINE)
    task = "" if "-p" in options else "-p 'Bowl(4)'"
    _, out, _ = gossamer(f"plan --import mine.py -n 'ring(4)' -T 70 {task} {options}")
    code, said, err = gossamer(f"{suggested(out)} --seeds 1")
    assert (code, err) == (0, "")
    assert f" on ring(4), noise {noise}, 70 steps." in said


@pytest.mark.parametrize(
    "options",
    ["--samples noise.npy", "--tail 1.5 --sigma 2", "--noise none --tail 1.5 --sigma 2"],
)
def test_a_noise_that_compare_cannot_draw_is_left_to_the_user(
    gossamer, refused, tmp_path: Path, options: str
):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).standard_normal((500, 2)))
    _, out, _ = gossamer(f"{SMALL} {options}")
    assert "put one like yours in the place of LAW" in out
    assert "noise: got 'LAW', need one of" in refused(suggested(out))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--noise steady", "or give --tail and --sigma, or --samples"),
        ("--noise heavy", "give --sigma, or --samples FILE if"),
        ("--noise 'StudentT(1.5).growing(0.1)'", "give --tail and --sigma for the gradients"),
        ("--noise 'StudentT(1.5)' --tail 1.6", "--tail: got 1.6, need"),
        ("--tail 1.5", "or describe the noise by its law, e.g. StudentT(1.5), or by --samples"),
    ],
)
def test_ways_out_are_options(refused, tmp_path: Path, options: str, message: str):
    """They used to be arguments of a function in Python."""
    (tmp_path / "mine.py").write_text(OWN_NOISE)
    assert message in refused(f"{SMALL} --import mine.py {options}")


OWN_NOISE = """
import gossamer as gs
import torch


def _draw(shape, generator):
    return torch.randn(shape, generator=generator)


steady = gs.SampledNoise(_draw, name="steady")
heavy = gs.SampledNoise(_draw, name="heavy", tail_index=1.3)
"""
