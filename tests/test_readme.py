"""The README's examples run as printed."""

from pathlib import Path

import markdown
import pytest

README = Path(__file__).parent.parent / "README.md"


def test_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert any(markdown.blocks(README))
    markdown.run(README)
