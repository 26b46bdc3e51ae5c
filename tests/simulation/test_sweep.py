"""`sweep`: the grid, scores, the best setting, refusals."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import gossamer as gs
from gossamer.simulation._sweep import grid_settings

PROBLEM, NETWORK = gs.Quadratic(4, 3), gs.ring(4)
GRID = {"lr": [0.01, 0.1, 1e200], "momentum": [0.5, 0.9]}


def swept(method=gs.GTNSGDm, grid=GRID, **changes) -> gs.Sweep:
    arguments = {"noise": gs.Gaussian(0.1), "steps": 40, "seeds": range(3), **changes}
    return gs.sweep(method, grid, PROBLEM, NETWORK, **arguments)


def test_every_combination_the_last_name_fastest():
    settings = grid_settings({"a": [1, 2], "b": [3, 4]})
    assert settings == [{"a": a, "b": b} for a, b in [(1, 3), (1, 4), (2, 3), (2, 4)]]


def test_shapes():
    result = swept(metrics=["error", "loss"])
    assert result.metrics["loss"].shape == (41, 6, 3)
    assert result.diverged_at.shape == (6, 3)
    assert result.x.shape == (4, 6, 3, 3)


def test_runs_of_a_setting_are_what_simulate_returns():
    result = swept()
    for index, setting in enumerate(result.settings):
        runs = result.runs(index)
        alone = gs.simulate(
            gs.GTNSGDm(**setting),
            PROBLEM,
            NETWORK,
            noise=gs.Gaussian(0.1),
            steps=40,
            seeds=range(3),
            metrics=["error"],
        )
        torch.testing.assert_close(runs.x, alone.x, rtol=1e-12, atol=1e-12, equal_nan=True)
        torch.testing.assert_close(runs.metrics["error"], alone.metrics["error"])
        assert runs.config == alone.config
    assert result.runs(-1).hyperparameters == result.settings[-1]
    with pytest.raises(IndexError):
        result.runs(6)


def test_runs_know_the_hyperparameters_that_were_not_swept():
    result = swept(gs.GTAdam, {"lr": [0.01, 0.02]})
    assert result.runs(1).hyperparameters == gs.GTAdam(lr=0.02).hyperparameters


def test_scores_are_medians_of_the_final_level():
    result = swept()
    tail = result.metrics["error"][-4:].mean(0)
    expected = [float(np.median(tail[s].numpy())) for s in range(6)]
    assert result.scores().tolist() == pytest.approx(expected, rel=1e-12)
    assert result.best().hyperparameters == result.settings[int(np.argmin(expected))]


def test_a_metric_that_was_not_recorded_is_refused():
    with pytest.raises(gs.InvalidInput, match=r"got 'loss', .*pass e\.g\. metrics=\['loss'\]"):
        swept().best("loss")


def test_half_of_the_seeds_diverging_is_too_many():
    result = swept(seeds=range(2))
    result.metrics["error"][-1, 0, 0] = torch.inf
    assert result.scores()[0] == torch.inf


def test_everything_may_diverge_and_then_there_is_no_best():
    result = swept(gs.DSGD, {"lr": [1e200, 1e300]})
    assert (result.scores() == torch.inf).all()
    assert (result.runs(0).diverged_at > 0).all()
    with pytest.raises(gs.InvalidInput, match="grid: got 2 settings that all diverged, need one"):
        result.best()


@pytest.mark.parametrize("judge_by", ["loss", "validation_loss"])
def test_a_metric_that_is_no_number_from_the_start_is_not_blamed_on_the_settings(judge_by: str):
    data = {name: (torch.randn(8, 3), torch.randn(8, 1)) for name in ("loss", "validation_loss")}
    data[judge_by][0].fill_(torch.nan)
    parts = torch.nn.Linear(3, 1), torch.nn.functional.mse_loss, [data["loss"]] * 4
    problem = gs.ModuleProblem(*parts, batch_size=2, validation=data["validation_loss"])
    message = f"^{judge_by}: got nan before the first step, need a finite number; check the data"
    with pytest.raises(gs.InvalidInput, match=message):
        gs.tune(gs.DSGD, problem, gs.ring(4), grid={"lr": [0.1]}, steps=3, judge_by=judge_by)


class Bowl(gs.Problem):
    """½‖x‖² on every node, of which nothing is known."""

    num_nodes, dim, start = 4, 3, torch.ones(3, dtype=torch.float64)

    def local_loss(self, x):
        return 0.5 * (x * x).sum(-1)

    def local_grad(self, x):
        return x

    def describe(self):
        return {"name": "Bowl"}


def test_without_an_optimum_the_loss_decides():
    result = gs.sweep(gs.DSGD, {"lr": [0.5, 0.001]}, Bowl(), NETWORK, steps=50)
    assert list(result.metrics) == ["loss", "gradients", "messages", "bytes"]
    assert result.best().hyperparameters == {"lr": 0.5}
    assert result.scores()[1] == pytest.approx(1.5 * 0.999 ** (2 * 48), rel=0.01)


def test_round_trip(tmp_path: Path):
    result = swept()
    result.save(tmp_path / "sweep")
    loaded = gs.Sweep.load(tmp_path / "sweep")
    assert loaded.settings == result.settings
    assert torch.equal(loaded.scores(), result.scores())
    assert loaded.best().config == result.best().config


def test_a_sweep_is_not_a_run(tmp_path: Path):
    swept().save(tmp_path / "sweep")
    with pytest.raises(gs.InvalidInput, match=r"need one setting; Sweep\.load"):
        gs.Run.load(tmp_path / "sweep")


def test_a_run_is_not_a_sweep(tmp_path: Path):
    swept().best().save(tmp_path / "run")
    with pytest.raises(gs.InvalidInput, match=r"need a sweep; read it with Run\.load"):
        gs.Sweep.load(tmp_path / "run")


@pytest.mark.parametrize("array", [np.array, torch.tensor, tuple])
def test_values_may_be_arrays(tmp_path: Path, array):
    result = swept(gs.DSGD, {"lr": array([0.25, 0.5])})
    assert result.settings == [{"lr": 0.25}, {"lr": 0.5}]
    result.save(tmp_path / "sweep")


def test_settings_may_come_from_a_generator():
    result = swept(gs.DSGD, ({"lr": lr} for lr in (0.25, 0.5)))
    assert result.settings == [{"lr": 0.25}, {"lr": 0.5}]


def test_a_word_is_shared_by_all_settings():
    grid = {"lr": [0.1, 0.2], "clip": [1.0], "order": ["combine-then-adapt"]}
    result = swept(gs.DSGDGClip, grid)
    assert all(s["order"] == "combine-then-adapt" for s in result.settings)
    method = gs.DSGDGClip(lr=0.2, clip=1.0, order="combine-then-adapt")
    alone = gs.simulate(method, PROBLEM, NETWORK, noise=gs.Gaussian(0.1), steps=40, seeds=range(3))
    torch.testing.assert_close(result.runs(1).x, alone.x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("method", "grid", "message"),
    [
        (gs.DSGD, {"lr": []}, "lr: got [], need at least one value to try"),
        (gs.DSGD, {"lr": 0.1}, "lr: got 0.1, need a list of values to try; write [0.1]"),
        (gs.DSGD, {"lr": torch.tensor(0.5)}, "lr: got tensor(0.5000), need a list of values"),
        (gs.DSGD, {"lr": np.array(0.5)}, "lr: got array(0.5), need a list of values to try; write"),
        (gs.DSGD, {"lr": [torch.ones(2, 1)]}, "of shape (2, 1), need one number each; list its"),
        (gs.DSGD, {"lr": [0.1, -1.0]}, "lr: got -1.0, need a number in [0, ∞)"),
        (gs.DSGD, {"lr": ["fast"]}, "lr: got 'fast', need a number in [0, ∞)"),
        (gs.DSGD, (), "grid: got (), need at least one setting to try"),
        (gs.DSGD(0.1), {"lr": [0.1]}, "algorithm: got DSGD(lr=0.1), need the class of a method"),
        (gs.GTNSGDm, {"lr": [1], "momentm": [0]}, "did you mean 'momentum'?"),
        (
            gs.DSGDGClip,
            {"lr": [1], "clip": [1], "order": ["combine-then-adapt", "adapt-then-combine"]},
            "order: got ['combine-then-adapt', 'adapt-then-combine'], need one value in all",
        ),
    ],
)
def test_refusals(method, grid, message: str):
    with pytest.raises(gs.InvalidInput, match=re.escape(message)):
        swept(method, grid)


def test_an_unknown_strategy_is_refused():
    with pytest.raises(gs.InvalidInput, match="strategy: got guess, need one of 'grid', 'halving'"):
        swept(strategy="guess")


@pytest.mark.parametrize("strategy", ["grid", "halving"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_scored(dtype: torch.dtype, strategy: str):
    found = swept(gs.DSGD, {"lr": [0.001, 0.1]}, dtype=dtype, strategy=strategy)
    assert found.best().hyperparameters == {"lr": 0.1}


def test_a_sweep_is_printed_in_a_few_words():
    found = swept(gs.DSGD, {"lr": [0.01, 0.1, 1e200]})
    shown = repr(found).splitlines()
    assert shown[0] == "Sweep of DSGD: 3 settings × 3 seeds"
    assert shown[-2:] == [
        "  runs     6 finished, 3 diverged, grid search",
        f"  best     lr = 0.1: error {found.scores().min():.3g}",
    ]
    assert len(shown) == 7
    lost = swept(gs.DSGD, {"lr": [1e200, 1e300]})
    assert repr(lost).endswith("best     none, all settings diverged")


def test_every_run_has_a_status_by_setting_and_seed():
    found = swept(gs.DSGD, {"lr": [1e-5, 0.1, 0.2, 1e200]}, strategy=gs.Halving(((0.5, 0.3),)))
    status = gs.Status
    ends = [status.ENDED_EARLY, status.FINISHED, status.FINISHED, status.DIVERGED]
    assert found.status == [[end] * 3 for end in ends]
    assert found.runs(0).status == [status.ENDED_EARLY] * 3


@pytest.mark.parametrize("strategy", ["grid", "halving"])
def test_the_metric_to_judge_by_is_the_one_asked_for_wherever_it_stands(strategy: str):
    metrics = ["loss", "error", "consensus_error"]
    grid = {"lr": [1e-5, 1e-4, 1e-3, 0.01, 0.1]}
    arguments = {"grid": grid, "metrics": metrics, "strategy": strategy, "steps": 200}
    assert swept(gs.DSGD, **arguments).best().hyperparameters["lr"] >= 0.01
    found = swept(gs.DSGD, judge_by="consensus_error", **arguments)
    assert found.best().hyperparameters == {"lr": 1e-5}
    assert found.config["judge_by"] == found.main_metric == "consensus_error"


def test_a_judge_that_is_not_recorded_is_refused():
    recorded = ["loss", "grad_norm"]
    for judge, found in ((None, "the default 'error'"), ("error", "'error'")):
        message = f"judge_by: got {found}, need one of `metrics`, {recorded}; e.g. judge_by='loss'"
        with pytest.raises(gs.InvalidInput, match=re.escape(message)):
            swept(metrics=recorded, judge_by=judge)


@pytest.mark.parametrize("metrics", [["consensus_error"], ["bytes", "consensus_error"]])
def test_the_only_metric_that_is_asked_for_judges(metrics: list[str]):
    asked = swept(metrics=metrics)
    assert asked.config["judge_by"] == "consensus_error"
    assert next(iter(asked.metrics)) == "consensus_error"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([{"lr": [0.03, 0.1]}], "got lr = [0.03, 0.1] in a list of settings, need one value each"),
        ([{"lr": 0.1}, {"lr": (0.1, 1.0)}], "for a grid, pass one dictionary of lists"),
        ([0.1, 1.0], "got 0.1 in a list, need a dictionary for each setting; e.g. {'lr': 0.1}"),
    ],
)
def test_a_list_of_grids_is_refused(settings, words: str):
    with pytest.raises(gs.InvalidInput, match=re.escape(words)):
        gs.sweep(gs.DSGD, settings, PROBLEM, NETWORK, steps=3)
