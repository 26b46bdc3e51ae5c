"""Every code block of the documentation runs, in order, and prints what the page says.

The language of a block says what happens to it: `python` blocks run, one namespace per page; lines
of `bash` blocks, and of blocks without a language, are commands that run, shortened where they take
long; an `output` block is what the block before it prints; a `text` block is there to be read, and
a `{toctree}` is navigation.
"""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pages
import pytest
import torch

import gossamer as gs
from gossamer.cli import main
from gossamer.report import figures
from gossamer.studies.methods.all_methods import METHODS
from gossamer.watch import Server

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SECTIONS = [
    "Update",
    "Parameters",
    "Guarantees",
    "Where we deviate from the original",
    "Our numbers",
]
SET_UP = ["python3 -m venv env", "source env/bin/activate", "pip install ."]
"""What the README asks for before anything runs; `make test` does the same."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Pages write into an empty folder, draw nowhere, and register nothing for good."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    known = dict(gs.ALGORITHMS)
    yield
    gs.ALGORITHMS.clear()
    gs.ALGORITHMS.update(known)


def code_pages() -> list[Path]:
    """Pages with code; that of extend.md has a test of its own, which looks at what it made."""
    return [p for p in PAGES if any(pages.blocks(p)) and p.name != "extend.md"]


@pytest.mark.slow
@pytest.mark.parametrize("page", code_pages(), ids=name)
def test_page(page: Path):
    pages.run(page)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=name)
def test_languages(page: Path):
    assert {b.language for b in pages.fenced(page)} <= {"", "python", "bash", "text", "{toctree}"}


def shell_pages() -> list[Path]:
    """Pages with commands; those of reproduce.md have a test of their own, in their order."""
    every = [ROOT / "README.md", *PAGES]
    return [p for p in every if any(pages.commands(p)) and p.name != "reproduce.md"]


@pytest.mark.slow
@pytest.mark.parametrize("page", shell_pages(), ids=name)
def test_commands(page: Path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(figures, "FORMATS", ())  # drawing takes long; tests/cli looks at the files
    monkeypatch.setattr(Server, "serve_forever", lambda self: None)  # else until Ctrl-C
    vectors = gs.StudentT(df=1.5).sample((500, 3), generator=torch.Generator().manual_seed(0))
    np.save("noise.npy", vectors.numpy())
    np.savetxt("norms.csv", vectors.norm(dim=1).numpy())
    elsewhere = [c.line for c in pages.commands(DOCS / "reproduce.md")]
    lines = [command.line for command in pages.commands(page)]
    for line, output in pages.commands(page):
        if output is None and any(longer.startswith(f"{line} ") for longer in lines):
            continue  # it runs with more options
        program, *arguments = shlex.split(line)
        if line in SET_UP or line in elsewhere or program == "torchrun":
            continue  # torchrun: tests/distributed/test_pages.py
        if program == "make":
            assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
            continue
        assert program == "gossamer", line
        _gossamer(arguments, output is not None, monkeypatch)
        pages.compare(f"{page.name}: {line}", capsys.readouterr().out, output)


def _gossamer(arguments: list[str], as_printed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command, shortened unless the page prints what it answers; it must succeed."""
    shorter = {"compare": ["--steps", "3"], "train": ["--processes", "1", "--steps", "2"]}
    extra = [] if as_printed else shorter.get(arguments[0], [])
    monkeypatch.setattr(sys, "argv", ["gossamer", *arguments, *extra])
    code = 0
    try:
        main()
    except SystemExit as leave:
        code = leave.code
    assert not code, arguments


def test_every_method_has_its_page_in_the_fixed_sections():
    found = {page.stem: page for page in (DOCS / "algorithms").glob("*.md")}
    assert set(found) - {"index", "PushSum"} == set(gs.ALGORITHMS)
    for method in gs.ALGORITHMS:
        text = found[method].read_text(encoding="utf-8")
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS, method
        of_the_paper = method in {kind.__name__ for kind, _ in METHODS.values()}
        studies = ("measured", "transformer") if of_the_paper else ()
        for generated in ("update", "parameters", *studies):
            assert f"\n[[{generated}: " in text, f"{method}: {generated}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_source_says_in_words_what_the_site_generates(page: Path):
    """Whoever reads a page without building the site knows what is missing, and where it is."""
    text = page.read_text(encoding="utf-8")
    for marker in re.findall(r"^\[\[(.*)\]\]$", text, re.MULTILINE):
        assert len(marker.partition(": ")[2].split()) > 3, marker


@pytest.mark.slow
def test_a_method_costs_its_file_one_line_and_one_row():
    """The page runs; its method passes the contract, which notices when the method is wrong."""
    from algorithms.contract import CONTRACT, check
    from algorithms.table import Row

    page = pages.run(DOCS / "extend.md")
    assert gs.ALGORITHMS["SignDSGDm"] is page["SignDSGDm"]

    class Wrong(page["SignDSGDm"]):
        def step(self, t, x, grad, state, mix):
            return super().step(t, x, 1.01 * grad + 0.1, state, mix)

    wrong = Row(
        Wrong(lr=0.1, momentum=0.8), page["sign_dsgdm"], page["row"].update, page["row"].feed
    )
    assert len(CONTRACT) >= 10
    with pytest.raises(AssertionError):
        check(wrong)


def test_what_one_adds_needs_public_names_only():
    """Imports from the parts themselves, and no name with an underscore."""
    code = "".join(block.code for block in pages.blocks(DOCS / "extend.md"))
    modules = re.findall(r"^from (gossamer\S*) import", code, re.MULTILINE)
    assert {module.count(".") for module in modules} == {1}, modules
    assert not re.search(r"\bdef _\w*[a-z]\(|import .*\b_\w", code.replace("__post_init__", ""))


def test_the_executor_compares(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1.25)\n```\n\n```output\n1.2...\n```\n")
    pages.run(page)
    page.write_text("```python\nx = 3\n```\ntext\n```python\nprint(x)\n```\n\n```output\n4\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md, line 5 prints\n3"):
        pages.run(page)
    page.write_text("```bash\nrm -rf x\n```\n\n```python\nraise KeyError\n```\n")
    with pytest.raises(KeyError):
        pages.run(page)


def test_the_executor_reads_commands(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("```bash\na 1 \\\n  2  # why\nb && c\n```\n\n```\nd\n```\n```output\nD\n```\n")
    expected = [("a 1    2", None), ("b", None), ("c", None), ("d", "D\n")]
    assert list(pages.commands(page)) == expected
