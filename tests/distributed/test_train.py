"""Training by names: what cannot run is refused before a process starts."""

import errno
import os
import warnings

import pytest
import torch
from processes import Dead, Processes, on_ranks

from gossamer.cli._train import train as command
from gossamer.distributed import Checkpoints, read_nodes
from gossamer.errors import InvalidInput
from gossamer.train import train, training
from gossamer.train.__main__ import main
from gossamer.train.config import config_of, make_network, read_arguments
from gossamer.train.log import LOG, TrainingLog

METHOD = {"lr": 0.1, "momentum": 0.8}
GIVEN = ["--data", "blobs", "--lr", "0.1", "--momentum", "0.8"]
QUASI = ["--algorithm", "QGDSGDm", "--quasi-momentum", "0.8"]
ONE_WAY = "from_digraph([(0, 1), (1, 2), (2, 0), (0, 2)])"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lr", "fast"], "lr: got 'fast', need a number"),
        (["--clip", "3"], "hyper-parameter of GTNSGDm: got 'clip'"),
        (["--steps", "-5"], "steps: got -5, need an integer of at least 1"),
        (["--steps", "0"], "steps: got 0, need an integer of at least 1"),
        (["--batch-size", "0"], "batch_size: got 0, need an integer of at least 1"),
        (["--log-every", "0"], "log_every: got 0, need an integer of at least 1"),
        (["--save-every", "0"], "save_every: got 0, need an integer of at least 1"),
        (["--timeout", "-1"], "timeout: got -1.0, need a number of seconds above 0"),
        (["--timeout", "inf"], "timeout: got inf, need a number of seconds above 0, at most 1e"),
        (["--on-peer-failure", "ignore"], "on_peer_failure: got 'ignore', need one of raise, drop"),
        (["--min-nodes", "2"], "min_nodes: got 2 with on_peer_failure raise, need .* drop"),
        (["--min-nodes", "two"], "argument --min-nodes: invalid int value: 'two'"),
        (["--wait", "maybe"], "wait: got 'maybe', need one of on, off"),
        (["--overlap", "True"], "overlap: got 'True', need one of off, on, auto"),
        (["--message-dtype", "int8"], "message_dtype: got 'int8', need one of exact, bfloat16"),
        (["--data", "digit"], "data: got 'digit', need one of digits, blobs"),
        (["--model", "gpt"], "data: got blobs, need a text file"),
        (["--network", "rnig"], "network: got 'rnig', .* did you mean 'ring'"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        read_arguments([*GIVEN, *arguments])


def test_bad_input_ends_in_one_line(capsys):
    with pytest.raises(SystemExit, match="2"):
        main([*GIVEN, "--batch-size", "5000"])
    assert capsys.readouterr().err == (
        "gossamer train: batch_size: got 5000, need an integer in [1, 1800], "
        "the samples of node 0\n"
    )


@pytest.mark.parametrize("folder", [None, "runs"])
def test_a_run_whose_loss_is_not_finite_is_not_done(folder, tmp_path, capsys):
    arguments = ["--data", "blobs", "--lr", "1e38", "--algorithm", "GTDSGD", "--steps", "1"]
    arguments += ["--checkpoints", str(tmp_path / folder)] if folder else []
    with pytest.raises(SystemExit, match="1"):
        main(arguments)
    out, err = capsys.readouterr()
    assert "Done" not in out
    assert err.startswith("gossamer train: at step 1 the average model has a validation loss of")
    assert f"; lower --lr, 1e+38{', and use another checkpoint' if folder else ''}" in err


def test_the_optimizer_is_told_how_many_it_takes_to_go_on(monkeypatch):
    monkeypatch.setattr(training, "DecentralizedOptimizer", lambda *_, **told: told)
    config = read_arguments([*GIVEN, "--on-peer-failure", "drop", "--min-nodes", "3"])
    told = training.make_optimizer(config, torch.nn.Linear(1, 1))
    assert (told["on_peer_failure"], told["min_nodes"]) == ("drop", 3)


def test_options_from_python_are_those_of_the_optimizer():
    told = {"order": "combine-then-adapt", "overlap": True, "message_dtype": torch.bfloat16}
    assert train(data="blobs", **METHOD, **told, steps=2)["step"] == 2
    assert train(data="blobs", **METHOD, wait=False, steps=2)["step"] == 2


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"wait": "off"}, "wait: got 'off', need True or False"),
        ({"overlap": "on"}, "overlap: got 'on', need False, True or"),
        ({"message_dtype": "exact"}, "message_dtype: got 'exact', need torch.bfloat16, float16"),
    ],
    ids=str,
)
def test_words_of_the_command_line_are_refused_in_python(option: dict, message: str):
    with pytest.raises(InvalidInput, match=message):
        train(data="blobs", **METHOD, **option, steps=2)


def test_a_network_has_as_many_nodes_as_processes():
    assert make_network("random_regular(6, degree=3)", 6).num_nodes == 6
    with pytest.raises(InvalidInput, match=r"network: torus\(4\): missing .*'cols'"):
        make_network("torus", 4)
    with pytest.raises(InvalidInput, match=r"hypercube\(4\) with 16 nodes on 4 processes") as e:
        make_network("hypercube", 4)
    assert str(e.value).endswith("; hypercube takes a dimension: hypercube(2)")
    assert make_network("hypercube(2)", 4).num_nodes == 4


def test_a_run_goes_on_with_its_own_hyperparameters_only(tmp_path):
    where = {"data": "blobs", "save_every": 3, "checkpoints": str(tmp_path)}
    train(**where, **METHOD, steps=4)
    assert read_nodes(tmp_path)[0].step == 4  # the last step, whatever save_every
    with pytest.raises(InvalidInput, match=r"a run with {'lr': 0.1, .* one with {'lr': 0.05,"):
        train(**where, **METHOD | {"lr": 0.05}, steps=8)
    train(**where, **METHOD, steps=8)
    whole = train(data="blobs", **METHOD, steps=8)
    assert read_nodes(tmp_path)[0].step == 8
    again = train(**where, **METHOD, steps=8)
    assert again["validation_loss"] == pytest.approx(whole["validation_loss"], abs=1e-12)
    assert torch.isnan(torch.tensor(again["loss"]))


def test_a_resumed_run_says_so(tmp_path, capsys):
    where = {"data": "blobs", "checkpoints": str(tmp_path)}
    train(**where, **METHOD, steps=6)
    assert "Resumed" not in capsys.readouterr().out
    train(**where, **METHOD, steps=10)
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == "Resumed at step 6 of 10."
    log = TrainingLog.read(tmp_path / LOG)
    assert [one["step"] for one in log.records] == [6, 10]
    assert (log.run["algorithm"], log.run["steps"]) == ("GT-NSGDm", 10)


def test_a_run_that_has_ended_shows_its_numbers_again_and_keeps_its_log(tmp_path, capsys):
    where = {"data": "blobs", "checkpoints": str(tmp_path)}
    for _ in range(2):
        train(**where, **METHOD, steps=6)
    *_, first, _, _, again = capsys.readouterr().out.splitlines()
    assert again.split() == [word if k != 1 else "–" for k, word in enumerate(first.split())]
    (kept,) = TrainingLog.read(tmp_path / LOG).records
    assert kept["loss"] is not None


def test_a_run_is_not_continued_as_another_one(tmp_path):
    where = {"data": "blobs", "checkpoints": str(tmp_path)}
    train(**where, **METHOD, steps=6)
    for other, words in [
        ({"seed": 1}, "a run with seed 0, need one with seed 1; use those, or another folder"),
        ({"batch_size": 8}, "a run with batch_size 32, need one with batch_size 8"),
        ({"network": "complete"}, r"a run with network ring\(1\), need one with network complete"),
        (
            {"steps": 5},
            "steps: got 5, need at least 6, the steps that the run in .* has taken",
        ),
    ]:
        with pytest.raises(InvalidInput, match=words):
            train(**{**where, **METHOD, "steps": 10, **other})


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("gossamer.distributed.resume.write_node", "rank 0: No space left on device (a file)"),
        ("gossamer.train.training.append", "No space left on device (a file)"),
    ],
)
def test_a_full_disk_ends_in_one_line(place, told, tmp_path, monkeypatch, capsys):
    def full(*_) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a file")

    monkeypatch.setattr(place, full)
    with pytest.raises(SystemExit, match="1"):
        main([*GIVEN, "--steps", "1", "--checkpoints", str(tmp_path)])
    assert capsys.readouterr().err == f"gossamer train: {told}\n"


def resumed(network: str, folder) -> Checkpoints:
    warnings.simplefilter("ignore")
    options = {"network": network, "on_peer_failure": "drop", "timeout": 5.0}
    config = config_of(checkpoints=str(folder), **options, **METHOD)
    optimizer = training.make_optimizer(config, torch.nn.Linear(2, 1))
    checkpoints = Checkpoints(folder, optimizer, None, run=training.SameRun(config, optimizer))
    checkpoints.resume()
    return checkpoints


def without_rank_2(rank: int, network: str, folder) -> str:
    checkpoints = resumed(network, folder)
    for t in range(5):
        if (rank, t) == (2, 3):
            os._exit(1)
        checkpoints.optimizer.step()
    checkpoints.save()
    return checkpoints.optimizer.network.name


def steps_resumed(rank: int, network: str, folder) -> int:
    return resumed(network, folder).optimizer.steps


@pytest.mark.parametrize(
    ("given", "left", "asked_for"),
    [("ring", "ring(3)", "ring"), ("ring(4)", "ring(4).without(2)", "ring(4).without(2)")],
)
def test_from_a_network_with_arguments_a_dead_node_is_removed(given, left, asked_for, tmp_path):
    answers = Processes(without_rank_2, given, tmp_path).results(deadline=40)
    assert isinstance(answers.pop(2), Dead)
    assert answers == [left] * 3
    assert on_ranks(steps_resumed, asked_for, tmp_path, size=3) == [5, 5, 5]


def some_steps(rank: int, folder) -> None:
    train(data="blobs", **METHOD, steps=4, checkpoints=str(folder))


@pytest.mark.slow
def test_what_the_processes_refuse_is_said_once_without_a_traceback(tmp_path, capfd):
    on_ranks(some_steps, tmp_path, size=2)
    capfd.readouterr()
    arguments = [*GIVEN, "--processes", "2", "--checkpoints", str(tmp_path), "--lr", "0.05"]
    with pytest.raises(InvalidInput, match=r"a run with {'lr': 0.1, .* one with {'lr': 0.05,"):
        command.main(arguments, standalone_mode=False)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--network", "torus(2, 3)"], "with 6 nodes on 4 processes"),
        (
            ["--network", ONE_WAY, "--processes", "3", *QUASI],
            r"use PushSum\(QGDSGDm\)",
        ),
        (["--max-restarts", "-1"], "max_restarts: got -1, need an integer of at least 0"),
        (["--on-peer-failure", "drop", "--min-nodes", "5"], r"min_nodes: got 5, .* in \[2, 4\]"),
        (
            ["--on-peer-failure", "drop", "--network", "exponential(4)"],
            r"network: got exponential\(4\), need static with W = Wᵀ",
        ),
    ],
)
def test_the_command_refuses_before_it_starts_processes(arguments, message, monkeypatch):
    monkeypatch.delattr("gossamer.train.launcher.subprocess.Popen")
    with pytest.raises(InvalidInput, match=message):
        command.main([*GIVEN, *arguments], standalone_mode=False)
