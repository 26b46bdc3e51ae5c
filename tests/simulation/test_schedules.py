"""Schedules in the simulator: a stack of mixtures is each run alone; tables, files and tuning."""

import warnings
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from torch import Tensor

import gossamer as gs
from gossamer.algorithms import Count, Positive
from gossamer.simulation import step as step_module

PROBLEM, NETWORK, NOISE = gs.Quadratic(6, 4, condition=5.0), gs.ring(6), gs.StudentT(1.5, 0.1)
SHARED = {"noise": NOISE, "steps": 70, "record_every": 20}


def decay(t: int) -> float:
    return 0.2 / (t + 1) ** 0.7


RATES = [
    gs.Cosine(0.1, 70),
    gs.Cosine(0.05, 40, 0.01),
    0.02,
    gs.WarmUp(gs.InversePower(0.2), 10),
    decay,
]


def test_runs_of_a_mixture_are_the_runs_alone():
    grid = {"lr": RATES, "momentum": [0.8, gs.Linear(0.5, 50, 0.9)]}
    swept = gs.sweep(gs.GTNSGDm, grid, PROBLEM, NETWORK, seeds=[3, 4], **SHARED)
    settings = [(lr, momentum) for lr in grid["lr"] for momentum in grid["momentum"]]
    for place, (lr, momentum) in enumerate(settings):
        alone = gs.simulate(
            gs.GTNSGDm(lr, momentum), PROBLEM, NETWORK, seeds=[3, 4], metrics=["error"], **SHARED
        )
        found = swept.runs(place)
        torch.testing.assert_close(found.x, alone.x, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(
            found.metrics["error"], alone.metrics["error"], rtol=1e-12, atol=1e-12
        )
        assert found.config["algorithm"] == alone.config["algorithm"]


def test_a_run_is_the_loop_by_hand():
    schedule = gs.Cosine(0.1, 40)
    run = gs.simulate(gs.DSGD(schedule), PROBLEM, NETWORK, steps=50)
    x = PROBLEM.start.expand(6, 1, 4)
    for t in range(50):
        x = torch.einsum("ij,jrd->ird", NETWORK.weights, x - schedule.at(t) * PROBLEM.local_grad(x))
    torch.testing.assert_close(run.x, x, rtol=1e-12, atol=1e-12)


def test_runs_that_diverge_leave_with_their_schedules():
    rates = [gs.Cosine(0.1, 70), gs.Linear(1e200, 70), 0.05]
    swept = gs.sweep(gs.DSGD, {"lr": rates}, PROBLEM, NETWORK, **SHARED)
    assert [found.name for (found,) in swept.status] == ["FINISHED", "DIVERGED", "FINISHED"]
    alone = gs.simulate(gs.DSGD(0.05), PROBLEM, NETWORK, **SHARED)
    torch.testing.assert_close(swept.runs(2).x, alone.x, rtol=1e-12, atol=1e-12)


def test_all_runs_with_schedules_may_diverge():
    rates = [gs.Linear(1e200, 70), gs.Linear(1e250, 50), gs.Cosine(1e200, 70), 1e220]
    swept = gs.sweep(gs.GTDSGD, {"lr": rates}, PROBLEM, NETWORK, **SHARED)
    assert (swept.diverged_at > 0).all()


def test_records_and_tables_tell_the_schedule(tmp_path: Path):
    method = gs.GTNSGDm(gs.WarmUp(gs.Cosine(0.1, 60), 10), 0.8)
    run = gs.simulate(method, PROBLEM, NETWORK, **SHARED)
    assert run.title == "GT-NSGDm (lr = WarmUp(Cosine(0.1, 60), 10), momentum = 0.8)"
    run.save(tmp_path / "run.safetensors")
    again = gs.Run.load(tmp_path / "run.safetensors")
    assert gs.GTNSGDm(**again.hyperparameters) == method
    own = gs.simulate(gs.GTNSGDm(decay, 0.8), PROBLEM, NETWORK, **SHARED)
    assert own.title == "GT-NSGDm (lr = decay, momentum = 0.8)"
    assert "0.2 / (t + 1) ** 0.7" in own.config["algorithm"]["hyperparameters"]["lr"]["source"]


@pytest.mark.parametrize("strategy", ["grid", "halving"])
def test_schedules_are_tuned(strategy: str):
    grid = {"lr": [1e-4, decay, gs.Cosine(1e-3, 70)]}
    searched = {"grid": grid, "strategy": strategy, "tuning_seeds": [5, 6]}
    found = gs.tune(gs.DSGD, PROBLEM, NETWORK, **searched, **SHARED)
    assert str(found.hyperparameters["lr"]) == "decay"
    assert found.edges == {}
    compared = gs.compare([gs.DSGD(gs.InversePower(0.1))], PROBLEM, NETWORK, **SHARED)
    assert "lr = InversePower(0.1)" in str(compared.table())


def test_compiled_steps_take_schedules_without_another_compilation(monkeypatch):
    monkeypatch.setitem(step_module.BACKENDS, "cpu", "eager")
    monkeypatch.setattr(step_module, "installed", lambda: True)
    method = gs.GTNSGDm(gs.Cosine(0.1, 70), gs.Linear(0.5, 50, 0.9))
    with warnings.catch_warnings(), torch._dynamo.config.patch(error_on_recompile=True):
        warnings.simplefilter("error")
        run = gs.simulate(method, PROBLEM, NETWORK, **SHARED)
    step_module.BACKENDS.pop("cpu")
    expected = gs.simulate(method, PROBLEM, NETWORK, **SHARED)
    torch.testing.assert_close(run.x, expected.x, rtol=1e-12, atol=1e-12)
    torch._dynamo.reset()


@dataclass(frozen=True, repr=False)
class Sawtooth(gs.Schedule):
    """Of a whole number of teeth, with one of two directions."""

    start: Positive
    teeth: Count = 3
    down: bool = field(default=False, kw_only=True)

    def values(self, t: Tensor) -> Tensor:
        share = (t % self.teeth + 1) / self.teeth
        return self.start * (1 - share / 2 if self.down else share)


def test_own_schedules_may_differ_in_counts_and_words():
    listed = [Sawtooth(0.1), Sawtooth(0.2), Sawtooth(0.1, 4), Sawtooth(0.1, down=True)]
    swept = gs.sweep(gs.DSGD, {"lr": listed}, PROBLEM, NETWORK, **SHARED)
    for index, schedule in enumerate(listed):
        alone = gs.simulate(gs.DSGD(schedule), PROBLEM, NETWORK, **SHARED)
        torch.testing.assert_close(swept.runs(index).x, alone.x, rtol=1e-12, atol=1e-12)
