"""What notebooks show: whole, escaped, and without anything that reaches beyond it."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest

import gossamer as gs
from gossamer.display import beside, facts, table
from gossamer.networks.network import MOST_DRAWN
from gossamer.problems import ModuleProblem

PROBLEM, NETWORK = gs.Quadratic(4, 3), gs.ring(4)
HOW: dict[str, Any] = {"steps": 4, "seeds": range(2), "noise": gs.Gaussian(0.1)}
GRID = {"lr": [0.05, 0.1], "momentum": [0.0, 0.5]}


def shown(thing: Any) -> ET.Element:
    """The HTML, which is XML as well, of something."""
    return ET.fromstring(f"<div>{thing._repr_html_()}</div>")


def words(root: ET.Element) -> str:
    return " ".join(root.itertext())


@pytest.mark.parametrize(
    ("thing", "said", "pictures"),
    [
        (NETWORK, ["ring(4)", "degree 2", "λ = 0.333333"], 1),
        (gs.ring(4).drops(0.1), ["ring(4).drops(0.1)", "no λ"], 1),
        (gs.one_peer_exponential(4), ["2 rounds", "round 1"], 1),
        (gs.ring(MOST_DRAWN + 1), [f"ring({MOST_DRAWN + 1})"], 0),
        (PROBLEM, ["Quadratic(num_nodes=4", "exact", "known"], 0),
        (gs.simulate(gs.DSGD(0.1), PROBLEM, NETWORK, **HOW), ["DSGD (lr = 0.1)", "final error"], 1),
        (gs.sweep(gs.GTNSGDm, GRID, PROBLEM, NETWORK, **HOW), ["4 settings", "momentum"], 1),
        (gs.tune(gs.GTNSGDm, PROBLEM, NETWORK, grid=GRID, **HOW), ["GT-NSGDm (lr", "tuned"], 1),
        (gs.compare([gs.DSGD(0.1)], PROBLEM, NETWORK, **HOW), ["hyper-parameters", "lr = 0.1"], 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_notebook_shows(thing: Any, said: list[str], pictures: int):
    root = shown(thing)
    assert all(one in words(root) for one in said)
    assert len(root.findall(".//{*}svg")) == pictures
    assert not list(root.iter("style"))
    assert not list(root.iter("script"))


def test_the_best_of_a_table_is_bold():
    methods = [gs.DSGD(0.001), gs.GTDSGD(0.1), gs.DSGD(1e9)]
    found = gs.compare(methods, PROBLEM, NETWORK, steps=300)
    (bold,) = shown(found.table()).iter("b")
    assert bold.text == str(found.ranked()[0].final("error"))


def test_text_is_escaped():
    bad = "<script>alert(1)</script> & co"
    for html in (
        facts(bad, {bad: bad}),
        table([bad], [[bad], [bad]], [[True], [False]], [bad]),
        gs.from_matrix([[0.5, 0.5], [0.5, 0.5]], name=bad)._repr_html_(),
    ):
        root = ET.fromstring(html)
        assert not list(root.iter("script"))
        assert bad in "".join(root.itertext())


def test_parts_beside_each_other():
    assert [part.text for part in ET.fromstring(beside("a", "b"))] == ["a", "b"]


def test_a_module_shows_its_parameters():
    from torch import nn, ones

    pairs = [(ones(4, 3), ones(4, 1))] * 2
    problem = ModuleProblem(nn.Linear(3, 1), nn.functional.mse_loss, pairs, batch_size=2)
    assert problem.facts()["parameters"] == "4"
    assert problem.facts()["gradients"] == "of random samples"
