"""Files appear whole or not at all."""

from pathlib import Path

import pytest

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
