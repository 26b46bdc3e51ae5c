"""The scripts behind the documentation: what they generate is current, and imports go downward."""

import doctest
import sys
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
SCRIPTS = sorted(path.stem for path in (DOCS / "scripts").glob("*.py"))


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(DOCS / "scripts")
    yield
    for script in SCRIPTS:
        sys.modules.pop(script, None)


@pytest.mark.parametrize("script", SCRIPTS)
def test_doctests(script: str):
    assert doctest.testmod(import_module(script), optionflags=doctest.ELLIPSIS).failed == 0


def test_no_part_imports_upward():
    imports = import_module("imports")
    assert imports.upward(imports.imports()) == []


def test_an_import_upward_is_noticed(tmp_path: Path):
    (tmp_path / "networks").mkdir()
    (tmp_path / "networks" / "graphs.py").write_text(f"from {tmp_path.name}.cli import main\n")
    (tmp_path / "cli.py").write_text(f"import {tmp_path.name}.errors\n")
    (tmp_path / "extra.py").write_text(f"from {tmp_path.name} import cli\n")
    (tmp_path / "errors.py").write_text("")
    imports = import_module("imports")
    found = imports.imports(tmp_path)
    assert found == {"cli": {"errors"}, "errors": set(), "extra": {"cli"}, "networks": {"cli"}}
    assert imports.upward(found) == ["extra has no place in LAYERS", "networks imports cli"]


def test_the_import_graph_in_the_docs_is_current():
    imports = import_module("imports")
    drawn = imports.PICTURE.read_text(encoding="utf-8")
    assert imports.summary(imports.imports()) in drawn, "run `python docs/scripts/imports.py`"
    assert imports.draw(imports.imports()).axes


def test_pictures(tmp_path: Path):
    """One is drawn again; the page shows every one."""
    pictures = import_module("pictures")
    page = (DOCS / "concepts.md").read_text(encoding="utf-8")
    for name in pictures.PICTURES:
        assert f"(images/{name}.svg)" in page
        assert (DOCS / "images" / f"{name}.svg").stat().st_size < 200_000
    assert pictures.draw("normalization", tmp_path).read_text().startswith("<?xml")


def test_stored_results_cover_every_method():
    import gossamer as gs

    results = import_module("from_results").compared()["methods"]
    assert {entry["class"] for entry in results.values()} == set(gs.ALGORITHMS)


def test_stored_results_are_found_again():
    """The cheapest of them: thirteen step sizes of a method without memory."""
    compare, stored = import_module("compare"), import_module("from_results").compared()
    law = compare.NOISES["Student-t"]
    found = compare.compare("NormalizedDSGD", compare.PROBLEMS["different"], law)
    known = stored["methods"]["NormalizedDSGD"]["different"]["Student-t"]
    assert found["hyperparameters"] == known["hyperparameters"]
    assert found["errors"] == pytest.approx(known["errors"], rel=1e-3)


def test_the_transformer_table_shows_what_is_stored(monkeypatch: pytest.MonkeyPatch):
    pages = import_module("from_results")
    printed = pages.transformer("GTNSGDm")
    assert "| printed | 0.258 ± 0.007 | 0.261 ± 0.007 | 0.282 ± 0.009 |" in printed
    networks = ["ring", "directed exponential", "complete"]
    columns = ["method", *(f"{n}: {who}" for n in networks for who in ("printed", "ours"))]
    tables = [
        {"columns": columns, "rows": [["GT-NSGDm", "0.258", "1", "0.261", "2", "0.282", "3"]]},
        {"columns": ["method", *networks], "rows": [["GT-NSGDm", "4", "5", "6"]]},
    ]
    monkeypatch.setitem(pages.study(), "transformer-table", {"tables": tables})
    shown = pages.transformer("GTNSGDm")
    assert "| ours, protocol `paper` | 1 | 2 | 3 |" in shown
    assert "| ours, protocol `causal` | 4 | 5 | 6 |" in shown
    assert pages.transformer("NormalizedDSGD") == "Not part of that study."


def test_a_word_chooses_among_the_tables_of_an_experiment():
    experiment = import_module("from_results").experiment
    assert "| GT-NSGDm |" in experiment("transformer-table causal")
    assert "printed" not in experiment("transformer-table causal")
    assert "printed" in experiment("transformer-table")


def test_the_words_of_a_marker_are_for_readers_of_the_source():
    tables = import_module("tables")
    filled = tables.fill("[[by_noise alike: table of errors]]\n[[networks: table of λ]]", "page")
    made = [tables.TABLES["by_noise"]("alike"), tables.TABLES["networks"]("page")]
    assert filled == "\n".join(made)


def test_an_unknown_marker_is_refused():
    with pytest.raises(KeyError):
        import_module("tables").fill("text\n[[nonsense]]\n", "page")
