from pathlib import Path

import matplotlib as mpl
import pytest

from gossamer import networks as gs

mpl.use("Agg")
from matplotlib import pyplot as plt


@pytest.mark.parametrize(
    ("network", "arrows"),
    [
        (gs.ring(20, hops=2), 0),
        (gs.star(5), 0),
        (gs.ring(1), 0),
        (gs.exponential(8), 24),
        (gs.one_peer_exponential(8), 24),
        (gs.line(60), 0),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_draws_a_picture_with_arrows_for_directed_links(
    network: gs.Network, arrows: int, tmp_path: Path
):
    axes = network.draw()
    assert axes.get_title() == f"{network.name}, λ = {network.lam:.3g}"
    assert len(axes.patches) == arrows
    axes.figure.savefig(tmp_path / "network.png")
    assert (tmp_path / "network.png").stat().st_size > 1000
    plt.close("all")


@pytest.mark.parametrize(
    ("network", "title", "arrows"),
    [
        (gs.random_digraph(8, degree=2), "random_digraph(8, degree=2, seed=0)", 16),
        (gs.ring(8).drops(0.1), "ring(8).drops(0.1)", 0),
        (gs.random_matching(8), "random_matching(8)\nλ = 0.655 in mean square", 0),
        (gs.torus(4, 4).every(12), "torus(4, 4).every(12), λ = 0.958", 0),
        (
            gs.ring(16, hops=2, weights="laplacian").every(12),
            "ring(16, hops=2, weights='laplacian').every(12)\nλ = 0.996",
            0,
        ),
    ],
)
def test_the_title_gives_lam_where_there_is_one(network: gs.Network, title: str, arrows: int):
    axes = network.draw()
    assert axes.get_title() == title
    assert len(axes.patches) == arrows
    plt.close("all")


def test_draws_on_given_axes():
    _, axes = plt.subplots()
    assert gs.torus(3, 3).draw(axes) is axes
    plt.close("all")
