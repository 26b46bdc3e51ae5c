"""Tuned by grid and by halving on some seeds, reported on others."""

import pytest

import gossamer as gs
from gossamer.simulation import Halving
from gossamer.studies.synthetic.tuned import TunedTwice

UNIT = TunedTwice(
    "small",
    algorithm=gs.DSGD,
    grid={"lr": [1e-3, 0.05, 0.1]},
    network=gs.complete(4),
    noise=gs.StudentT(df=1.5),
    steps=60,
    data_seed=2,
    tuning_seeds=(500, 501, 502),
    fresh_seeds=(0, 1, 2, 3, 4),
    halving=Halving(),
)


@pytest.fixture(scope="module")
def result():
    return UNIT.run("cpu")


def test_chosen_on_the_tuning_seeds(result):
    problem, shared = gs.RobustRegression(4, seed=2), {"noise": UNIT.noise, "steps": 60}
    found = gs.sweep(
        gs.DSGD, UNIT.grid, problem, UNIT.network, seeds=[500, 501, 502], dtype=UNIT.search_dtype,
        **shared,
    )  # fmt: skip
    assert result["grid"]["hyperparameters"]["lr"] == found.best().hyperparameters["lr"]
    assert result["grid"]["tuning_error"] == pytest.approx(float(found.scores().min()))


def test_reported_on_the_fresh_seeds_in_float64(result):
    problem, lr = gs.RobustRegression(4, seed=2), result["grid"]["hyperparameters"]["lr"]
    run = gs.simulate(
        gs.DSGD(lr), problem, UNIT.network, noise=UNIT.noise, steps=60, seeds=range(5)
    )
    assert result["grid"]["error"] == run.metrics["error"].tolist()
    assert result["grid"]["steps"] == run.steps.tolist()


def test_what_both_searches_cost(result):
    assert result["grid"]["run_steps"] == 60 * 3 * 3
    assert 60 * 3 <= result["halving"]["run_steps"] < result["grid"]["run_steps"]
