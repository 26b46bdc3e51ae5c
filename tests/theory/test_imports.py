import ast
from pathlib import Path

import pytest

import gossamer.theory

FILES = sorted(Path(gossamer.theory.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_theory_needs_no_simulator(file: Path):
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    imported = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    above = ("gossamer.simulation", "gossamer.experiments", "gossamer.studies", "gossamer.cli")
    assert not [name for name in imported if name.startswith(above)]
