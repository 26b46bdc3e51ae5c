"""GT-NSGDm in other geometries: where they meet, and how good the matrix sign is."""

from typing import Any

import numpy as np
import pytest
import torch
from algorithms.contract import close, heavy, normal
from algorithms.limits import HEAVY, RING, errors
from torch import Tensor, nn

import gossamer as gs
from gossamer.algorithms import Shapes, matrix_sign, newton_schulz

MEMBERS = [gs.GTLayerNSGDm, gs.GTSignSGDm, gs.DeMuon]


def run(method: gs.Algorithm[Any], dim: int) -> Tensor:
    problem = gs.Quadratic(5, dim, condition=5.0, seed=3)
    return gs.simulate(method, problem, RING, noise=HEAVY, steps=60, seeds=[0, 1]).x


def test_with_one_tensor_the_layer_is_the_vector_up_to_the_root_of_its_size():
    close(run(gs.GTLayerNSGDm(0.01, 0.8), 9), run(gs.GTNSGDm(0.03, 0.8), 9))


def test_with_one_vector_the_matrix_sign_is_the_vector():
    close(run(gs.DeMuon(0.01, 0.8), 9), run(gs.GTNSGDm(0.01, 0.8), 9))


@pytest.mark.parametrize("member", MEMBERS)
def test_with_one_parameter_all_are_the_same(member: type[gs.Algorithm[Any]]):
    close(run(member(0.01, 0.8), 1), run(gs.GTNSGDm(0.01, 0.8), 1))


def direction(member: type[Any], y: Tensor, *shapes: tuple[int, ...]) -> Tensor:
    return member(0.1, 0.5).direction(y, Shapes([torch.Size(shape) for shape in shapes]))


def test_lengths_do_not_depend_on_the_length_of_the_tracker():
    shapes = (3, 4), (5,), ()
    y = heavy(2, 6, 18)
    layers = direction(gs.GTLayerNSGDm, y, *shapes).split([12, 5, 1], dim=-1)
    for part in layers:
        close(part.square().mean(-1), torch.ones(2, 6).double())
    for member in MEMBERS:
        close(direction(member, 1e6 * y, *shapes), direction(member, y, *shapes))
        assert torch.equal(direction(member, 0 * y, *shapes), 0 * y)


def test_more_axes_are_the_matrix_of_the_first_by_all_others():
    y = normal(2, 24)
    assert torch.equal(direction(gs.DeMuon, y, (4, 3, 2)), direction(gs.DeMuon, y, (4, 6)))
    unit = y / y.norm(dim=-1, keepdim=True)
    for shape in ((24,), (24, 1), (1, 24), (1, 1, 24)):
        close(direction(gs.DeMuon, y, shape), unit)


@pytest.mark.parametrize("empty", [(0,), (3, 0), (0, 3), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("member", MEMBERS)
def test_a_parameter_without_numbers_changes_nothing(
    member: type[gs.Algorithm[Any]], empty: tuple[int, ...]
):
    y = normal(2, 12)
    assert torch.equal(direction(member, y, empty, (4, 3)), direction(member, y, (4, 3)))


@pytest.mark.parametrize("shape", [(7, 7), (3, 20), (20, 3)], ids=str)
def test_newton_and_schulz_are_near_the_matrix_sign(shape: tuple[int, int]):
    """The singular vectors of y, and values in the stated band where those of y are not tiny."""
    y = heavy(4, 2, *shape)
    u, s, vt = torch.linalg.svd(y, full_matrices=False)
    inside = u.mT @ newton_schulz(y) @ vt.mT
    values = inside.diagonal(dim1=-2, dim2=-1)
    close(inside, torch.diag_embed(values))
    large = s >= 0.01 * s.norm(dim=-1, keepdim=True)
    assert large.any()
    assert (values[large] > 0.68).all()
    assert (values < 1.21).all()
    assert (values[large] < 1.14).all()


def test_the_stated_band_is_that_of_the_polynomial():
    s = np.linspace(0, 1, 200_001)
    p = s
    for _ in range(5):
        p = 3.4445 * p - 4.7750 * p**3 + 2.0315 * p**5
    assert 0.68 < p[s >= 0.01].min() < p[s >= 0.01].max() < 1.14
    assert p.min() == 0
    assert p.max() < 1.21


SPECTRA = {
    "even": torch.ones(48),
    "falling": torch.logspace(0, -6, 48),
    "one large": torch.cat([torch.ones(1), torch.full((47,), 1e-3)]),
    "few": torch.cat([torch.ones(4), torch.zeros(44)]),
}


@pytest.mark.parametrize("values", SPECTRA.values(), ids=SPECTRA)
def test_in_half_precision_the_band_and_the_direction_stay(values: Tensor, monkeypatch):
    """Of float16's three digits none are left if one Gram matrix has to do for all steps."""
    u, v = (torch.linalg.qr(normal(3, rows, 48, seed=rows))[0] for rows in (48, 300))
    y = u * values.double() @ v.mT
    exact = newton_schulz(y)
    monkeypatch.setattr(matrix_sign, "precision", lambda y: torch.float16)
    found = newton_schulz(1e4 * y.float())
    assert found.dtype == torch.float32
    assert torch.linalg.matrix_norm(found - exact).max() < 3.4445**5 * 2**-11
    assert torch.linalg.matrix_norm(found, 2).max() < 1.22


def test_matrices_of_all_shapes_together_are_those_alone():
    shapes = (3, 4), (5,), (4, 3), (2, 3, 2), (3, 4), (7, 3), (1, 6), ()
    sizes = [torch.Size(shape).numel() for shape in shapes]
    y = heavy(2, 6, sum(sizes))
    together = direction(gs.DeMuon, y, *shapes).split(sizes, dim=-1)
    for part, alone, shape in zip(together, y.split(sizes, dim=-1), shapes, strict=True):
        close(part, direction(gs.DeMuon, alone, shape))


def matrices() -> gs.Problem:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    data = [(normal(8, 3, seed=i), normal(8, 2, seed=9 + i)) for i in range(5)]
    return gs.ModuleProblem(model, nn.functional.mse_loss, data, batch_size=4)


@pytest.mark.parametrize("member", MEMBERS)
def test_matrices_in_a_stack_are_those_of_the_run_alone(member: type[gs.Algorithm[Any]]):
    grid = {"lr": [0.02, 0.01], "momentum": [0.8]}
    shared = {"noise": HEAVY, "steps": 20, "metrics": ["loss"]}
    stacked = gs.sweep(member, grid, matrices(), RING, seeds=[4, 7], **shared)
    alone = gs.simulate(member(0.01, 0.8), matrices(), RING, seeds=7, **shared)
    close(stacked.runs(1).x[:, 1], alone.x[:, 0])


@pytest.mark.parametrize("member", MEMBERS)
def test_without_noise_steps_that_shrink_lead_to_the_optimum(member: type[gs.Algorithm[Any]]):
    """Nodes with optima of their own; what is left is some of the last step lengths, 1e-5."""
    start, end = errors(member(lr=gs.Linear(0.02, 2000), momentum=0.5), steps=2000)
    assert start > 1
    assert end < 1e-4
