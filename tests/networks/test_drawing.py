from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from gossamer import networks as gs
from gossamer.errors import InvalidInput
from gossamer.networks import drawing
from gossamer.networks.layout import circle

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection


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


@pytest.mark.parametrize("network", [gs.complete(500), gs.random_matching(10**5).every(2)])
def test_what_nobody_could_see_is_not_drawn(network: gs.Network):
    with pytest.raises(InvalidInput, match=r"links: got .*, need at most 200,000 .*draw a small"):
        network.draw()


def test_draws_on_given_axes():
    _, axes = plt.subplots()
    assert gs.torus(3, 3).draw(axes) is axes
    plt.close("all")


def places(network: gs.Network) -> np.ndarray:
    """Where the nodes are drawn, `(nodes, 2)`."""
    (dots,) = [one for one in network.draw().collections if len(one.get_offsets()) > 1]
    plt.close("all")
    return np.asarray(dots.get_offsets())


@pytest.mark.parametrize(
    "network",
    [gs.ring(7, hops=2), gs.exponential(8), gs.complete(5), gs.random_matching(6).every(2)],
    ids=lambda network: network.name,
)
def test_circulants_and_random_rounds_lie_on_a_circle(network: gs.Network):
    drawn = places(network)
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(drawn[0], [0, 1], atol=1e-12)
    apart = np.linalg.norm(drawn - np.roll(drawn, 1, axis=0), axis=1)
    np.testing.assert_allclose(apart, apart[0], rtol=1e-12)


@pytest.mark.parametrize("make", [lambda net: net, lambda net: net.drops(0.1).every(2)])
def test_families_have_their_own_shapes(make):
    star, line, torus = (places(make(net)) for net in (gs.star(6), gs.line(5), gs.torus(2, 3)))
    np.testing.assert_allclose(np.linalg.norm(star, axis=1), [0, 1, 1, 1, 1, 1], atol=1e-12)
    assert line.tolist() == [[k, 0] for k in range(5)]
    assert torus.tolist() == [[c, -r] for r in range(2) for c in range(3)]
    assert len({tuple(place) for place in places(make(gs.hypercube(4)))}) == 16
    assert len({tuple(place) for place in places(make(gs.line(30)))}) == 30


def test_survivors_of_a_torus_are_no_torus():
    assert len({tuple(place) for place in places(gs.torus(3, 3).without(4))}) == 8


def test_links_are_as_wide_as_their_weight_and_dashed_where_they_may_fail():
    weights = [[0.6, 0.3, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]]
    network = gs.from_matrix(weights)
    (links,) = [one for one in network.draw().collections if isinstance(one, LineCollection)]
    widths = dict(zip([(0, 1), (0, 2), (1, 2)], links.get_linewidths(), strict=True))
    assert widths[0, 1] > 1.5 * widths[0, 2] == 1.5 * widths[1, 2]
    assert all(pattern is None for _, pattern in links.get_linestyles())
    (lossy,) = [
        one for one in network.drops(0.1).draw().collections if isinstance(one, LineCollection)
    ]
    assert all(pattern for _, pattern in lossy.get_linestyles())
    plt.close("all")


def test_what_leaves_a_torus_on_one_side_comes_in_on_the_other():
    (links,) = [one for one in gs.torus(3, 4).draw().collections if isinstance(one, LineCollection)]
    lengths = [np.ptp(piece, axis=0).max() for piece in links.get_segments()]
    assert max(lengths) == 1
    assert sum(length < 0.5 for length in lengths) == 2 * (3 + 4)
    assert sum(length == 1 for length in lengths) == 2 * 12 - (3 + 4)
    plt.close("all")


def test_rounds_have_colours_and_names():
    axes = gs.one_peer_exponential(8).draw()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "round 0",
        "round 1",
        "round 2",
    ]
    assert len({patch.get_edgecolor() for patch in axes.patches}) == 3
    plt.close("all")


@pytest.mark.parametrize("network", [gs.ring(30), gs.torus(5, 6)], ids=lambda one: one.name)
def test_whether_nodes_lie_on_a_circle_is_found_out_once(
    network: gs.Network, monkeypatch: pytest.MonkeyPatch
):
    """Not for every link: that takes the square of the number of nodes."""
    asked: list[int] = []
    monkeypatch.setattr(drawing, "circle", lambda n: asked.append(n) or circle(n))
    network.draw()
    plt.close("all")
    assert asked == [30]
