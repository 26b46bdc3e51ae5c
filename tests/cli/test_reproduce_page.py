"""Every command of docs/reproduce.md, run in tiny form, or a target of the Makefile."""

import re
from pathlib import Path

import pytest

from gossamer.studies import EXPERIMENTS

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for language, block in BLOCKS if not language for line in block.splitlines()]


@pytest.mark.slow
def test_every_command_in_the_order_of_the_page(gossamer, tmp_path: Path):
    """As it stands there, but at the size "test", and once where only the size differs."""
    assert len(COMMANDS) >= 10
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in dict.fromkeys(command.replace(" --size full", "") for command in COMMANDS):
        program, _, arguments = command.partition(" ")
        if program == "make":
            assert re.search(rf"^{arguments}:", makefile, re.MULTILINE)
            continue
        assert program == "gossamer"
        if "language" in arguments or arguments.endswith("--out results"):
            continue  # run in tests/studies/language; read in tests/studies/test_every_study.py
        code, _, err = gossamer(f"{arguments} --size test")
        assert (code, err) == (0, ""), command
    for place in ("runs", "runs-seed-1"):
        assert (tmp_path / place / "test" / "report.html").is_file()


def test_the_makefile_runs_what_the_page_says():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^reproduce:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert recipe is not None
    commands = [line.strip().removeprefix("$(BIN)/") for line in recipe[1].splitlines()]
    assert commands == ["gossamer run synthetic theory", "gossamer report"]
    assert all(command in COMMANDS for command in commands)


def test_the_page_names_every_experiment_and_no_other():
    table = re.findall(r"^\| `([a-z0-9-]+)` \|", PAGE, re.MULTILINE)
    assert table == list(EXPERIMENTS)
