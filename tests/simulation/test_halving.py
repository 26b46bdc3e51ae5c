"""Successive halving: the forecast, who goes on, and that the winner is a full run."""

import math

import pytest
import torch

import gossamer as gs
from gossamer.simulation.halving import Halving, HalvingBeside, forecast

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


def test_the_level_is_the_mean_over_the_last_eighth_of_the_records():
    noisy = torch.ones(48, 1)
    noisy[-1], noisy[-2] = 7.0, 3.0  # 48 records: the last six of them
    assert forecast(noisy, torch.arange(48), steps=100).item() == pytest.approx(14 / 6)


def survivors(history: torch.Tensor, times: torch.Tensor, steps: int, **changes) -> torch.Tensor:
    """`history` is `(records, settings)` or `(records, settings, seeds)`."""
    seeds = history if history.ndim == 3 else history[:, :, None]
    halving, extrapolate = changes.get("halving", Halving()), changes.get("extrapolate", True)
    return halving.survivors(seeds, times, steps, extrapolate)


def test_without_extrapolation_the_leader_of_the_moment_goes_on():
    slow, leader = 3 * torch.exp(-0.03 * TIMES.double()), torch.full_like(FALLING, 0.2)
    history = torch.stack([slow, slow, leader, leader], dim=1)
    once = Halving(schedule=((1 / 8, 0.5),))
    for extrapolate, going_on in ((True, [True, False]), (False, [False, True])):
        found = survivors(history, TIMES, 400, halving=once, extrapolate=extrapolate)
        assert found[::2].tolist() == found[1::2].tolist() == going_on


def test_a_fall_from_infinity_has_no_rate():
    """A setting that was out of the range of numbers, and has come back, is not at its goal."""
    history = torch.full((17,), 1e10)
    history[:10] = torch.inf
    assert forecast(history[:, None], torch.arange(17), steps=64).item() == 1e10


def test_of_settings_that_are_alike_the_first_go_on():
    halving = Halving(((0.5, 0.01),))
    going_on = survivors(torch.ones(3, 600), torch.tensor([0, 5, 10]), 20, halving=halving)
    assert going_on.nonzero().flatten().tolist() == [0, 1, 2, 3, 4, 5]


def test_two_go_on_at_least():
    history = torch.tensor([0.1, 0.2, 0.3]).expand(17, 3)
    assert survivors(history, torch.arange(17), steps=32).tolist() == [True, True, False]


def test_later_settings_are_ranked_among_those_that_ran_before():
    """As if all had been there from the start."""
    history = torch.rand(17, 30, 2, generator=torch.Generator().manual_seed(0))
    times = torch.arange(17)
    for rung in (2, 4, 8, 16):
        seen = slice(0, rung + 1)
        together = Halving().survivors(history[seen], times[seen], 32, True)
        later = HalvingBeside(rivals=history[:, 10:])
        found = later.survivors(history[seen, :10], times[seen], 32, True)
        assert torch.equal(found, together[:10])


def test_settings_go_on_with_all_their_seeds():
    grid = {"lr": [10 ** (-k / 3) for k in range(10)]}
    once = Halving(schedule=((1 / 4, 0.6),))
    arguments = {"noise": gs.Gaussian(), "steps": 80, "seeds": range(3), "strategy": once}
    taken = gs.sweep(gs.DSGD, grid, *SMALL, **arguments).steps_taken
    assert (taken == taken[:, :1]).all()
    assert sorted(taken[:, 0].tolist()) == [20] * 4 + [80] * 6


def test_settings_that_diverged_never_go_on():
    levels = torch.ones(17, 10)
    levels[-3:, :7] = torch.inf
    going_on = survivors(levels, torch.arange(17), steps=256)
    assert going_on.tolist() == [False] * 7 + [True] * 3


@pytest.mark.parametrize("steps", [3, 5, 10, 16])
def test_a_schedule_that_judges_once_and_early(steps: int):
    halving = Halving(schedule=((0.1, 0.5),))
    grid = {"lr": [0.01, 0.02, 0.05, 0.1]}
    found = gs.sweep(gs.DSGD, grid, *SMALL, steps=steps, strategy=halving)
    assert sorted(found.steps_taken.flatten().tolist()) == [2, 2, steps, steps]


@pytest.mark.parametrize(
    "schedule", [((100, 0.5),), ((0.5, 10),), ((0.5, 0.0),), ((0.5, 0.2), (0.25, 0.5))]
)
def test_a_schedule_that_would_do_something_else_is_refused(schedule):
    with pytest.raises(gs.InvalidInput, match=r"schedule: got .* need pairs of shares"):
        Halving(schedule=schedule)


def test_a_long_history_of_many_runs_is_judged():
    history = torch.rand(17, 1_000_000)  # more than torch.quantile takes
    assert survivors(history, torch.arange(17), steps=256).sum() == 600_000


def test_too_few_records_end_nobody():
    assert survivors(torch.rand(2, 5), torch.tensor([0, 100]), steps=1600).all()


def test_the_winner_is_a_full_run_at_a_fraction_of_the_cost():
    problem, network = gs.Quadratic(6, 4), gs.ring(6)
    grid = {"lr": [10 ** (-k / 3) for k in range(12)], "momentum": [0.5, 0.9]}
    arguments = {"noise": gs.StudentT(1.5, 0.1), "steps": 800, "seeds": range(3)}
    full = gs.sweep(gs.GTNSGDm, grid, problem, network, **arguments)
    halved = gs.sweep(gs.GTNSGDm, grid, problem, network, strategy="halving", **arguments)
    taken = halved.steps_taken
    assert taken.float().mean() < 0.3 * 800
    finished = taken == 800
    assert 0 < int(finished.sum()) < 12
    torch.testing.assert_close(halved.x[:, finished], full.x[:, finished], rtol=1e-12, atol=1e-12)
    assert halved.x[:, ~finished].isnan().all()
    assert halved.scores().min() <= 1.5 * full.scores().min()


@pytest.mark.parametrize("steps", [16, 100, 3000, 10_000])
def test_rungs_and_shares(steps: int):
    rungs = Halving().rungs(steps)
    assert rungs == sorted(rungs)
    assert rungs[-1] == steps // 2
    times = torch.linspace(0, 1, 17).mul(steps).round()
    levels = torch.linspace(1, 2, 100).expand(17, 100)
    shares = []
    for rung in rungs:
        so_far = times[times <= rung]
        if len(so_far) >= 3:
            going_on = survivors(levels[: len(so_far)], so_far, steps)
            shares.append(int(going_on.sum()))
            assert going_on[: shares[-1]].all(), "not the lowest"
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == 12


def test_one_setting_always_goes_on():
    for rung in Halving().rungs(1600):
        assert survivors(torch.rand(9, 1, 2), torch.linspace(0, rung, 9), steps=1600).all()


SMALL = (gs.Quadratic(6, 4), gs.ring(6))


@pytest.mark.parametrize("steps", [2, 3, 4, 10, 33])
@pytest.mark.parametrize("record_every", [None, 1, 7, 1000])
def test_few_steps_and_few_records(steps: int, record_every: int | None):
    grid = {"lr": [0.001, 0.01, 0.1, 10.0]}
    arguments = {"steps": steps, "seeds": [0, 1, 2], "record_every": record_every}
    full = gs.sweep(gs.DSGD, grid, *SMALL, **arguments)
    halved = gs.sweep(gs.DSGD, grid, *SMALL, strategy="halving", **arguments)
    taken = halved.steps_taken
    assert int(taken.max()) == steps
    assert halved.steps.equal(full.steps)
    finished = taken == steps
    torch.testing.assert_close(halved.x[:, finished], full.x[:, finished], rtol=1e-12, atol=1e-12)
    assert halved.best().final().isfinite().all()


@pytest.mark.parametrize("noise", [gs.Gaussian(0.3), gs.StudentT(1.5, 0.1)])
def test_close_to_the_grid_at_a_third_of_its_cost(noise):
    """The goal of the search, on a small problem, measured on seeds that were not tuned on."""
    grid = {"lr": [10 ** (-k / 2) for k in range(9)], "momentum": [0.1, 0.5, 0.8, 0.9]}
    arguments = {"noise": noise, "steps": 800, "seeds": range(10, 13)}
    found = {
        strategy: gs.sweep(gs.GTNSGDm, grid, *SMALL, strategy=strategy, **arguments)
        for strategy in ("grid", "halving")
    }
    cost = {name: sweep.run_steps for name, sweep in found.items()}
    assert cost["grid"] == 36 * 3 * 800
    assert cost["halving"] <= 0.35 * cost["grid"]
    errors = {
        name: gs.simulate(
            gs.GTNSGDm(**sweep.best().hyperparameters), *SMALL, **arguments | {"seeds": range(5)}
        )
        .final("error")
        .median()
        .item()
        for name, sweep in found.items()
    }
    assert errors["halving"] <= 1.05 * errors["grid"]


def test_the_strategy_is_told_and_runs_that_ended_count_as_such():
    grid = {"lr": [10.0**-k for k in range(10)]}
    found = gs.sweep(gs.DSGD, grid, *SMALL, steps=160, strategy="halving")
    assert found.config["strategy"] == "halving"
    assert set(found.steps_taken.flatten().tolist()) == {10, 20, 40, 80, 160}
    assert (found.diverged_at == -1).all(), "ended early is not diverged"
    ended = found.steps_taken[:, 0] < 160
    assert found.scores()[ended].isinf().all()
    assert found.best().steps_taken.tolist() == [160]


def test_a_single_step_is_a_single_step():
    full, halved = (
        gs.sweep(gs.DSGD, {"lr": [0.1, 0.2]}, *SMALL, steps=1, strategy=strategy)
        for strategy in ("grid", "halving")
    )
    assert halved.x.equal(full.x)


def test_a_setting_that_is_at_the_optimum_goes_on():
    history = torch.tensor([[1.0, 1.0, 1.0], *([[0.0, 0.5, 0.6]] * 4)])
    assert survivors(history, torch.arange(5), steps=8).tolist() == [True, True, False]


def test_half_of_the_seeds_diverging_is_divergence():
    """As in `Sweep.scores`, which refuses such a setting in the end."""
    history = torch.ones(17, 20)
    history[:, :18] = 0.5
    history[-3:, :18:2] = torch.inf
    going_on = survivors(history.view(17, 10, 2), torch.arange(17), steps=256)
    assert going_on.tolist() == [False] * 9 + [True]


class Logistic(gs.Problem):
    """Nonconvex logistic regression: f_i(x) = mean log(1 + exp(−bᵀx)) + 0.01 Σ x²/(1 + x²).

    The labels are drawn, not separable, so the loss levels off far above 0.
    """

    num_nodes, dim, start = 8, 6, torch.zeros(6, dtype=torch.float64)

    def __init__(self) -> None:
        def drawn(draw, *shape: int) -> torch.Tensor:
            return draw(shape, generator=generator, dtype=torch.float64)

        generator = torch.Generator().manual_seed(0)
        truth, features = drawn(torch.randn, 6), 2 * drawn(torch.randn, 8, 40, 6)
        labels = torch.where(drawn(torch.rand, 8, 40) < (features @ truth).sigmoid(), 1.0, -1.0)
        self._signed = features * labels[..., None]

    def local_loss(self, x: torch.Tensor) -> torch.Tensor:
        margins = torch.einsum("nsd,npd->nps", self._signed, x)
        losses = torch.nn.functional.softplus(-margins).mean(-1)
        return losses + 0.01 * (x * x / (1 + x * x)).sum(-1)

    def local_grad(self, x: torch.Tensor) -> torch.Tensor:
        doubts = torch.einsum("nsd,npd->nps", self._signed, x).neg().sigmoid()
        descent = torch.einsum("nps,nsd->npd", doubts, self._signed) / 40
        return 0.02 * x / (1 + x * x) ** 2 - descent

    def describe(self) -> dict:
        return {"name": "Logistic"}


STEP_SIZES = {"lr": [10 ** (-k / 4) for k in range(-4, 16)]}
WITH_MOMENTUM = {"lr": [10 ** (-k / 3) for k in range(12)], "momentum": [0.5, 0.9]}


@pytest.mark.parametrize(
    ("method", "grid", "noise", "steps"),
    [
        (gs.DSGD, STEP_SIZES, gs.StudentT(1.5, 0.1), 400),
        (gs.DSGD, STEP_SIZES, gs.Gaussian(0.3), 1600),
        (gs.GTNSGDm, WITH_MOMENTUM, gs.StudentT(1.5, 0.1), 400),
    ],
)
def test_a_loss_that_levels_off_above_zero_is_not_extrapolated_to_it(method, grid, noise, steps):
    """Extrapolated, slow settings passed for the best: 2.1, 2.3 and 3.2 % above it."""
    arguments = {"noise": noise, "steps": steps, "seeds": range(3)}
    full, halved = (
        gs.sweep(method, grid, Logistic(), gs.ring(8), strategy=strategy, **arguments)
        for strategy in ("grid", "halving")
    )
    scores = full.scores()
    assert scores[int(halved.scores().argmin())] <= 1.02 * scores.min()


def test_the_metric_decides_whether_it_is_extrapolated(monkeypatch: pytest.MonkeyPatch):
    asked = {}
    right = Halving.survivors

    def noted(self, history, times, steps, extrapolate):
        asked[metric] = extrapolate
        return right(self, history, times, steps, extrapolate)

    monkeypatch.setattr(Halving, "survivors", noted)
    for metric in ("error", "grad_norm", "consensus_error", "loss"):
        arguments = {"steps": 40, "strategy": "halving", "judge_by": metric}
        gs.sweep(gs.DSGD, {"lr": [0.1, 0.2]}, *SMALL, **arguments)
    assert asked == {"error": True, "grad_norm": True, "consensus_error": True, "loss": False}


@pytest.mark.parametrize("method", [gs.DSGD, gs.DSGDGClip, gs.GTDSGD, gs.QGDSGDm, gs.GTNSGDm])
def test_of_a_loss_halving_finds_what_the_full_grid_finds(method):
    """On nodes of one class each and a nonconvex loss, whose minimum is not 0."""
    data = gs.data.load("breast_cancer", standardize=True)
    nodes = data.split(6, gs.data.by_label(1))
    problem = gs.LogisticRegression(nodes, penalty=gs.NonconvexPenalty(0.01))
    grid = {name: values[::2] for name, values in gs.simulation.search_set(method).items()}
    where = (method, grid, problem, gs.ring(6))
    how = {"noise": gs.Gaussian(0.1), "steps": 200, "seeds": [5, 6]}
    full = gs.sweep(*where, **how)
    halved = gs.sweep(*where, strategy="halving", **how)
    assert full.main_metric == "loss"
    assert halved.run_steps < 0.4 * full.run_steps
    assert full.scores()[halved.scores().argmin()] <= 1.02 * full.scores().min()
