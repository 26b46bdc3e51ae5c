"""The command line as a whole: help that teaches, exit codes, one line for bad input."""

import os
import re
import subprocess
import sys

import click
import pytest

import gossamer as gs
from gossamer.cli import app
from gossamer.train import launcher

COMMANDS = sorted(app.commands)


def test_alone_it_shows_the_help(gossamer):
    code, out, err = gossamer("")
    assert (code, err) == (0, "")
    assert out == gossamer("--help").out == gossamer("-h").out
    assert "A first tour:" in out
    assert all(f"\n  {name} " in out for name in COMMANDS)
    assert len(out.splitlines()) > 15


def test_version(gossamer):
    assert gossamer("--version").out == f"gossamer, version {gs.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_shows_an_example_that_is_one(gossamer, name: str):
    context = click.Context(app.commands[name], info_name=f"gossamer {name}")
    shown = app.commands[name].get_help(context)  # `train --help` is that of its script
    assert len(re.findall(rf"^\s+gossamer {name}\b", shown, re.MULTILINE)) >= 2
    code, out, err = gossamer(f"{name} --help")
    assert (code, err) == (0, "")
    assert "--" in out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rnu", "command: got 'rnu', need one of list, "),
        ("--frobnicate", "No such option"),
        ("run", "Missing argument 'NAMES...'"),
        ("network", "Missing argument 'NETWORK"),
        ("compare", "Missing option '--algorithm'"),
        ("plan --noise 'StudentT('", "cannot read"),
        ("plan --noise 'StudentT(1.5)' --figure plan", "ends in one of .png, .svg, .pdf"),
        ("tails nowhere.npy", "nowhere.npy"),
        ("train --processes 0", "processes: got 0, need an integer of at least 1"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(refused, line: str, words: str):
    assert words in refused(line)


@pytest.mark.parametrize(
    ("reason", "code", "words"),
    [
        (
            KeyboardInterrupt(),
            130,
            "interrupted; what was stored is kept, and the same command goes on from there",
        ),
        (OSError(28, "No space left on device", "runs/x"), 2, "runs/x (No space left on device)"),
        (gs.InvalidInput("one\n  two"), 2, "gossamer: one two\n"),
        (click.UsageError("what\nnow"), 2, "gossamer: what now\n"),
    ],
)
def test_every_end_has_its_code(gossamer, monkeypatch, reason, code: int, words: str):
    def end(*arguments, **options):
        raise reason

    monkeypatch.setattr(app.commands["list"], "callback", end)
    answer = gossamer("list")
    assert answer.code == code
    assert words in answer.err
    assert answer.err.strip().count("\n") == 0


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("", "nothing was stored; with --checkpoints FOLDER the same command would go on"),
        ("--checkpoints runs", "what was stored is kept, and the same command goes on from there"),
    ],
)
def test_an_interrupted_training_says_whether_it_goes_on(gossamer, monkeypatch, option, words):
    def end(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(launcher, "launch", end)
    answer = gossamer(f"train --data blobs --lr 0.1 --momentum 0.8 {option}")
    assert (answer.code, answer.out) == (130, "")
    assert answer.err.startswith(f"\ngossamer: interrupted; {words}")


def test_a_mistake_of_ours_is_not_hidden(gossamer, monkeypatch):
    def bug(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(app.commands["list"], "callback", bug)
    with pytest.raises(ZeroDivisionError):
        gossamer("list")


LINES = ["network ring(4)", "list", "compare -a DSGD(-1)"]
IN_TURN = """
import sys
from gossamer.cli import main
for line in sys.argv[1:]:
    sys.argv = ["gossamer", *line.split()]
    main()
    print("\\nnext", flush=True)
"""


def test_as_a_process_on_a_terminal_without_greek_letters():
    """Exit code and streams as a shell sees them; what cannot be shown is a question mark."""
    command = [sys.executable, "-c", IN_TURN, *LINES]
    latin = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    answer = subprocess.run(command, capture_output=True, timeout=60, check=False, env=latin)
    network, listed, nothing = answer.stdout.split(b"\nnext\n")
    assert b"?" in network
    assert b"?" in listed
    assert (nothing, answer.returncode) == (b"", 2)
    assert re.fullmatch(rb"gossamer: lr: got -1, need .*\?.*\n", answer.stderr)
