"""The operators at their limits; all act on the last axis, for any leading ones."""

import pytest
import torch
from algorithms.contract import close, heavy
from hypothesis import given
from hypothesis import strategies as st

from gossamer.algorithms import Both
from gossamer.algorithms.operators import (
    clip_components,
    clip_factor,
    descend,
    ema,
    inverse_norm,
    minus,
    smooth_clip,
)

G = heavy(4, 5, 3)
LENGTH = G.norm(dim=-1, keepdim=True)
numbers = st.floats(-1e6, 1e6)


def normalize(y: torch.Tensor) -> torch.Tensor:
    return inverse_norm(y) * y


def clip_norm(g: torch.Tensor, level: float) -> torch.Tensor:
    return clip_factor(g, level) * g


def test_minus_takes_numbers_and_tensors():
    x, d, scale = heavy(4, 5, 3, seed=1), heavy(4, 5, 3, seed=2), heavy(5, 1, seed=3)
    close(minus(x, 0.3, d), x - 0.3 * d)
    close(minus(x, scale, d), x - scale * d)
    close(minus(x, torch.tensor(0.3).double(), d), x - torch.tensor(0.3).double() * d)


def test_normalize_keeps_the_direction_at_length_one():
    close(normalize(G).norm(dim=-1), torch.ones(4, 5).double())
    close(normalize(G) * LENGTH, G)
    close(normalize(1e100 * G), normalize(G))
    close(normalize(1e-100 * G), normalize(G))


def test_zero_over_zero_is_zero_and_only_there():
    mixed = torch.stack([torch.zeros(3), torch.ones(3)]).double()
    assert torch.equal(normalize(mixed)[0], torch.zeros(3).double())
    close(normalize(mixed)[1], torch.full((3,), 3**-0.5, dtype=torch.float64))


@pytest.mark.parametrize("operator", [normalize, lambda g: clip_norm(g, 1.0)])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_broken_gradient_stays_visible(operator, bad: float):
    assert not operator(torch.tensor([[bad, 1.0]])).isfinite().all()


def test_clip_norm_has_the_smaller_length_and_the_same_direction():
    for level in (1e-3, 1.0, 1e3):
        clipped = clip_norm(G, level)
        close(clipped.norm(dim=-1, keepdim=True), LENGTH.clamp(max=level))
        close(normalize(clipped), normalize(G))


@pytest.mark.parametrize("clip", [clip_norm, clip_components])
def test_clipping_with_a_high_level_changes_no_bit(clip):
    assert torch.equal(clip(G, 1e300), G)
    assert torch.equal(clip(torch.zeros(2, 3), 1.0), torch.zeros(2, 3))


def test_clip_norm_with_a_low_level_is_normalization():
    close(clip_norm(G, 1e-9) / 1e-9, normalize(G))


def test_clip_components_with_a_low_level_is_the_sign():
    close(clip_components(G, 1e-9) / 1e-9, G.sign())


def test_one_level_per_run():
    levels = torch.tensor([0.1, 0.5, 1.0, 5.0, 100.0])[:, None].double()
    for clip in (clip_norm, clip_components, lambda g, level: smooth_clip(g, level, level)):
        each = [clip(G[:, run], float(level)) for run, level in enumerate(levels)]
        close(clip(G, levels), torch.stack(each, dim=1))


def test_smooth_clip_is_odd_increasing_and_bounded_by_its_scale():
    z = torch.linspace(-50, 50, 1001, dtype=torch.float64)
    psi = smooth_clip(z, scale=2.0, clip=3.0)
    close(psi, -psi.flip(0))
    assert (psi.diff() > 0).all()
    assert (psi.abs() < 2).all()


def test_smooth_clip_is_linear_at_zero_and_the_sign_without_smoothing():
    small = 1e-8 * G
    close(smooth_clip(small, 2.0, 4.0) / small, torch.ones_like(G))
    close(smooth_clip(G, 2.0, 1e-30), 2 * G.sign())


@given(old=numbers, new=numbers, momentum=st.floats(0, 1, exclude_max=True))
def test_ema_lies_between_and_weighs_the_old_by_the_momentum(
    old: float, new: float, momentum: float
):
    a, b = (torch.tensor([value], dtype=torch.float64) for value in (old, new))
    result = float(ema(a, b, momentum))
    slack = 1e-12 * max(1.0, abs(old), abs(new))
    assert result == pytest.approx(momentum * old + (1 - momentum) * new, abs=slack)
    assert min(old, new) - slack <= result <= max(old, new) + slack


def test_ema_without_momentum_is_the_new_value():
    assert torch.equal(ema(torch.zeros_like(G), G, 0.0), G)


def test_both_orders_move_the_mean_alike_and_agree_without_mixing():
    W = torch.tensor([[0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0.5, 0.5], [0.5, 0, 0, 0.5]])
    x, update = heavy(4, 3, seed=1), heavy(4, 3, seed=2)
    adapted = descend(x, 1.0, update, Both(lambda z: W.double() @ z), "adapt-then-combine")
    combined = descend(x, 1.0, update, Both(lambda z: W.double() @ z), "combine-then-adapt")
    close(adapted.mean(0), combined.mean(0))
    assert not torch.allclose(adapted, combined)
    assert torch.equal(descend(x, 1.0, update, Both(lambda z: z), "combine-then-adapt"), x - update)
