"""DSGD-BiClip between clipping and sign descent."""

import torch
from algorithms.contract import close, heavy, normal
from algorithms.limits import run

import gossamer as gs
from gossamer.algorithms import biclip


def test_without_a_floor_it_clips_coordinates():
    close(run(gs.DSGDBiClip(0.05, clip=0.7, floor=1e-300)), run(gs.DSGDCClip(0.05, clip=0.7)))


def test_with_equal_levels_it_takes_signs():
    x, grad = normal(5, 3), heavy(5, 3)
    method = gs.DSGDBiClip(lr=0.1, clip=0.5, floor=0.5)
    moved, _ = method.step(0, x, grad, method.init(x), lambda z: z)
    close(moved, x - 0.05 * grad.sign())


def test_what_it_tells_are_the_shares_of_coordinates():
    grad = torch.tensor([[3.0, 0.1, 0.0, -0.5], [0.2, 0.1, -0.1, 1.5]]).double()
    method = gs.DSGDBiClip(lr=0.1, clip=1.0, floor=0.25)
    told = method.info(0, grad, grad, method.init(grad))
    assert told["clipped"].tolist() == [0.25, 0.25]
    assert told["raised"].tolist() == [0.25, 0.75]
    assert biclip(grad, 0.25, 1.0)[0].tolist() == [1.0, 0.25, 0.0, -0.5]


def test_a_level_per_run_goes_with_a_number_for_the_other():
    g, levels = heavy(5, 3, 4), torch.tensor([[0.5], [1.0], [2.0]]).double()
    for k, level in enumerate((0.5, 1.0, 2.0)):
        close(biclip(g, 0.1, levels)[:, k], biclip(g[:, k], 0.1, level))
        close(biclip(g, levels, 3.0)[:, k], biclip(g[:, k], level, 3.0))
