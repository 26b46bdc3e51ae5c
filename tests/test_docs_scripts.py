"""The scripts behind the documentation: what they generate is current, and imports go downward."""

import doctest
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from gossamer.cli._compare import compare
from gossamer.experiments import Table
from gossamer.studies import EXPERIMENTS

DOCS = Path(__file__).parent.parent / "docs"
SCRIPTS = sorted(path.stem for path in (DOCS / "scripts").glob("*.py"))


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(DOCS.parent / "benchmarks")
    monkeypatch.syspath_prepend(DOCS / "scripts")
    yield
    for script in SCRIPTS:
        sys.modules.pop(script, None)


@pytest.mark.parametrize("script", [*SCRIPTS, "speeds"])
def test_doctests(script: str):
    assert doctest.testmod(import_module(script), optionflags=doctest.ELLIPSIS).failed == 0


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


def test_no_part_imports_upward_and_the_picture_in_the_docs_is_current():
    imports = import_module("imports")
    found, drawn = imports.imports(), imports.PICTURE.read_text(encoding="utf-8")
    assert imports.upward(found) == []
    assert imports.summary(found) in drawn, "run `python docs/scripts/imports.py`"
    assert imports.draw(found).axes


def test_pictures(tmp_path: Path):
    """One is drawn again; its page shows every one."""
    pictures = import_module("pictures")
    for page, shown in pictures.PAGES.items():
        text = (DOCS / page).read_text(encoding="utf-8")
        for name in shown:
            assert f"images/{name}.svg)" in text
            assert (DOCS / "images" / f"{name}.svg").stat().st_size < 200_000
    assert pictures.draw("normalization", tmp_path).read_text().startswith("<?xml")


@pytest.mark.parametrize("study", ["clip-or-normalize", "bad-networks"])
def test_pictures_of_studies_are_drawn_of_the_stored_results(study: str):
    pictures = import_module("pictures")
    for name in pictures.STUDIES[study]:
        drawn = (DOCS / "images" / f"{name}.svg").read_text(encoding="utf-8")
        assert pictures.digest(study) in drawn, f"run `python docs/scripts/pictures.py {name}`"


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Table]]:
    """Experiment → the tables that the pages find; of all others nothing is stored."""
    gather, pages, found = import_module("gather"), import_module("from_results"), {}

    def gathered(name: str):
        if name not in found:
            raise gather.NotStored(name)
        return gather.Gathered({}, [], found[name], [])

    monkeypatch.setattr(pages, "gathered", gathered)
    return found


NETWORKS = ["ring", "directed exponential", "complete"]


def test_the_transformer_table_shows_what_is_stored(stored: dict[str, list[Table]]):
    columns = ["method", *(f"{n}, {who}" for n in NETWORKS for who in ("printed", "ours"))]
    stored["transformer-table"] = [
        Table("paper", columns, [["GT-NSGDm", "0.258", "1", "0.261", "2", "0.282", "3"]]),
        Table("causal", ["method", *NETWORKS], [["GT-NSGDm", "4", "5", "6"]]),
    ]
    transformer = import_module("from_results").transformer
    shown = transformer("GTNSGDm").replace("\xa0", " ")
    assert "| printed in the paper | 0.258 ± 0.007 | 0.261 ± 0.007 | 0.282 ± 0.009 |" in shown
    assert "| ours, `paper` protocol | 1 | 2 | 3 |" in shown
    assert "| ours, `causal` protocol | 4 | 5 | 6 |" in shown
    assert "| ours, `causal` protocol | still to be run |" in transformer("DSGD")
    assert transformer("NormalizedDSGD") == (
        "The Transformer study of the paper does not include this method."
    )


def test_words_choose_among_the_tables_of_an_experiment(stored: dict[str, list[Table]]):
    stored["all-methods"] = [
        Table("Final errors, nodes alike", ["method"], [["SClip-EF"]]),
        Table("Final errors, nodes different", ["method"], [["DSGD"]]),
    ]
    experiment = import_module("from_results").experiment
    alike = experiment("all-methods Final errors, nodes alike")
    assert "| [SClip-EF](algorithms/SClipEF.md) |" in alike
    assert "DSGD" not in alike
    assert "DSGD" in experiment("all-methods")


def test_a_method_page_shows_all_readings_of_its_method(stored: dict[str, list[Table]]):
    names = ["DSGD", "DSGD-Clip", "DSGD-Clip (shrinking)", "DSGD"]
    rows = [[name, f"lr = {k}, eps = 1"] for k, name in enumerate(names)]
    stored["all-methods"] = [Table("What every search chose", ["method", "tuned to"], rows)]
    measured = import_module("from_results").measured
    shown = measured("DSGDClip").splitlines()[2:]
    assert shown == ["| DSGD-Clip | lr = 1 |", "| DSGD-Clip (shrinking) | lr = 2 |"]
    assert measured("DSGD").splitlines()[2:] == ["| lr = 0 |", "| lr = 3 |"]


def test_the_losses_of_a_method_on_two_corpora():
    losses = {"validation_loss": [[3.0, 3.5], [1.0, 2.0]]}
    units = EXPERIMENTS["modern-table"].units(EXPERIMENTS["modern-table"].sizes["full"], 0)
    results = {unit.name: losses for unit in units}
    cells = import_module("from_results").modern_cells(results, "DSGD-CClip")
    assert cells == ["3.962", "1.500 ± 0.707", "1.725", "1.500 ± 0.707"]


def test_slopes_stand_beside_those_of_the_theorems(stored: dict[str, list[Table]]):
    rows = [
        ["1.2", noise, rule, theorem, f"{noise} {rule}", "", ""]
        for noise in ("mild", "loud", "almost none")
        for rule, theorem in (("p known", "-0.125"), ("p unknown", "-0.083"))
    ]
    columns = ["p", "noise", "rule", "theorem", "slope ± s.e.", "average", "bound"]
    stored["rates"] = [Table("Slopes", columns, rows)]
    known, unknown = (
        " | ".join(f"{n} {r}" for n in ("mild", "loud")) for r in ("p known", "p unknown")
    )
    shown = import_module("from_results").rates("").splitlines()
    assert shown[2] == f"| 1.2 | -0.125 | {known} | -0.083 | {unknown} |"


@pytest.mark.usefixtures("stored")
def test_what_is_not_stored_is_said_with_the_command_that_computes_it():
    fill = import_module("tables").fill
    said = "*Still to be computed: `gossamer run all-methods --size full`.*"
    assert fill("[[measured: table of errors]]", "DSGD") == said
    assert fill("[[experiment all-methods Which: table]]", "choose") == said


def test_the_words_of_a_marker_are_for_readers_of_the_source():
    tables = import_module("tables")
    filled = tables.fill("[[parameters DSGD: table]]\n[[networks: table of λ]]", "page")
    made = [tables.TABLES["parameters"]("DSGD"), tables.TABLES["networks"]("page")]
    assert filled == "\n".join(made)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_every_marker_names_something_that_is_made(page: Path):
    tables, experiments = import_module("tables"), import_module("gather").EXPERIMENTS
    for name, argument, _ in tables.MARKER.findall(page.read_text(encoding="utf-8")):
        assert name in tables.TABLES
        if name in ("experiment", "verdicts"):
            assert argument.split(" ")[0] in experiments


def test_the_answers_of_the_page_on_methods_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Every method with its parameters, network, problem and noise is what the command knows."""
    questions = import_module("questions")
    answers = [*questions.good(), *questions.bad(0), *questions.bad(1)]
    assert len(answers) == 12
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gossamer.cli._compare._draw", lambda *_: None)
    for command in map(questions.command, answers):
        _, _, *options = shlex.split(command.replace("\\\n", ""))
        done = CliRunner().invoke(compare, [*options, "--steps", "2", "--seeds", "1"])
        assert done.exit_code == 0, (command, done.exception)


def test_the_answers_on_one_way_links_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A method without a tracker is refused there; the answer says how it is wrapped."""
    questions = import_module("questions")
    answers = map(questions.answered, [*questions.bad(0), *questions.bad(1)])
    wrapped = [found[1] for text in answers if (found := re.search("`(PushSum.*?)`", text))]
    assert [method.split("(")[1] for method in wrapped] == ["DSGDClip", "SClipEF", "SClipEF"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gossamer.cli._compare._draw", lambda *_: None)
    for method in wrapped:
        options = ["-a", method, "-n", "random_digraph(20, degree=2)", "--steps", "2"]
        done = CliRunner().invoke(compare, options)
        assert done.exit_code == 0, (method, done.exception)


def test_most_results_tell_how_they_were_made():
    provenance = import_module("from_results").provenance
    assert provenance("clip-or-normalize").startswith("All 165 results in `results/full/clip-or-")
    assert provenance("bad-networks").startswith("724 of the 764 results in `results/full/bad-")
    assert "commit `a192e02` with torch 2.11.0+cu130" in provenance("bad-networks")


def test_the_answer_on_characters_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    """As written, but on a short text and for one step of small batches."""
    program = import_module("questions").language("Tiny Shakespeare").partition("```python\n")[2]
    program = program.removesuffix("\n```")
    short = program.replace("steps=1000", "steps=1").replace("stride=32", "stride=32, batch_size=2")
    assert short.count("steps=1,") == short.count("batch_size=2") == 1
    monkeypatch.chdir(tmp_path)
    Path("book.txt").write_text("To be, or not to be?\n" * 100, encoding="utf-8")
    exec(short, {})
    assert re.fullmatch(r"validation loss \d\.\d\d nats per character\n", capsys.readouterr().out)


def test_an_unknown_marker_is_refused():
    with pytest.raises(KeyError):
        import_module("tables").fill("text\n[[nonsense]]\n", "page")
