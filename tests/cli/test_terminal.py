"""On a terminal of 80 columns: whole words, nothing cut, colour only where it is wanted."""

import re
import sys

import pytest

from gossamer.cli import app

CODES = re.compile(r"\x1b\[[0-9;]*m")
COMPARE = "compare -a 'DSGD(1e300)' -a 'GTNSGDm(0.1, 0.5)' -p 'Quadratic(4, 2)' --steps 9"
QUICK = [
    "list",
    "network 'ring(20).drops(0.1).compressed(TopK(0.1))'",
    "plan -n 'ring(4)' -p 'Quadratic(4, 2)' -T 100",
    COMPARE,
    *(f"{name} --help" for name in ("", *app.commands)),
]


@pytest.mark.parametrize("line", QUICK)
def test_every_line_fits(gossamer, monkeypatch, line: str):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = gossamer(line)
    assert (code, err) == (0, "")
    assert [row for row in out.splitlines() if len(row) > 80] == []
    for row in out.splitlines():
        assert row.count("`") % 2 == 0, "a command is broken"
    assert not CODES.search(out)


COMPARE = (
    "compare -a 'DSGD(1e300)' -a 'GTNSGDm(0.1, 0.5)' -n 'ring(4)' -p 'Quadratic(4, 2)' --steps 9"
)


@pytest.mark.parametrize("no_color", ["", "1"])
def test_the_best_is_green_and_failures_are_red(gossamer, monkeypatch, no_color: str):
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda stream, color: color is False)
    out = gossamer(COMPARE).out
    assert ("\x1b[32mGT-NSGDm " in out) == (not no_color)
    assert ("\x1b[31mDSGD " in out) == (not no_color)
    assert "Best: GT-NSGDm" in out
    assert "No other method reached the end." in CODES.sub("", out)


def test_errors_are_wrapped_on_a_terminal_only(gossamer, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert gossamer("network 'rng(3)'").err.count("\n") == 1
    monkeypatch.setattr("gossamer.cli._on_terminal", lambda: True)
    lines = gossamer("network 'rng(3)'").err.splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 80
    assert all(line.startswith("  ") for line in lines[1:])


def test_the_winner_is_named(gossamer):
    line = "compare -a 'GTDSGD(0.1)' -a 'DSGD(0.1)' -n 'ring(4)' -p 'Quadratic(4, 2)' --steps 100"
    said = " ".join(gossamer(f"{line} --noise none").out.split())
    assert "Best: GT-DSGD, with a final error of " in said
    assert "Second is DSGD, with " in said
    assert "their ranges over the seeds do not overlap." in said


def test_a_second_that_is_close_is_told_apart(gossamer):
    line = "compare -a 'DSGD(0.1)' -a 'DSGD(0.1001)' -n 'ring(4)' -p 'Quadratic(4, 2)' --steps 10"
    said = " ".join(gossamer(f"{line} --noise none").out.split())
    found = re.search(r"final error of (\S+)\. Second is (.+), with (\S+);", said)
    best, name, second = found.groups()
    assert float(best) < float(second) < 1.01 * float(best)
    assert name == "DSGD (lr = 0.1)"
