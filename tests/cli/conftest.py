"""The command line as a user has it: arguments in; exit code, output and errors out."""

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import gossamer as gs
from gossamer import own_names, user_file
from gossamer.algorithms import MAKERS
from gossamer.cli import main
from gossamer.report import figures
from gossamer.studies import EXPERIMENTS

TABLES: tuple[dict[Any, Any], ...] = (
    gs.ALGORITHMS,
    MAKERS,
    gs.PROBLEMS,
    gs.NETWORKS,
    gs.NOISES,
    EXPERIMENTS,
    own_names.OWN_METRICS,
    user_file.LOADED,
)


@pytest.fixture(autouse=True)
def _imports_are_forgotten(tmp_path: Path) -> Iterator[None]:
    path, before, read = list(sys.path), [dict(table) for table in TABLES], set(own_names._read)
    yield
    for table, known in zip(TABLES, before, strict=True):
        table.clear()
        table.update(known)
    own_names._read &= read
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


class Answer(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def formats() -> tuple[str, ...]:
    """In which figures are written: in none, since drawing takes long, unless a test asks."""
    return ()


@pytest.fixture
def gossamer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    formats: tuple[str, ...],
) -> Callable[..., Answer]:
    """Type a line, in an empty folder; anything but an exit fails the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(figures, "FORMATS", formats)
    monkeypatch.setenv("COLUMNS", "120")

    def type_in(line: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["gossamer", *shlex.split(line)])
        code = 0
        try:
            main()
        except SystemExit as leave:
            code = int(leave.code or 0)
        return Answer(code, *capsys.readouterr())

    return type_in


@pytest.fixture
def refused(gossamer: Callable[..., Answer], tmp_path: Path) -> Callable[[str], str]:
    """Type a line that must end in one line of error and exit code 2, and change no file."""

    def files() -> dict[Path, bytes | None]:
        found = sorted(path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts)
        return {path: path.read_bytes() if path.is_file() else None for path in found}

    def type_in(line: str) -> str:
        before = files()
        code, _, err = gossamer(line)
        assert code == 2, err
        assert err.startswith("gossamer: ")
        assert err.count("\n") == 1, "not one line"
        assert "Traceback" not in err
        assert files() == before, "something was written"
        return err

    return type_in
