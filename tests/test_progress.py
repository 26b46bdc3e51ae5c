"""A bar on terminals, silence elsewhere."""

import io
import sys

import pytest

import gossamer as gs
from gossamer.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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
