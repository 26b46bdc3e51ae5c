"""Pictures of sweeps: over one hyper-parameter, over two, over the steps."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gossamer as gs
from gossamer.simulation.status import Status
from gossamer.simulation.sweep_picture import levels

PROBLEM, NETWORK = gs.Quadratic(6, 4), gs.ring(6)
LR, MOMENTUM = [0.01, 0.1, 1e30], [0.0, 0.5]


@pytest.fixture(scope="module")
def sweep() -> gs.Sweep:
    grid = {"lr": LR, "momentum": MOMENTUM}
    how: dict[str, Any] = {"noise": gs.Gaussian(0.1), "steps": 40, "seeds": range(2)}
    return gs.sweep(gs.DSGDm, grid, PROBLEM, NETWORK, **how)


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def test_two_hyperparameters_are_a_heat_map_with_a_frame_at_the_best(sweep: gs.Sweep):
    ax = sweep.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("lr", "momentum")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.01", "0.1", "1e+30"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0.5", "0"]
    scores = dict(zip(map(str, sweep.settings), sweep.scores().tolist(), strict=True))
    expected = [
        ["✗" if lr > 1 else f"{scores[str({'lr': lr, 'momentum': m})]:.3g}" for lr in LR]
        for m in MOMENTUM[::-1]
    ]
    assert np.reshape([text.get_text() for text in ax.texts], (2, 3)).tolist() == expected
    best, (frame,) = sweep.settings[sweep.best_setting()], ax.patches
    place = (LR.index(best["lr"]) - 0.5, MOMENTUM[::-1].index(best["momentum"]) - 0.5)
    assert frame.get_xy() == place
    assert ax.get_title() == (
        "DSGDm on ring(6): 6 settings, median of 2 seeds\n"
        "final error: distance to the optimum; ✗ diverged"
    )


def test_one_hyperparameter_is_a_curve_of_the_best_settings(sweep: gs.Sweep):
    ax = sweep.plot(over="lr")
    finished, diverged = ax.lines
    best = sweep.scores().view(3, 2).min(dim=1).values
    np.testing.assert_allclose(finished.get_ydata(), best[:2], rtol=1e-15)
    assert finished.get_xdata().tolist() == LR[:2]
    assert diverged.get_xdata().tolist() == [1e30]
    assert [line.get_label() for line in ax.lines] == ["finished", "diverged"]
    assert ax.get_ylabel() == "final error: distance to the optimum"


def test_schedules_have_places_in_their_order():
    schedules = [gs.Cosine(0.2, 10), gs.Cosine(0.1, 10)]
    ax = gs.sweep(gs.DSGD, {"lr": schedules}, PROBLEM, NETWORK, steps=10).plot()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == list(map(str, schedules))
    assert ax.lines[0].get_xdata().tolist() == [0, 1]


def test_steps_have_a_line_per_setting_and_one_more_for_the_best(sweep: gs.Sweep):
    ax = sweep.plot(over="steps")
    assert len(ax.lines) == 7
    run = sweep.best()
    np.testing.assert_allclose(
        ax.lines[-1].get_ydata(), run.metrics["error"].mean(1), rtol=1e-12
    )  # the median of two


def test_a_single_setting_is_drawn_over_the_steps():
    alone = gs.sweep(gs.DSGD, {"lr": [0.1]}, PROBLEM, NETWORK, steps=10)
    assert alone.plot().get_xlabel() == "steps"


def test_settings_that_were_ended_early_have_their_last_level():
    grid = {"lr": np.geomspace(1e-4, 0.3, 12).tolist()}
    search = gs.sweep(gs.DSGD, grid, PROBLEM, NETWORK, steps=64, strategy="halving")
    found = levels(search, "error")
    ended = [one for one in found if one.status is Status.ENDED_EARLY]
    assert len(ended) > 6
    assert all(math.isfinite(one.value) and str(one).startswith("(") for one in ended)
    assert min(found, key=lambda one: one.rank).value == float(search.scores().min())
    assert [line.get_label() for line in search.plot().lines] == ["finished", "ended early"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"over": "lrr"}, "over: got 'lrr', need one of steps, lr, momentum; did you mean 'lr'"),
        ({"over": ["lr", "steps"]}, 'need one hyper-parameter, two, or "steps"'),
        ({"metric": "eror"}, "metric: got 'eror', need one of .*did you mean 'error'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(sweep: gs.Sweep, arguments: Any, words: str):
    with pytest.raises(gs.InvalidInput, match=words):
        sweep.plot(**arguments)
