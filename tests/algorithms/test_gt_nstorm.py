"""GT-NSTORM: without memory GT-NSGDm without momentum; with memory, an estimate without bias."""

import torch
from algorithms.contract import asked, close, heavy
from algorithms.limits import RING, errors, run
from torch import Tensor

import gossamer as gs


def test_without_memory_it_is_gt_nsgdm_without_momentum():
    close(run(gs.GTNSTORM(0.05, momentum=0)), run(gs.GTNSGDm(0.05, momentum=0)))


def test_the_error_of_the_estimate_is_the_average_of_the_noise():
    """v − ∇f = β (v⁻ − ∇f⁻) + (1−β) ξ: no lag behind the moving point, unlike with momentum."""
    method, nodes = gs.GTNSTORM(0.1, momentum=0.9), 5
    centers = torch.arange(nodes * 8.0).view(nodes, 8).double()
    x, mix, average = torch.zeros(nodes, 8).double(), RING.mixer(), 0.0
    state = method.init(x)
    for t, noise in enumerate(heavy(30, nodes, 8)):

        def grad(point: Tensor, noise: Tensor = noise) -> Tensor:
            return point - centers + noise

        average = noise if t == 0 else 0.9 * average + 0.1 * noise
        exact, more = x - centers, asked(method, t, grad)
        x, state = method.step(t, x, grad(x), state, mix, *more)
        close(state.v - exact, average)


def test_without_noise_steps_that_shrink_lead_to_the_optimum():
    start, end = errors(gs.GTNSTORM(gs.Linear(0.02, 2000), momentum=0.9), steps=2000)
    assert start > 1
    assert end < 1e-4


def test_a_run_counts_two_gradients_per_step():
    found = gs.simulate(
        gs.GTNSTORM(0.05, 0.9), gs.Quadratic(5, 2), RING, steps=8, metrics=["error"]
    )
    assert float(found.metrics["gradients"].flatten()[-1]) == 2 * 8
