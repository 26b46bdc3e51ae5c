"""A bar on terminals, silence elsewhere."""

import io
import re
import sys

import pytest
from processes import context

import gossamer as gs
from gossamer import executors
from gossamer.cli.terminal import say
from gossamer.progress import SCREEN, Part, is_shown, progress, several, tell
from gossamer.simulation import live


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Screen(io.TextIOWrapper):
    """A terminal of bytes, as those of processes are."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()


@pytest.mark.parametrize(
    ("stderr", "show", "drawn"),
    [
        (io.StringIO, None, False),
        (io.StringIO, True, True),
        (Terminal, None, True),
        (Terminal, False, False),
    ],
)
def test_where_the_bar_is_drawn(monkeypatch: pytest.MonkeyPatch, stderr, show, drawn: bool):
    screen = stderr()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress("simulating", total=3, show=show) as advance:
        advance(3)
    assert ("simulating" in screen.getvalue()) == drawn


def test_what_is_said_meanwhile_stands_above_the_bar(monkeypatch: pytest.MonkeyPatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", screen)
    with progress("simulating", total=2) as advance:
        advance(1)
        SCREEN._bars.refresh()
        say("one line")
    assert "\x1b[2Kone line\n" in screen.shown


def test_what_is_printed_meanwhile_goes_to_its_file(monkeypatch: pytest.MonkeyPatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stdout", file)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress("simulating", total=2):
        print("one line")
    assert file.getvalue() == "one line\n"


def test_a_simulation_is_silent_away_from_terminals(capfd: pytest.CaptureFixture[str]):
    gs.simulate(gs.DSGD(lr=0.1), gs.Quadratic(3, 2), gs.ring(3), steps=20)
    assert capfd.readouterr() == ("", "")


def test_every_step_of_every_run_is_counted(monkeypatch: pytest.MonkeyPatch):
    from contextlib import contextmanager

    from gossamer.simulation import runner

    counts = []

    @contextmanager
    def counting(description: str, total: int, show: bool | None):
        counts.append(-total)
        yield counts.append

    monkeypatch.setattr(runner, "progress_bar", counting)
    gs.simulate(gs.DSGD(lr=1e200), gs.Quadratic(3, 2), gs.ring(3), steps=25, seeds=range(4))
    assert counts[0] == -100
    assert sum(counts) == 0


def shares(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """What the bar shows from now on: words, and how much of the whole is done."""
    seen: list[tuple[str, float]] = []

    def draw(part):
        whole, *inner = part.path
        seen.append((" ".join(each.name for each in inner), round(whole.done, 3)))

    monkeypatch.setattr(SCREEN, "draw", draw)
    return seen


def test_parts_move_the_bar_of_the_whole(monkeypatch: pytest.MonkeyPatch):
    """Known parts have equal shares; of unknown ones each has a third of what is left."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    seen = shares(monkeypatch)
    with several("study", 2) as one:
        with one("first"):
            for _ in range(2):
                with progress("run", total=10) as advance:
                    advance(5)
                    advance(5)
        with one("second"):
            pass
    assert [share for words, share in seen if words == "first run"] == pytest.approx(
        [1 / 12, 1 / 6, 1 / 6, 1 / 6 + 1 / 18, 1 / 6 + 1 / 9, 1 / 6 + 1 / 9], abs=1e-3
    )
    assert seen[-3:] == [("first", 0.5), ("second", 1.0), ("", 1.0)]
    assert not is_shown()


def test_threads_share_a_bar_and_the_best_settings_are_shown(monkeypatch: pytest.MonkeyPatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(executors, "get_context", lambda method: context)  # has imported torch
    draw = SCREEN.draw

    def draw_at_once(part: Part) -> None:
        """Ten frames a second miss a fast run."""
        draw(part)
        SCREEN._bars.refresh()

    monkeypatch.setattr(SCREEN, "draw", draw_at_once)
    with gs.Workers(1) as workers:
        monkeypatch.setattr(live, "SECONDS", 0.0)
        task = {"problem": gs.Quadratic(3, 2), "network": gs.ring(3), "steps": 50}
        gs.compare([gs.DSGD, gs.GTDSGD(lr=0.1)], **task, executor=workers)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "DSGD: best of 13 settings  step" in shown
    assert "lowest error " in shown
    assert re.search(r"\rDSGD +━", shown)
    assert max(map(len, re.split(r"[\r\n]", shown))) <= 80
    assert SCREEN._bars is None


def test_what_is_told_away_from_terminals_goes_nowhere(capfd: pytest.CaptureFixture[str]):
    with progress("quiet", total=1) as advance:
        tell("error 0.1", ["head", "best"])
        advance(1)
    assert capfd.readouterr() == ("", "")
