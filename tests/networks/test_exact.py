"""Without noise, every method with a tracker ends in the optimum, however bad the network is."""

import dataclasses
from typing import Any

import pytest
from networks.any_network import NETWORKS, NODES
from torch import Tensor

import gossamer as gs
from gossamer.algorithms import Positive

PROBLEM = gs.Quadratic(NODES, 20, condition=4.0, spread=5.0, seed=3)
DECADES = 5
"""How far the step of GT-NSGDm falls: it moves by lr in every step, wherever it is."""


@dataclasses.dataclass(frozen=True)
class VanishingStep(gs.GTNSGDm):
    """GT-NSGDm with a step that falls from `lr` to 10⁻⁵ `lr`."""

    steps: Positive = 1.0

    def step(self, t: int, x: Tensor, grad: Tensor, state: Any, mix: Any) -> Any:
        lr = self.lr * 10 ** (-DECADES * t / self.steps)
        return gs.GTNSGDm.step(dataclasses.replace(self, lr=lr), t, x, grad, state, mix)


@dataclasses.dataclass(frozen=True)
class Settings:
    """Steps sizes that were found on a coarse grid, and steps that suffice."""

    gt_dsgd: float
    gt_adam: float
    steps: int
    gt_nsgdm: float = 0.25
    steps_nsgdm: int = 500


SETTINGS = {
    "ring": Settings(0.2, 0.1, 500),
    "digraph": Settings(0.4, 0.5, 1000),
    "digraph that loses messages": Settings(0.4, 0.5, 1000, gt_nsgdm=1.0),
    "links that fail in bursts": Settings(0.1, 0.1, 1000),
    "talk in every 5th step": Settings(0.05, 0.02, 3000, 0.1, 1000),
    "top-k": Settings(0.05, 0.02, 3000, 0.1, 1000),
    "random-k": Settings(0.02, 0.02, 5000, 0.1, 2000),
    "quantized": Settings(0.1, 0.1, 800),
    "sign": Settings(0.02, 0.02, 5000, 0.1, 2000),
    "cast": Settings(0.2, 0.1, 500),
    "accelerated": Settings(0.4, 1.0, 500, gt_nsgdm=1.0),
    "random partners": Settings(0.4, 1.0, 500),
    "random links": Settings(0.2, 1.0, 500),
    "all of it, one way": Settings(0.02, 0.02, 18_000, 0.1, 8000),
    "all of it, both ways": Settings(0.1, 0.1, 800),
}


def error(method: gs.Algorithm[Any], name: str, steps: int) -> float:
    """(1/n) Σ ‖x_i − x*‖ in the end; it is 6.3 in the beginning."""
    stack = gs.Stack(method, PROBLEM, NETWORKS[name](), None, [0])
    stack.advance(steps)
    return float((stack.x - PROBLEM.optimum).norm(dim=-1).mean())


QUICK = [name for name, found in SETTINGS.items() if found.steps <= 1000]
"""`benchmarks/exact.py` takes all methods to the end on all networks."""


def test_every_network_is_there():
    assert set(SETTINGS) == set(NETWORKS)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_gradient_tracking_ends_in_the_optimum(name: str):
    found = SETTINGS[name]
    assert error(gs.GTDSGD(found.gt_dsgd), name, found.steps) < 1e-9


@pytest.mark.parametrize("name", QUICK)
def test_gt_adam_ends_in_the_optimum(name: str):
    found = SETTINGS[name]
    method = gs.GTAdam(found.gt_adam, beta1=0.9, beta2=0.9, cap=1e6, eps=1.0)
    assert error(method, name, found.steps) < 1e-9


@pytest.mark.parametrize("name", [*QUICK, "top-k", "talk in every 5th step"])
def test_gt_nsgdm_with_a_vanishing_step_ends_in_the_optimum(name: str):
    found = SETTINGS[name]
    method = VanishingStep(found.gt_nsgdm, momentum=0.9, steps=found.steps_nsgdm)
    assert error(method, name, found.steps_nsgdm) < 1e-3
