import itertools
import math

import networkx as nx
import pytest

import gossamer as gs
from gossamer.theory import (
    Parameters,
    forgetting_exponent,
    laplacian_lam,
    momentum_rule,
    parameters,
)

ORDERS = [1 + 1e-9, 1.2, 1.45, 1.8, 2.0, None]


def rule(steps: float = 1000, **changes: float | None) -> Parameters:
    known = {"num_nodes": 16, "lam": 0.5, "smoothness": 2.0, "gap": 3.0, "p": 1.5}
    return parameters(steps, **(known | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(("p", "exponent"), [(1 + 1e-12, 1.0), (1.5, 0.6), (2, 0.5), (None, 0.5)])
def test_forgetting_exponent(p: float | None, exponent: float):
    assert forgetting_exponent(p) == pytest.approx(exponent, rel=1e-11)
    assert momentum_rule(4096, p) == pytest.approx(1 - 4096**-exponent, rel=1e-11)


def test_heavier_tails_and_longer_runs_remember_more():
    assert momentum_rule(1000, 1.2) > momentum_rule(1000, 1.5) > momentum_rule(1000, 2)
    assert momentum_rule(1000, 2) == momentum_rule(1000)
    assert momentum_rule(10_000, 1.5) > momentum_rule(1000, 1.5)


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("steps", [2, 3, 10, 1e3, 1e9])
def test_momentum_meets_the_assumption_of_the_theorems(p: float | None, steps: float):
    assert 1 - 0.5**0.5 - 1e-12 <= momentum_rule(steps, p) < 1


def test_two_steps():
    assert rule(2, p=2.0).momentum == pytest.approx(1 - 2**-0.5)
    assert rule(2, p=1 + 1e-12).momentum == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changes", "binding", "lr"),
    [
        ({"gap": 1e9}, "cap", 1.0),
        ({"steps": 10**6}, "momentum", math.sqrt(3 * 10**-3.6 * 0.5 / (4 * 2 * 10**6))),
        ({"lam": 0.99}, "tracking", math.sqrt(3 * 0.01**2 / (2 * 4 * 2 * 1000))),
        ({"num_nodes": 10**8}, "tracking", math.sqrt(3 * 0.25 / (2 * 10**4 * 2 * 1000))),
    ],
)
def test_each_branch_of_the_minimum(changes: dict[str, float], binding: str, lr: float):
    chosen = rule(**changes)
    assert chosen.binding == binding
    assert chosen.lr == pytest.approx(lr, rel=1e-12)


def test_the_consensus_branch_is_never_the_smallest():
    grid = itertools.product(
        ORDERS, [2, 100, 1e6], [1, 20, 10**6], [0, 0.5, 0.999999], [1e-6, 1.0, 1e6]
    )
    for p, steps, num_nodes, lam, gap in grid:
        chosen = rule(steps, p=p, num_nodes=num_nodes, lam=lam, gap=gap)
        assert chosen.candidates["consensus"] > chosen.candidates["momentum"] >= chosen.lr


def test_step_size_falls_with_everything_that_makes_it_harder():
    base = rule().lr
    for harder in ({"steps": 2000}, {"lam": 0.6}, {"smoothness": 3.0}, {"gap": 2.0}, {"p": 1.3}):
        assert rule(**harder).lr < base, harder
    assert rule(num_nodes=17, lam=0.99).lr < rule(num_nodes=16, lam=0.99).lr


def test_complete_network():
    chosen = rule(lam=0.0, num_nodes=4)
    assert chosen.lr == pytest.approx(math.sqrt(3 * 1000**-0.6 / (4 * 2 * 1000)), rel=1e-12)


def test_builds_the_algorithm():
    chosen = rule()
    assert chosen.algorithm() == gs.GTNSGDm(lr=chosen.lr, momentum=chosen.momentum)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("p", p) for p in (1.0, 0.5, 2.0001, math.nan, math.inf)],
        *[("steps", steps) for steps in (1, 0, -5, math.nan, math.inf)],
        *[("lam", lam) for lam in (1.0, 1.5, -0.1, math.nan)],
        *[("smoothness", L) for L in (0.0, -1.0, math.inf, math.nan)],
        *[("gap", gap) for gap in (0.0, -1.0, math.inf, math.nan)],
        ("num_nodes", 0),
    ],
)
def test_refusals(name: str, value: float):
    with pytest.raises(gs.InvalidInput, match=f"^{name}: got {value}, need"):
        rule(**{name: value})


def test_the_path_attains_the_laplacian_bound():
    for n in (2, 3, 5, 10, 40):
        assert laplacian_lam(n) == pytest.approx(gs.line(n, weights="laplacian").lam, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 8, 20, 50])
def test_the_laplacian_bound_holds_on_every_family(n: int):
    networks = [family(n, weights="laplacian") for family in (gs.ring, gs.line, gs.star)]
    networks += [gs.from_graph(nx.complete_graph(n), "laplacian")]
    networks += [
        gs.from_graph(nx.random_labeled_tree(n, seed=seed), "laplacian") for seed in range(5)
    ]
    for network in networks:
        assert network.lam <= laplacian_lam(n) + 1e-12, network


def test_the_constant_of_the_cubic_bound_is_eight():
    constant = {n: n**3 * (1 - laplacian_lam(n)) for n in range(2, 2000)}
    assert min(constant.values()) == pytest.approx(8, rel=1e-9) == constant[2]
    assert constant[1999] == pytest.approx(math.pi**2, rel=1e-5)
    assert laplacian_lam(1) == 0
    with pytest.raises(gs.InvalidInput, match="num_nodes: got 0"):
        laplacian_lam(0)
