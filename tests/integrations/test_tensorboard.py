"""What `gossamer.train` reports is in TensorBoard's files."""

import pytest

from gossamer.errors import InvalidInput
from gossamer.train import train, training

event_accumulator = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator", reason="tensorboard is not installed"
)


def test_a_folder_that_cannot_be_is_refused_before_the_training(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(training, "join", None)
    with pytest.raises(InvalidInput, match=r"^tensorboard: cannot write to .*file/a \(Not a dir"):
        train(data="blobs", lr=0.1, momentum=0.8, tensorboard=str(tmp_path / "file" / "a"))


def test_the_reported_numbers_are_logged_under_their_steps(tmp_path):
    options = {"data": "blobs", "steps": 20, "log_every": 10, "lr": 0.1, "momentum": 0.8}
    last = train(**options, tensorboard=str(tmp_path))
    events = event_accumulator.EventAccumulator(str(tmp_path))
    events.Reload()
    assert set(events.Tags()["scalars"]) == set(last)
    for name, value in last.items():
        scalars = events.Scalars(name)
        assert [scalar.step for scalar in scalars] == [10, 20]
        assert scalars[-1].value == pytest.approx(value, rel=1e-6)
