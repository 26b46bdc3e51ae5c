"""`gossamer plan`: which noise it assumes, and what it prints."""

from collections.abc import Callable

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
        ("--tail 1.5", "sigma: got none beside p"),
        ("--sigma 2", "p: got none beside sigma"),
        ("--noise none --tail 1.5", "sigma: got none beside p"),
    ],
)
def test_half_of_a_noise_is_refused(refused: Callable[[str], str], options: str, message: str):
    assert message in refused(f"{SMALL} {options}")


def test_all_settings_and_their_reach_are_shown(gossamer: Callable[..., tuple[int, str, str]]):
    _, out, _ = gossamer(SMALL)
    for part in ("p known", "p unknown", "practical", "reach αT", "rule of thumb"):
        assert part in out
    assert max(map(len, out.splitlines())) <= 80
