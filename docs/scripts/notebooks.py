"""The notebooks: `python docs/scripts/notebooks.py` runs them and stores what they show.

    python docs/scripts/notebooks.py                  all of docs/notebooks
    python docs/scripts/notebooks.py first_steps      one of them

Cells run in this process, each notebook in a namespace of its own, and show what they show in
Jupyter: what is printed, the last expression, and figures, which are SVG for light and dark pages.
"""

import ast
import contextlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt

from gossamer.plots import style
from gossamer.svg import for_both

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

Output = dict[str, Any]


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """In their order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


class Shown(NamedTuple):
    """What a cell shows, beside figures."""

    printed: str
    last: Any
    """The value of the last expression; None where there is none or a semicolon follows it."""

    @property
    def text(self) -> str:
        """As a terminal would show it."""
        return self.printed + ("" if self.last is None else repr(self.last))


def run(notebook: dict[str, Any]) -> Iterator[Shown]:
    """Run the code cells from top to bottom."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in code_cells(notebook):
        plt.close("all")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            last = _execute("".join(cell["source"]), namespace)
        yield Shown(printed.getvalue(), last)


def _execute(source: str, namespace: dict[str, Any]) -> Any:
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "<cell>", "exec"), namespace)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), "<cell>", "exec"), namespace)
    value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)
    return None if source.rstrip().endswith(";") else value


def _stream(text: str) -> list[Output]:
    return [{"name": "stdout", "output_type": "stream", "text": _lines(text)}] if text else []


def _result(value: Any, count: int) -> list[Output]:
    if value is None:
        return []
    data = {"text/plain": _lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = _lines(value._repr_html_())
    kind = {"output_type": "execute_result", "execution_count": count}
    return [kind | {"data": data, "metadata": {}}]


def _figures() -> list[Output]:
    """Those that are open."""
    with style():
        drawn = [for_both(plt.figure(number)) for number in plt.get_fignums()]
    return [
        {"output_type": "display_data", "data": {"image/svg+xml": _lines(svg)}, "metadata": {}}
        for svg in drawn
    ]


def stored_text(cell: dict[str, Any]) -> str:
    """What `Shown.text` was when the cell was stored."""
    parts = [one.get("text") or one["data"].get("text/plain", []) for one in cell["outputs"]]
    return "".join(line for part in parts for line in part)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def read(path: Path) -> dict[str, Any]:
    """A notebook as its file has it."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def store(path: Path) -> None:
    """Run a notebook and write it with what it shows."""
    notebook = read(path)
    for count, (cell, shown) in enumerate(zip(code_cells(notebook), run(notebook), strict=True), 1):
        outputs = [*_stream(shown.printed), *_result(shown.last, count), *_figures()]
        cell |= {"execution_count": count, "outputs": outputs}
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    for chosen in [FOLDER / f"{name}.ipynb" for name in sys.argv[1:]] or NOTEBOOKS:
        store(chosen)
        print(chosen)
