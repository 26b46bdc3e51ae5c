"""A tracked total loses nothing to rounding, however wild a gradient was."""

from functools import cache

import pytest
import torch
from torch import Tensor

import gossamer as gs

METHODS = {
    gs.GTNSGDm(lr=0.01, momentum=0.8): 2_000,
    gs.GTDSGD(lr=0.1): 2_000,
    gs.GTAdam(lr=0.05): 6_000,  # thrown 1e8 away by 1e10, it takes its time to come back
}
"""Method → steps."""
SPIKES = [0.0, 1e6, 1e8, 1e10]


class Spiked(gs.Quadratic):
    """One gradient of node 0, that of step 100, is off by the spike that the seed numbers."""

    def sample_grad(self, x: Tensor, t: int, seeds) -> Tensor:
        grad = self.local_grad(x).clone()
        if t == 100:
            grad[0] += torch.tensor([SPIKES[seed] for seed in seeds])[:, None]
        return grad


@cache
def largest_error(method, *spikes: float, dtype: torch.dtype = torch.float32) -> float:
    """In the end, of runs with these spikes."""
    run = gs.simulate(
        method,
        Spiked(4, 5, seed=1),
        gs.ring(4),
        steps=METHODS[method],
        seeds=map(SPIKES.index, spikes),
        metrics=["error"],
        dtype=dtype,
        record_every=10,
    )
    return float(run.metrics["error"][-20:].mean(0).max())


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.label)
def test_a_wild_gradient_leaves_no_bias_in_float32(method):
    """In float32 totals the three end 0.05 to 700 away."""
    assert largest_error(method, *SPIKES[1:]) <= 10 * largest_error(method, 0.0)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.label)
def test_a_model_in_bfloat16_is_not_biased(method):
    """Gradients in bfloat16 have three digits; x, v and y have more."""
    rounded = largest_error(method, 0.0, dtype=torch.bfloat16)
    assert rounded < 0.01 + largest_error(method, 0.0)


def test_the_trackers_sum_is_that_of_the_estimators():
    noise, problem = gs.AlphaStable(1.2, scale=10.0), gs.Quadratic(6, 4)
    stack = gs.Stack(
        gs.GTNSGDm(lr=0.01, momentum=0.8), problem, gs.ring(6), noise, range(3), torch.float32
    )
    largest = torch.zeros(3, dtype=torch.float64)
    for _ in range(300):
        stack.advance(1)
        v, y = stack.state.v.double(), stack.state.y
        largest = torch.maximum(largest, v.abs().amax(dim=(0, 2)))
        gap = (y.sum(0) - v.sum(0)).abs().amax(-1)
        assert (gap <= 1e-12 * largest).all()
    assert largest.max() > 1e4


def test_float32_ends_where_float64_does():
    """After 5,000 steps of infinitely heavy noise, whose largest gradient is some 1e5."""
    noise, problem = gs.AlphaStable(1.2), gs.Quadratic(4, 5)
    errors = [
        gs.simulate(
            gs.GTNSGDm(lr=1e-3, momentum=0.99),
            problem,
            gs.ring(4),
            noise=noise,
            steps=5_000,
            seeds=range(4),
            metrics=["error"],
            dtype=dtype,
        )
        .metrics["error"][-50:]
        .mean(0)
        .double()
        for dtype in (torch.float32, torch.float64)
    ]
    torch.testing.assert_close(*errors, rtol=0.01, atol=0)
