"""Results: saved whole or not at all, read without executing anything, complete enough to redo."""

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

import gossamer as gs

PROBLEM, NETWORK = gs.Quadratic(4, 3), gs.ring(4)


def simulated(**changes) -> gs.Run:
    arguments = {"noise": gs.StudentT(1.5), "steps": 30, "seeds": range(3), **changes}
    return gs.simulate(gs.GTNSGDm(lr=0.1, momentum=0.8), PROBLEM, NETWORK, **arguments)


def assert_same(first: gs.Run, second: gs.Run) -> None:
    for name in ("steps", "diverged_at", "steps_taken", "x"):
        torch.testing.assert_close(
            getattr(first, name), getattr(second, name), rtol=0, atol=0, equal_nan=True
        )
    assert list(first.metrics) == list(second.metrics)
    assert all(torch.equal(first.metrics[k], second.metrics[k]) for k in first.metrics)
    assert first.config == second.config


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"dtype": torch.float32},
        {"noise": gs.Gaussian()},
        {"noise": None, "metrics": ["loss", "consensus_error"]},
    ],
    ids=str,
)
def test_round_trip(tmp_path: Path, changes):
    run = simulated(**changes)
    run.save(tmp_path / "run.safetensors")
    assert_same(gs.Run.load(tmp_path / "run.safetensors"), run)


def test_diverged_runs_round_trip(tmp_path: Path):
    run = gs.simulate(gs.DSGD(lr=1e200), PROBLEM, NETWORK, steps=20, seeds=range(2))
    assert (run.diverged_at > 0).all()
    run.save(tmp_path / "run")
    assert_same(gs.Run.load(str(tmp_path / "run")), run)


def test_the_file_is_safetensors_with_strict_json(tmp_path: Path):
    simulated(noise=gs.Gaussian(2.0)).save(tmp_path / "run")
    with safetensors.safe_open(tmp_path / "run", framework="np") as file:
        text = file.metadata()["config"]
    config = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert config["noise"] == {"name": "Gaussian(std=2.0)"}


def test_the_configuration_makes_the_run_again():
    run = simulated(dtype=torch.float32, record_every=7)
    config = run.config
    assert set(config["versions"]) == {"gossamer", "torch", "python"}
    assert config["versions"]["gossamer"] == gs.__version__
    assert config["seeds"] == [0, 1, 2]
    assert config["network"] == {"name": "ring(4)"}
    assert config["problem"] == PROBLEM.describe()
    again = gs.simulate(
        gs.ALGORITHMS[config["algorithm"]["name"]](**run.hyperparameters),
        PROBLEM,
        gs.from_description(config["network"]),
        noise=gs.noise.from_description(config["noise"]),
        steps=config["steps"],
        seeds=config["seeds"],
        record_every=config["record_every"],
        metrics=config["metrics"],
        dtype=getattr(torch, config["dtype"]),
        device=config["device"],
    )
    assert_same(again, run)


def test_numbers_of_numpy_and_torch_are_saved(tmp_path: Path):
    """A run of hours used to end in an error of the JSON writer."""
    method, noise = gs.DSGD(lr=np.float32(0.5)), gs.Gaussian(std=np.float32(0.25))
    run = gs.simulate(method, PROBLEM, NETWORK, noise=noise, steps=3)
    assert run.hyperparameters == {"lr": 0.5}
    settings = [{"lr": np.int64(1)}, {"lr": torch.tensor(0.25)}]
    found = gs.sweep(gs.DSGD, settings, PROBLEM, NETWORK, steps=3)
    for result in (run, found, found.best()):
        result.save(tmp_path / "run")
        assert_same(type(result).load(tmp_path / "run"), result)
    assert found.settings == [{"lr": 1}, {"lr": 0.25}]


def test_what_cannot_be_saved_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gs.Quadratic, "describe", lambda problem: {"data": problem})
    with pytest.raises(gs.InvalidInput, match=r"describe: got Quadratic\(.* need numbers, words"):
        gs.simulate(gs.DSGD(0.1), PROBLEM, NETWORK, steps=10**9)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_others_may_read_what_the_user_lets_them(tmp_path: Path):
    (tmp_path / "plain").touch()
    simulated().save(tmp_path / "run")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_the_folder_is_made(tmp_path: Path):
    simulated().save(tmp_path / "new" / "folder" / "run")
    assert (tmp_path / "new" / "folder" / "run").exists()


def test_an_interrupted_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, old = tmp_path / "run", simulated()
    old.save(path)

    def interrupted(file, head, tensors):
        file.write(b"half a file")
        raise KeyboardInterrupt

    monkeypatch.setattr("gossamer.sealed._write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulated(seeds=[5]).save(path)
    assert_same(gs.Run.load(path), old)


def test_saving_over_an_old_file_replaces_it_and_leaves_no_other(tmp_path: Path):
    simulated().save(tmp_path / "run")
    new = simulated(seeds=[5])
    new.save(tmp_path / "run")
    assert_same(gs.Run.load(tmp_path / "run"), new)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps({"x": 1}))


def torch_saved(path: Path) -> None:
    torch.save({"x": torch.zeros(3)}, path)


def truncated(path: Path) -> None:
    simulated().save(path)
    path.write_bytes(path.read_bytes()[:-100])


def without_configuration(path: Path) -> None:
    safetensors.torch.save_file({"x": torch.zeros(3)}, path)


def of_another_program(path: Path) -> None:
    config = {"config": json.dumps({"metrics": ["error"]})}
    safetensors.torch.save_file({"x": torch.zeros(3)}, path, metadata=config)


def empty(path: Path) -> None:
    path.touch()


@pytest.mark.parametrize(
    "write",
    [pickled, torch_saved, truncated, without_configuration, of_another_program, empty],
)
def test_other_files_are_refused(tmp_path: Path, write):
    write(tmp_path / "file")
    with pytest.raises(gs.InvalidInput, match="file is damaged or was not written by Gossamer"):
        gs.Run.load(tmp_path / "file")


def test_a_pickle_is_not_executed(tmp_path: Path):
    class Bomb:
        def __reduce__(self):
            return Path.touch, (tmp_path / "executed",)

    (tmp_path / "bomb").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(
        gs.InvalidInput, match=r"bomb is damaged or was not written by Gossamer .*; give what"
    ):
        gs.Run.load(tmp_path / "bomb")
    assert not (tmp_path / "executed").exists()


def test_a_missing_file_is_missing(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        gs.Run.load(tmp_path / "nowhere")


def test_final_is_the_last_record_of_the_main_metric():
    run = simulated()
    assert torch.equal(run.final(), run.metrics["error"][-1])
    assert torch.equal(run.final("loss"), run.metrics["loss"][-1])
    assert torch.equal(simulated(metrics=["loss"]).final(), run.metrics["loss"][-1])
    with pytest.raises(gs.InvalidInput, match=r"metric: got 'eror', .*did you mean 'error'\?"):
        run.final("eror")


def test_a_run_is_printed_in_a_few_words():
    run = simulated(noise=gs.Gaussian(0.1))
    errors = sorted(run.final("error").tolist())
    assert repr(run).splitlines() == [
        "GT-NSGDm (lr = 0.1, momentum = 0.8)",
        f"  problem      Quadratic(num_nodes=4, dim=3, digest={PROBLEM.describe()['digest']})",
        "  network      ring(4)",
        "  noise        Gaussian(std=0.1)",
        "  steps        30, recorded 31 times, float64 on cpu",
        "  seeds        3: 3 finished",
        f"  final error  {errors[1]:.3g} [{errors[0]:.3g}, {errors[2]:.3g}]",
    ]


def test_divergence_and_hyperparameters_of_every_run_are_printed():
    lr = torch.tensor([[0.1], [1e200]], dtype=torch.float64)
    run = gs.simulate(gs.DSGD(lr=lr), PROBLEM, NETWORK, steps=20, seeds=range(2))
    shown = str(run)
    assert shown.startswith("DSGD (lr = one of 2 per run)")
    assert "noise        none" in shown
    assert "2: 1 finished, 1 diverged" in shown
    assert "diverged on 1 of 2 seeds" in shown
    assert "tensor" not in shown


def test_without_metrics_a_run_is_printed_too():
    assert "final" not in repr(simulated(metrics=[]))
    with pytest.raises(gs.InvalidInput, match=r"metrics: got \[\], need at least one"):
        simulated(metrics=[]).final()


def test_every_run_has_a_status_that_is_its_message():
    lr = torch.tensor([[0.1], [1e200]], dtype=torch.float64)
    run = gs.simulate(gs.DSGD(lr=lr), PROBLEM, NETWORK, steps=20, seeds=range(2))
    assert run.status == [gs.Status.FINISHED, gs.Status.DIVERGED]
    assert str(run.status[1]) == "diverged: its parameters are no longer finite"
