"""The notebooks run from top to bottom and print what is stored in them."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest
from pages import compare

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.fixture
def notebooks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(DOCS / "scripts")
    yield import_module("notebooks")
    sys.modules.pop("notebooks", None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored(path: Path, notebooks):
    notebook = notebooks.read(path)
    cells = notebooks.code_cells(notebook)
    for count, (cell, shown) in enumerate(zip(cells, notebooks.run(notebook), strict=True), 1):
        assert cell["execution_count"] == count
        compare(f"{path.name}, cell {count}", shown.text, notebooks.stored_text(cell))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_short_and_says_nothing_of_its_machine(path: Path, notebooks):
    text = path.read_text(encoding="utf-8")
    assert len(notebooks.code_cells(json.loads(text))) <= 12
    assert len(text) < 400_000
    assert not any(place in text for place in ("/home/", "/root/", "/work/", "/tmp/", "C:\\"))


def test_cells_show_what_is_printed_the_last_expression_and_figures(notebooks, tmp_path: Path):
    sources = [
        "print('a')\n1 + 1",
        "1;",
        "import matplotlib.pyplot as plt\nplt.plot([1]);",
        "x = 1",
    ]
    cells = [{"cell_type": "code", "source": [source]} for source in sources]
    path = tmp_path / "some.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    notebooks.store(path)
    stored = notebooks.code_cells(notebooks.read(path))
    assert [notebooks.stored_text(cell) for cell in stored] == ["a\n2", "", "", ""]
    assert [len(cell["outputs"]) for cell in stored] == [2, 0, 1, 0]
    assert list(stored[2]["outputs"][0]["data"]) == ["image/svg+xml"]
