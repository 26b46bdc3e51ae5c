"""The same runs twice, as they are written and in C."""

from typing import Any

import pytest

import gossamer as gs
from gossamer.native import loop
from gossamer.simulation import simulation as simulations

SEEDS, STEPS = [3, 4, 3], 37


def simulate_both(
    monkeypatch: pytest.MonkeyPatch, method: gs.Algorithm[Any], problem: gs.Problem, **given: Any
) -> tuple[gs.Run, gs.Run, bool]:
    """As written, in C, and whether the second was more than the first again."""
    taken = []
    advance = loop.NativeLoop.advance
    monkeypatch.setattr(
        loop.NativeLoop,
        "advance",
        lambda self, t, *rest: taken.append(t) or advance(self, t, *rest),
    )
    task = {"network": gs.ring(problem.num_nodes), "steps": STEPS, "seeds": SEEDS}
    task = task | {"record_every": 8} | given
    monkeypatch.setattr(simulations, "COMPILE_SECONDS", float("inf"))
    as_written = gs.simulate(method, problem, **task)
    assert not taken
    monkeypatch.setattr(simulations, "COMPILE_SECONDS", 0.0)
    in_c = gs.simulate(method, problem, **task)
    assert not as_written.config["in_c"]
    return as_written, in_c, in_c.config["in_c"] and len(taken) > 1


def quadratic(nodes: int = 5, dim: int = 6) -> gs.Quadratic:
    return gs.Quadratic(nodes, dim, spread=2.0)
