"""What the processes of a training refuse, their launcher says: once, and without a traceback."""

import pytest

from gossamer.errors import InvalidInput
from gossamer.train.__main__ import main
from gossamer.train.refusal import leave_refusal, raising_refusals

TOO_MANY = ["--data", "blobs", "--lr", "0.1", "--momentum", "0.8", "--batch-size", "5000"]


def test_the_first_message_is_raised_at_the_end(monkeypatch):
    with pytest.raises(InvalidInput, match=r"^λ: the first$"), raising_refusals() as variables:
        leave_two(monkeypatch, variables)


def leave_two(monkeypatch, variables) -> None:
    monkeypatch.setenv(*next(iter(variables.items())))
    assert leave_refusal("λ: the first")
    assert leave_refusal("λ: the second")


def test_without_a_message_nothing_happens():
    with raising_refusals() as variables:
        assert len(variables) == 1


def test_without_a_launcher_the_message_stays_here():
    assert not leave_refusal("λ: nobody asks")


def test_a_process_that_refuses_ends_well_for_torchrun(monkeypatch, capsys):
    """Else torchrun would start it again, and report a crash."""
    refused = pytest.raises(InvalidInput, match="batch_size: got 5000, need an integer in")
    with refused, raising_refusals() as variables:
        monkeypatch.setenv(*next(iter(variables.items())))
        main(TOO_MANY)
    assert capsys.readouterr().err == ""
