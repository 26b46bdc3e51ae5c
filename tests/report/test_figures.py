"""Figures as files: three formats, each whole, the same picture every time."""

from pathlib import Path

import pytest

from gossamer.plots import panels, style
from gossamer.report.figures import save_figure


def figure():
    with style():
        made, (ax,) = panels(1)
        ax.plot([0, 1], [1, 2], label="a curve of αλ")
        ax.legend()
    return made


def test_three_formats_whole(tmp_path: Path):
    paths = save_figure(figure(), tmp_path / "new" / "with.dot")
    assert {p.name for p in paths.values()} == {"with.dot.png", "with.dot.svg", "with.dot.pdf"}
    assert {p.name for p in (tmp_path / "new").iterdir()} == {p.name for p in paths.values()}
    assert paths["png"].read_bytes().startswith(b"\x89PNG")
    assert paths["pdf"].read_bytes().startswith(b"%PDF")
    assert b"</svg>" in paths["svg"].read_bytes()


def test_a_crash_leaves_the_old_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    paths = save_figure(figure(), tmp_path / "f")
    before = paths["png"].read_bytes()
    broken = figure()
    monkeypatch.setattr(broken, "savefig", lambda *a, **k: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        save_figure(broken, tmp_path / "f")
    assert paths["png"].read_bytes() == before
