"""Every ```python block of the documentation runs, in order, and prints what the page says.

What must be printed stands in an ```output block right after it. A fragment that cannot run by
itself is marked ```python fragment.
"""

from pathlib import Path

import markdown
import pytest

import gossamer as gs

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if any(markdown.blocks(page)))


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Pages write into an empty folder, draw nowhere, and register nothing for good."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    known = dict(gs.ALGORITHMS)
    yield
    gs.ALGORITHMS.clear()
    gs.ALGORITHMS.update(known)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page: Path):
    markdown.run(page)


def test_a_method_costs_its_file_one_line_and_one_row():
    """The page's method passes the contract, which notices when the method is wrong."""
    from algorithms.contract import CONTRACT, check
    from algorithms.table import Row

    page = markdown.run(DOCS / "extend.md")
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


def test_the_executor_compares(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1.25)\n```\n\n```output\n1.2...\n```\n")
    markdown.run(page)
    page.write_text("```python\nx = 3\n```\ntext\n```python\nprint(x)\n```\n\n```output\n4\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md, line 5 prints\n3"):
        markdown.run(page)
    page.write_text("```bash\nrm -rf x\n```\n\n```python\nraise KeyError\n```\n")
    with pytest.raises(KeyError):
        markdown.run(page)
