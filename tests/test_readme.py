"""The README's examples run as printed."""

from pathlib import Path

import pages
import pytest

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.slow
def test_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert any(pages.blocks(README))
    pages.run(README)
