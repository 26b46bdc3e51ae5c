"""Successive halving: the forecast, who goes on, and that the winner is a full run."""

import math

import pytest
import torch

import gossamer as gs
from gossamer.simulate.halving import Halving, forecast

TIMES = torch.arange(0, 51)
FALLING = torch.exp(-0.05 * TIMES.double())


def test_an_exponential_is_forecast_exactly_and_a_rise_is_not_extrapolated():
    history = torch.stack([FALLING[::10], 0.3 + 0 * FALLING[::10], 1 / FALLING[::10]], dim=1)
    predicted = forecast(history, TIMES[::10], steps=400)
    assert predicted[0].item() == pytest.approx(math.exp(-0.05 * 400), rel=1e-9)
    assert predicted[1].item() == pytest.approx(0.3)
    assert predicted[2].item() == pytest.approx(math.exp(0.05 * 50))


def test_a_late_winner_survives_an_early_leader():
    leader = torch.full_like(FALLING, 0.2)
    assert FALLING[-1] < leader[-1] < FALLING[20]
    slow = 3 * torch.exp(-0.03 * TIMES.double())  # still behind at t = 50, ahead at T = 400
    assert slow[-1] > leader[-1]
    history = torch.stack([slow, leader], dim=1)
    assert forecast(history, TIMES, steps=400).argmin() == 0


def test_settings_go_on_with_all_their_seeds():
    levels = torch.linspace(1, 2, 10).repeat_interleave(3).expand(17, 30)
    going_on = Halving(num_seeds=3).survivors(levels, torch.arange(17), steps=256)
    assert going_on.view(10, 3).all(1).tolist() == [True] * 6 + [False] * 4  # 60 % at T/16


def test_settings_that_diverged_never_go_on():
    levels = torch.ones(17, 10)
    levels[-3:, :7] = torch.inf
    going_on = Halving(num_seeds=1).survivors(levels, torch.arange(17), steps=256)
    assert going_on.tolist() == [False] * 7 + [True] * 3


def test_too_few_records_end_nobody():
    assert Halving(1).survivors(torch.rand(2, 5), torch.tensor([0, 100]), steps=1600).all()


def test_the_winner_is_a_full_run_at_a_fraction_of_the_cost():
    problem, network = gs.Quadratic.random(6, 4), gs.ring(6)
    grid = {"lr": [10 ** (-k / 3) for k in range(12)], "momentum": [0.5, 0.9]}
    arguments = {"noise": gs.StudentT(1.5, 0.1), "steps": 800, "seeds": range(3)}
    full = gs.sweep(gs.GTNSGDm, grid, problem, network, **arguments)
    halved = gs.sweep(gs.GTNSGDm, grid, problem, network, strategy="halving", **arguments)
    taken = halved.stacked.steps_taken
    assert taken.float().mean() < 0.3 * 800
    finished = taken == 800
    assert 0 < int(finished.sum()) < 12
    torch.testing.assert_close(
        halved.stacked.x[:, finished], full.stacked.x[:, finished], rtol=1e-12, atol=1e-12
    )
    assert halved.stacked.x[:, ~finished].isnan().all()
    assert halved.scores().min() <= 1.5 * full.scores().min()
