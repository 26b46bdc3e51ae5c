"""Files appear whole or not at all."""

import errno
import os
import resource
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from gossamer.files import whole_file


def test_the_file_appears_at_the_end(tmp_path: Path):
    path = tmp_path / "result"
    with whole_file(path) as partial:
        partial.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def write_half(path: Path) -> None:
    with whole_file(path) as partial:
        partial.write_text("half")
        raise KeyboardInterrupt


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path):
    path = tmp_path / "result"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_names_the_file(tmp_path: Path):
    """The error of a write, unlike that of an open, does not say where."""
    path = tmp_path / "result.json"
    with pytest.raises(OSError, match=r"No space left.*result\.json"), whole_file(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_a_disk_that_safetensors_finds_full_names_the_file_too(tmp_path: Path):
    """A limit on the size of files stands for the disk; the error of safetensors is no OSError."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        with (
            pytest.raises(OSError, match=r"File too large.*state\.safetensors"),
            whole_file(tmp_path / "state.safetensors") as partial,
        ):
            save_file({"x": torch.zeros(1000)}, partial)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert not list(tmp_path.iterdir())


def test_what_appears_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Synchronized before it is renamed, so that a power cut leaves the old or the new file."""
    calls: list[str] = []
    for name in ("fsync", "replace"):
        done = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *a, name=name, done=done: (calls.append(name), done(*a))
        )
    with whole_file(tmp_path / "file") as partial:
        partial.write_text("whole")
    assert calls == ["fsync", "replace"]
    assert (tmp_path / "file").read_text() == "whole"
