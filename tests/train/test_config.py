import dataclasses
import re

import pytest
import torch

from gossamer.algorithms import ALGORITHMS, DSGD, Cosine, GTNSGDm, PushSum, WarmUp
from gossamer.errors import InvalidInput
from gossamer.train.config import TrainConfig, make_algorithm, read_arguments


def test_help_explains_every_option_and_every_hyperparameter(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        read_arguments(["--help"])
    assert end.value.code == 0
    out = re.sub(r"\s+", " ", capsys.readouterr().out)
    options = [f.name for f in dataclasses.fields(TrainConfig) if f.name != "hyperparameters"]
    numbers = {f.name for method in ALGORITHMS.values() for f in dataclasses.fields(method)}
    for name in (*options, *numbers):
        flag = "--" + name.replace("_", "-")
        assert re.search(rf"{flag} X (?!--)\w", out), flag
    assert "steps to train, those before a resume included [200]" in out
    assert "messages half as long, and lossy [exact]" in out
    assert "travel while it is computed [off]" in out
    assert "[on]" in out
    assert "--quasi-momentum X a number in [0, 1); QGDSGDm" in out


def test_what_is_not_given_is_the_default():
    config = read_arguments(["--data", "blobs", "--lr", "0.1", "--momentum", "0.8"])
    given = {"data": "blobs", "hyperparameters": {"lr": 0.1, "momentum": 0.8}}
    assert config == TrainConfig(**given)


def test_words_of_the_command_line_are_values_in_python():
    typed = ["--overlap", "on", "--wait", "off", "--message-dtype", "bfloat16"]
    config = read_arguments(["--data", "blobs", "--lr", "0.1", "--momentum", "0.8", *typed])
    assert (config.overlap, config.wait, config.message_dtype) == (True, False, torch.bfloat16)
    assert TrainConfig().overlap is False
    assert TrainConfig().wait is True
    assert TrainConfig().message_dtype is None


def test_push_sum_of_a_method_is_given_by_name_with_the_method_s_options():
    config = read_arguments(["--data", "blobs", "--algorithm", "PushSum(DSGD)", "--lr", "0.1"])
    assert make_algorithm(config) == PushSum(DSGD(lr=0.1))


def test_hyperparameters_inside_the_name_are_refused():
    with pytest.raises(InvalidInput, match=r"algorithm: got DSGD\(lr=0.1\), need .* DSGD --lr 0.1"):
        read_arguments(["--data", "blobs", "--algorithm", "DSGD(lr=0.1)"])


def test_a_model_of_one_s_own_is_refused_with_the_way_to_train_it():
    with pytest.raises(InvalidInput, match=r"got 'net', need one of mlp, gpt; .* a script"):
        read_arguments(["--model", "net", "--lr", "0.1", "--momentum", "0.8"])


def test_schedules_are_typed():
    given = ["--data", "blobs", "--lr", "WarmUp(Cosine(0.1, 200), 10)", "--momentum", "0.8"]
    assert make_algorithm(read_arguments(given)) == GTNSGDm(WarmUp(Cosine(0.1, 200), 10), 0.8)
    given[3] = "Cosin(0.1, 200)"
    with pytest.raises(InvalidInput, match=r"hyper-parameter: got 'Cosin', .* mean 'Cosine'"):
        read_arguments(given)
