"""GT-Clip: no clipping, all clipping, and where each kind of clipping leads."""

import pytest
import torch
from algorithms.contract import close
from algorithms.limits import DIFFERENT, RING, errors, run

import gossamer as gs
from gossamer.algorithms import clip_factor


@pytest.mark.parametrize("clipped", ["gradient", "tracker"])
def test_a_level_that_is_never_reached_leaves_gradient_tracking(clipped: str):
    assert torch.equal(run(gs.GTClip(0.05, clip=1e300, clipped=clipped)), run(gs.GTDSGD(0.05)))


def test_a_tracker_that_is_always_clipped_is_normalized():
    """α τ is the length of a step, as in GT-NSGDm without momentum."""
    always = gs.GTClip(lr=1e6, clip=5e-8, clipped="tracker")
    close(run(always), run(gs.GTNSGDm(0.05, momentum=0)))


def test_a_clipped_tracker_leads_to_the_optimum():
    start, end = errors(gs.GTClip(0.1, clip=1.0, clipped="tracker"), steps=1500)
    assert start > 1
    assert end < 1e-9


def test_clipped_gradients_lead_to_where_they_cancel():
    """Their sum over the nodes is 0 in the end, and that of the gradients is not."""
    method = gs.GTClip(0.5, clip=1.0, clipped="gradient")
    x = gs.simulate(method, DIFFERENT, RING, steps=3000).x
    grad = DIFFERENT.local_grad(x)
    assert (clip_factor(grad, 1.0) * grad).sum(0).norm() < 1e-9
    assert grad.sum(0).norm() > 0.1
