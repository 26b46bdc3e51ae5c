"""Steps in C are the steps as they are written."""

import pytest
import torch
from algorithms.table import TABLE, Row
from native.both import SEEDS, STEPS, quadratic, simulate_both

import gossamer as gs
from gossamer.native import build, emit, loop

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="this machine has no C compiler")

PLAIN = [row for row in TABLE if not row.algorithm.asks_local or row.algorithm.asks_shapes_only]


@pytest.mark.parametrize("row", PLAIN, ids=str)
def test_every_method_takes_its_steps(monkeypatch, row: Row):
    as_written, in_c, taken = simulate_both(
        monkeypatch, row.algorithm, quadratic(), noise=gs.StudentT(1.5, scale=0.1)
    )
    assert taken
    torch.testing.assert_close(in_c.x, as_written.x, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("seeds", [[3], SEEDS])
def test_alone_and_side_by_side(monkeypatch, seeds: list[int], dtype: torch.dtype):
    method = gs.GTNSGDm(lr=0.05, momentum=0.8)
    given = {"noise": gs.StudentT(1.5, scale=0.1), "seeds": seeds, "dtype": dtype}
    as_written, in_c, taken = simulate_both(monkeypatch, method, quadratic(), **given)
    assert taken
    allowed = 1e-4 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(in_c.x, as_written.x, rtol=0, atol=allowed)
    torch.testing.assert_close(
        in_c.metrics["error"], as_written.metrics["error"], rtol=0, atol=allowed
    )


def samples(dim: int = 5) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=generator)  # noqa: E731
    return [(draw(m, dim), draw(m).sign()) for m in (7, 4, 9)]


PROBLEMS = {
    "RobustRegression": gs.RobustRegression(3, num_samples=40),
    "RobustRegression, not aligned": gs.RobustRegression(3, num_samples=40, dim=7),
    "LeastSquares": gs.LeastSquares(samples(), penalty=gs.L2Penalty(0.1)),
    "LogisticRegression": gs.LogisticRegression(samples()),
    "Quadratic": quadratic(3, 4),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems(monkeypatch, name: str):
    method = gs.GTDSGD(lr=0.02)
    as_written, in_c, taken = simulate_both(monkeypatch, method, PROBLEMS[name])
    assert taken
    torch.testing.assert_close(in_c.x, as_written.x, rtol=1e-12, atol=1e-12)


def test_noise_that_grows_with_the_gradient(monkeypatch):
    noise = gs.StudentT(1.5, scale=0.1).growing(0.5)
    given = (monkeypatch, gs.DSGD(lr=0.05), quadratic())
    as_written, in_c, taken = simulate_both(*given, noise=noise)
    assert taken
    torch.testing.assert_close(in_c.x, as_written.x, rtol=1e-12, atol=1e-12)


def test_schedules_and_stacked_numbers(monkeypatch):
    schedule = gs.Linear(torch.tensor([[0.1], [0.05], [0.02]]), STEPS)
    method = gs.DSGDGClip(lr=schedule, clip=torch.tensor([[1.0], [2.0], [3.0]]))
    as_written, in_c, taken = simulate_both(monkeypatch, method, quadratic())
    assert taken
    torch.testing.assert_close(in_c.x, as_written.x, rtol=1e-12, atol=1e-12)


def test_runs_that_diverge_leave_at_the_same_step(monkeypatch):
    method = gs.DSGD(lr=torch.tensor([[0.01], [1e20], [1e60]], dtype=torch.float64))
    as_written, in_c, taken = simulate_both(monkeypatch, method, quadratic())
    assert taken
    assert in_c.diverged_at.tolist() == as_written.diverged_at.tolist()
    assert in_c.diverged_at[0] == -1
    assert in_c.diverged_at[1] > in_c.diverged_at[2] > 0


NOT_IN_C = {
    "batches": (gs.DSGD(lr=0.1), gs.LeastSquares(samples(), batch_size=2), gs.ring(3)),
    "lost messages": (gs.GTDSGD(lr=0.1), quadratic(3), gs.ring(3).drops(0.1)),
    "rounds that differ": (gs.DSGD(lr=0.1), quadratic(4), gs.one_peer_exponential(4)),
    "a second gradient": (gs.GTNSTORM(lr=0.1, momentum=0.8), quadratic(3), gs.ring(3)),
}


def in_c(method: gs.Algorithm, problem: gs.Problem, network: gs.Network, steps: int = 3) -> bool:
    """Whether a run, which must end well, took its steps in C."""
    run = gs.simulate(method, problem, network, steps=steps, record_every=steps)
    assert run.steps_taken.tolist() == [steps]
    return run.config["in_c"]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for every program that was compared with the steps as they are written."""
    programs: list[int] = []
    agrees = loop.agrees
    monkeypatch.setattr(loop, "agrees", lambda *a: programs.append(len(programs)) or agrees(*a))
    return programs


@pytest.mark.parametrize("what", NOT_IN_C)
def test_what_is_not_written_in_c(always, compared, what: str):
    assert not in_c(*NOT_IN_C[what])
    assert compared == []


def test_an_unknown_operation_or_no_compiler_is_no_error(always, compared, monkeypatch):
    problem = gs.FunctionProblem(_bessel, [torch.ones(2)] * 3, dim=2)
    assert not in_c(gs.DSGD(lr=0.1), problem, gs.ring(3))
    monkeypatch.setattr(loop, "compiler", lambda: None)
    assert not in_c(gs.DSGD(lr=0.1), quadratic(3), gs.ring(3))
    assert compared == []


def _bessel(x: torch.Tensor, data: torch.Tensor) -> torch.Tensor:
    return torch.special.i0(x * data).sum()


def test_a_program_that_does_not_agree_is_not_used(always, compared, monkeypatch):
    given = (gs.DSGD(lr=0.1), quadratic(3), gs.ring(3))
    assert in_c(*given)
    monkeypatch.setattr(loop, "agrees", lambda *_: compared.append(-1))
    assert not in_c(*given)
    assert compared == [0, -1]


@pytest.mark.parametrize(("where", "limit"), [(loop, "SCRATCH_BYTES"), (emit, "DATA_BYTES")])
def test_what_no_cache_holds_is_not_written_in_c(always, monkeypatch, where, limit: str):
    given = (gs.DSGD(lr=0.1), gs.LeastSquares(samples()), gs.ring(3))
    assert in_c(*given)
    monkeypatch.setattr(where, limit, 200)
    assert not in_c(*given)


def test_short_runs_are_not_compiled(compared):
    assert not in_c(gs.DSGD(lr=0.1), quadratic(3), gs.ring(3), steps=1000)
    assert compared == []
