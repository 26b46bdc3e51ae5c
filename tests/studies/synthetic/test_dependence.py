"""GT-NSGDm with one (α, β, T) on every network, noise and number of nodes."""

import math

import pytest

import gossamer as gs
from gossamer.experiments import Options
from gossamer.studies.synthetic import dependence
from gossamer.studies.synthetic.synthetic import problem

NETWORK = gs.complete(5)


def test_the_curve_is_that_of_a_plain_simulation(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dependence, "STEPS", 120)
    result = dependence.compute(NETWORK, dependence.STABLE, Options())
    run = gs.simulate(
        gs.GTNSGDm(dependence.LR, dependence.MOMENTUM),
        problem(Options(), 5),
        NETWORK,
        noise=dependence.STABLE,
        steps=120,
        seeds=range(5),
    )
    assert result["error"] == run.metrics["error"].tolist()
    assert result["steps"] == run.steps.tolist()


@pytest.mark.parametrize("name", ["LR", "MOMENTUM", "STEPS"])
def test_every_constant_is_in_the_configuration(monkeypatch: pytest.MonkeyPatch, name: str):
    before = dependence.config(NETWORK, dependence.STABLE, Options())
    monkeypatch.setattr(dependence, name, 7)
    assert dependence.config(NETWORK, dependence.STABLE, Options()) != before


def test_network_and_noise_are_in_the_configuration():
    configs = [
        dependence.config(network, noise, Options())
        for network in (NETWORK, gs.ring(5), gs.complete(6))
        for noise in (dependence.STABLE, gs.AlphaStable(1.5, 0.5, 0.2), gs.Gaussian(0.1))
    ]
    assert len({str(config) for config in configs}) == 9


@pytest.mark.parametrize(
    ("values", "answer"),
    [([1, 2, 3], True), ([1, 1, 2], False), ([3, 2], False), ([1, math.nan], False)],
)
def test_increasing(values: list[float], answer: bool):
    assert dependence.increasing(values) == answer
