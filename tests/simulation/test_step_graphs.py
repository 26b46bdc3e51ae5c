"""Steps in graphs: the same run as step by step, whatever changes from step to step."""

from dataclasses import dataclass

import pytest
import torch
from algorithms.table import TABLE, Row
from torch import Tensor

import gossamer as gs
from gossamer.algorithms import Algorithm, Linear, Mix, Positive, Stateless

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

PROBLEM = gs.RobustRegression(4, num_samples=40, dim=4)
NETWORKS = {"ring": gs.ring(4), "one-peer": gs.one_peer_exponential(4)}
STACKED = {
    "one number": gs.GTNSGDm(lr=0.05, momentum=0.8),
    "a number per run": gs.GTNSGDm(lr=torch.tensor([[0.01], [0.05]]), momentum=0.8),
    "a schedule": gs.GTNSGDm(lr=Linear(0.1, 100), momentum=0.8),
    "a method that counts its steps": gs.GTAdam(lr=0.05),
}


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU the functions that would be captured are called as they are written."""
    monkeypatch.setattr("gossamer.simulation.stack.DEVICES", ["cpu"])


def simulated(method: Algorithm, network: gs.Network, **changed) -> gs.Run:
    noise = gs.StudentT(1.5, 0.1)
    given = {"steps": 75, "seeds": [0, 1], "noise": noise, "record_every": 25} | changed
    return gs.simulate(method, PROBLEM, network, metrics=["error"], **given)


def close(found: gs.Run, expected: gs.Run, tolerance: float = 1e-12) -> None:
    for one, other in ((found.x, expected.x), (found.metrics["error"], expected.metrics["error"])):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("method", STACKED.values(), ids=STACKED)
def test_steps_in_graphs_are_the_steps(
    method: Algorithm, network: gs.Network, request: pytest.FixtureRequest
):
    expected = simulated(method, network)
    request.getfixturevalue("graphs")
    close(simulated(method, network), expected)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_every_method_takes_its_steps_in_graphs(row: Row, request: pytest.FixtureRequest):
    shared = {
        "problem": gs.Quadratic(4, 3),
        "network": gs.ring(4),
        "steps": 7,
        "metrics": ["error"],
    }
    expected = gs.simulate(row.algorithm, **shared)
    request.getfixturevalue("graphs")
    close(gs.simulate(row.algorithm, **shared), expected)


@dataclass(frozen=True)
class Lookup(Algorithm[Stateless]):
    """Needs t as a Python number."""

    lr: Positive

    def init(self, x: Tensor) -> Stateless:
        return Stateless()

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix
    ) -> tuple[Tensor, Stateless]:
        return mix.pull(x - [0.1, 0.05][range(t + 1)[-1] % 2] * self.lr * grad), state


def test_a_step_that_needs_python_numbers_is_taken_one_by_one(graphs):
    stack = gs.Stack(Lookup(1.0), PROBLEM, gs.ring(4), None, [0])
    assert stack._graphs is not None
    stack.advance(3)
    assert (stack._graphs, stack.t) == (None, 3)
    assert bool(stack.x.isfinite().all())


@cuda
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("method", STACKED.values(), ids=STACKED)
def test_replayed_steps_are_the_steps(
    method: Algorithm, network: gs.Network, monkeypatch: pytest.MonkeyPatch
):
    shared = {"device": "cuda", "steps": 300, "record_every": 20}
    found = simulated(method, network, **shared)
    monkeypatch.setattr("gossamer.simulation.stack.DEVICES", [])
    close(found, simulated(method, network, **shared), 1e-9)


@cuda
def test_a_replayed_run_is_the_same_alone_and_stacked():
    method, network = gs.GTNSGDm(lr=0.05, momentum=0.8), gs.ring(4)
    shared = {"device": "cuda", "steps": 300, "record_every": 20}
    both = simulated(method, network, **shared)
    alone = gs.simulate(
        method,
        PROBLEM,
        network,
        noise=gs.StudentT(1.5, 0.1),
        seeds=[1],
        metrics=["error"],
        **shared,
    )
    torch.testing.assert_close(alone.x[:, 0], both.x[:, 1], rtol=1e-9, atol=1e-9)
