"""Every command of docs/reproduce.md, run in tiny form, or a target of the Makefile."""

import re
from pathlib import Path

import pytest

from gossamer.experiments.experiment import Unit
from gossamer.studies import EXPERIMENTS
from gossamer.studies.synthetic import dependence
from gossamer.studies.theory import claim_1

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for language, block in BLOCKS if not language for line in block.splitlines()]


@pytest.fixture
def _tiny(monkeypatch: pytest.MonkeyPatch):
    """Claim 1 and connectivity with few steps, the rest computed and drawn in no time."""
    monkeypatch.setattr(dependence, "STEPS", 20)
    monkeypatch.setattr(claim_1, "_steps", lambda barrier: 20)
    for name, experiment in EXPERIMENTS.items():
        if name != "claim-1":
            monkeypatch.setattr(experiment, "figures", lambda results: {})
        if name not in {"claim-1", "connectivity"}:
            monkeypatch.setattr(experiment, "units", lambda options: [Unit("tiny", {}, dict)])
            monkeypatch.setattr(experiment, "tables", lambda results: [])
            monkeypatch.setattr(experiment, "verdicts", lambda results: [])


@pytest.mark.usefixtures("_tiny")
def test_every_command_in_the_order_of_the_page(gossamer, tmp_path: Path):
    assert len(COMMANDS) >= 10
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in COMMANDS:
        program, _, arguments = command.partition(" ")
        if program == "make":
            assert re.search(rf"^{arguments}:", makefile, re.MULTILINE)
            continue
        assert program == "gossamer"
        if "cuda" in arguments or arguments.endswith("--out results"):
            continue  # needs a GPU; read by test_our_results_are_read_by_this_code
        shorter = " --steps 3" if arguments.startswith("compare") else ""
        code, _, err = gossamer(arguments + shorter)
        assert (code, err) == (0, ""), command
    for place in ("runs/quick", "runs/full", "runs-seed-1/quick"):
        assert (tmp_path / place / "report.html").is_file()
    assert (tmp_path / "mine.png").is_file()


def test_the_makefile_runs_what_the_page_says():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^reproduce:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert recipe is not None
    commands = [line.strip().removeprefix("$(BIN)/") for line in recipe[1].splitlines()]
    assert commands == ["gossamer run all", "gossamer report"]
    assert all(command in COMMANDS for command in commands)


def test_the_page_names_every_experiment_and_no_other():
    table = re.findall(r"^\| `([a-z0-9-]+)` \|", PAGE, re.MULTILINE)
    assert table == list(EXPERIMENTS)
