"""Processes are started together, restarted together, and never left behind."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from processes import context, hear_ctrl_c

from gossamer.train.launcher import launch

NEVER = lambda: False  # noqa: E731


def worker(text: str) -> list[str]:
    return [sys.executable, "-c", f"import os, sys, time; rank = os.environ['RANK']\n{text}"]


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def test_all_are_told_who_they_are(tmp_path):
    names = "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "TORCHELASTIC_RESTART_COUNT"
    text = f"open('{tmp_path}/' + rank, 'w').write(' '.join(os.environ[n] for n in {names}))"
    assert launch(worker(text), 2, 0, {}, False, NEVER) == 0
    assert (tmp_path / "1").read_text() == "1 1 2 127.0.0.1 0"


def test_when_one_dies_all_are_started_again(tmp_path, capfd):
    text = f"""
first = os.environ['TORCHELASTIC_RESTART_COUNT'] == '0'
if first and rank == '1': os.kill(os.getpid(), 9)
if first: time.sleep(60)
open('{tmp_path}/' + rank, 'w')"""
    assert launch(worker(text), 2, 1, {}, False, NEVER) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]
    said = capfd.readouterr().err
    assert "Rank 1 ended with SIGKILL." in said
    assert "Starting again, 1 of 1." in said


@pytest.mark.parametrize(("survivor", "status"), [("0", 0), ("3", 3)])
def test_those_who_shall_outlive_the_others_do(survivor, status):
    text = f"os.kill(os.getpid(), 9) if rank == '1' else (time.sleep(0.3), sys.exit({survivor}))"
    assert launch(worker(text), 2, 0, {}, True, NEVER) == status


def test_a_refusal_ends_all_and_is_not_repeated(tmp_path):
    text = f"open('{tmp_path}/said', 'w'); time.sleep(60 * (rank == '1'))"
    begin = time.monotonic()
    launch(worker(text), 2, 5, {}, False, (tmp_path / "said").exists)
    assert time.monotonic() - begin < 20


def test_the_cursor_comes_back_that_a_killed_bar_has_hidden(monkeypatch, capfd):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    launch(worker("os.kill(os.getpid(), 9)"), 1, 0, {}, False, NEVER)
    assert "\x1b[?25h" in capfd.readouterr().err


def launch_quietly(text: str) -> None:
    hear_ctrl_c()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    launch(worker(text), 2, 0, {}, False, NEVER)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_launcher(tmp_path, number):
    """However early it is told to end: here, as soon as both have written who they are."""
    text = f"open('{tmp_path}/' + rank, 'w').write(str(os.getpid())); time.sleep(60)"
    launcher = context.Process(target=launch_quietly, args=(text,))
    launcher.start()
    try:
        deadline = time.monotonic() + 40
        files = [tmp_path / "0", tmp_path / "1"]
        while not all(f.exists() and f.read_text() for f in files) and time.monotonic() < deadline:
            time.sleep(0.02)
        pids = [int(file.read_text()) for file in files]
        assert all(map(alive, pids))
        os.kill(launcher.pid, number)
        while any(map(alive, pids)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not any(map(alive, pids))
        launcher.join(20)
        assert launcher.exitcode not in (None, 0)
    finally:
        launcher.kill()
        launcher.join()
