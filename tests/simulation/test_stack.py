"""The one loop: runs in a stack are runs alone, and divergence is found, dated and contained."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
import torch
from algorithms.table import REPRESENTATIVE, TABLE, Row
from torch import Tensor

import gossamer as gs
from gossamer.simulation import simulation as simulation_module

NODES, DIM, STEPS = 6, 4, 40
PROBLEM = gs.Quadratic(NODES, DIM, condition=5.0, seed=3)
HEAVY = gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)
NETWORKS = [gs.ring(NODES), gs.one_peer_exponential(NODES)]


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def scaled(row: Row, factor: float) -> gs.Algorithm:
    values = {**row.algorithm.hyperparameters, "lr": row.algorithm.lr * factor}
    return type(row.algorithm)(**values)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_a_run_in_a_sweep_is_the_run_alone(row: Row):
    """On rounds that differ, where the method is not refused there; on all networks in networks."""
    network = NETWORKS[0 if row.algorithm.needs_symmetric else 1]
    h, seeds, factors = row.algorithm.hyperparameters, [7, 0, -3], (1, 1 / 3, 1 / 9)
    grid = {**{k: [v] for k, v in h.items()}, "lr": [h["lr"] * factor for factor in factors]}
    common = {"problem": PROBLEM, "network": network, "noise": HEAVY, "steps": STEPS}
    swept = gs.sweep(type(row.algorithm), grid, seeds=seeds, **common)
    for index, place in ((0, 2), (2, 1)):
        alone = gs.simulate(scaled(row, factors[index]), seeds=seeds[place], **common)
        close(swept.runs(index).x[:, place], alone.x[:, 0])
        close(swept.metrics["error"][:, index, place], alone.metrics["error"][:, 0])


@pytest.mark.parametrize("row", REPRESENTATIVE, ids=str)
def test_same_seed_same_bits(row: Row):
    first, again = (
        gs.simulate(row.algorithm, PROBLEM, NETWORKS[0], noise=HEAVY, steps=50, seeds=range(3))
        for _ in range(2)
    )
    assert torch.equal(first.x, again.x)
    assert all(torch.equal(first.metrics[k], again.metrics[k]) for k in first.metrics)
    assert not torch.equal(first.x[:, 0], first.x[:, 1])


def test_the_loop_is_gradient_plus_noise_then_a_step():
    """Against the algorithm, the problem and the noise called by hand, on a changing network."""
    method, network = gs.GTNSGDm(lr=0.05, momentum=0.7), NETWORKS[1]
    stack = gs.Stack(method, PROBLEM, network, HEAVY, [4])
    generator = stack._noise._generators[0].clone_state()
    x = PROBLEM.start.expand(NODES, 1, DIM).contiguous()
    state = method.init(x)
    for start in range(0, 96, 32):
        noise = HEAVY.sample((32, NODES, DIM), generator=generator)
        for t in range(start, start + 32):
            grad = PROBLEM.local_grad(x) + noise[t - start][:, None]
            x, state = method.step(t, x, grad, state, network.at(t).mixer())
        stack.advance(32)
        assert torch.equal(stack.x, x)
        assert torch.equal(stack.state.y, state.y)


@pytest.mark.parametrize("runs_at_once", [1, 2, 4, 100])
def test_chunks_do_not_change_a_run(monkeypatch: pytest.MonkeyPatch, runs_at_once: int):
    run_bytes = NODES * DIM * 8
    monkeypatch.setitem(simulation_module.STACK_BYTES, "cpu", runs_at_once * run_bytes + 1)
    grid = {"lr": [0.1, 0.01, 1e200], "momentum": [0.0, 0.9]}
    arguments = {"noise": HEAVY, "steps": 70, "seeds": [5, 5, 1]}
    swept = gs.sweep(gs.GTNSGDm, grid, PROBLEM, NETWORKS[0], **arguments)
    monkeypatch.undo()
    whole = gs.sweep(gs.GTNSGDm, grid, PROBLEM, NETWORKS[0], **arguments)
    close(swept.x, whole.x)
    close(swept.metrics["error"], whole.metrics["error"])
    assert torch.equal(swept.diverged_at, whole.diverged_at)
    close(swept.x[:, 0, 0], swept.x[:, 0, 1])  # the same seed twice


@pytest.mark.parametrize("seeds", [[0], [3, 1, 2], [1, 1, 0], [0, 1, 0, 1], [0, 1, 0], [2**80, -1]])
def test_each_run_gets_the_noise_of_its_seed(seeds: list[int]):
    """With lr = 1 on ½‖x‖² and no mixing to speak of, x after a step is minus the noise."""
    problem, network = gs.Quadratic.from_centers(torch.zeros(1, 3)), gs.ring(1)
    stack = gs.Stack(gs.DSGD(lr=1.0), problem, network, HEAVY, seeds)
    for step in range(3):
        stack.advance(1)
        for run, seed in enumerate(seeds):
            alone = gs.Stack(gs.DSGD(lr=1.0), problem, network, HEAVY, [seed])
            alone.advance(step + 1)
            assert torch.equal(stack.x[:, run], alone.x[:, 0])
    distinct = {tuple(stack.x[0, run].tolist()) for run in range(len(seeds))}
    assert len(distinct) == len(set(seeds))


def test_noise_is_the_same_in_every_precision():
    problem, network = gs.Quadratic.from_centers(torch.zeros(1, 3)), gs.ring(1)
    double = gs.Stack(gs.DSGD(lr=1.0), problem, network, HEAVY, [0, 1])
    single = gs.Stack(gs.DSGD(lr=1.0), problem, network, HEAVY, [0, 1], dtype=torch.float32)
    for _ in range(40):
        double.advance(1)
        single.advance(1)
        torch.testing.assert_close(single.x.double(), double.x, rtol=1e-6, atol=1e-6)


def test_a_missing_run_shifts_nobodys_noise():
    """After runs have left, the others are no longer in turn: they keep their own streams."""
    stack = gs.Stack(gs.DSGD(lr=0.1), PROBLEM, NETWORKS[0], HEAVY, [0, 1, 2] * 2)
    stack.advance(10)
    stack.keep(torch.tensor([True, False, True, True, True, False]))
    stack.advance(60)
    assert stack.runs.tolist() == [0, 2, 3, 4]
    assert stack.seeds == [0, 2, 0, 1]
    whole = gs.Stack(gs.DSGD(lr=0.1), PROBLEM, NETWORKS[0], HEAVY, [0, 1, 2])
    whole.advance(70)
    close(stack.x, whole.x[:, [0, 2, 0, 1]])


def first_broken_step(lr: float, seed: int, steps: int) -> int:
    """Step after which one run, advanced alone step by step, has an entry that is not finite."""
    stack = gs.Stack(gs.DSGD(lr=lr), PROBLEM, NETWORKS[0], HEAVY, [seed])
    x, network = stack.x.numpy(), NETWORKS[0].weights.numpy()
    for t in range(steps):
        noise = stack._noise.at(t).numpy()
        grad = PROBLEM.local_grad(torch.from_numpy(x)).numpy() + noise
        x = np.einsum("ij,jrd->ird", network, x - lr * grad)
        if not np.isfinite(x).all():
            return t + 1
    return -1


@pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
def test_divergence_is_dated_exactly_and_disturbs_nobody():
    rates = [0.1, 1e3, 0.2, 1e10, 50.0, 1e300, 0.05]
    lr = torch.tensor(rates, dtype=torch.float64)[:, None]
    run = gs.simulate(
        gs.DSGD(lr=lr), PROBLEM, NETWORKS[0], noise=HEAVY, steps=300, seeds=range(7), record_every=7
    )
    expected = [first_broken_step(rate, seed, 300) for seed, rate in enumerate(rates)]
    assert run.diverged_at.tolist() == expected
    assert sum(step > 0 for step in expected) == 4
    assert len({step for step in expected if step > 0}) == 4
    healthy = [0, 2, 6]
    for place in healthy:
        alone = gs.simulate(
            gs.DSGD(lr=rates[place]), PROBLEM, NETWORKS[0], noise=HEAVY, steps=300, seeds=place
        )
        close(run.x[:, place], alone.x[:, 0])
    for place in set(range(7)) - set(healthy):
        after = run.steps >= expected[place]
        for name, values in run.metrics.items():
            assert (values[after, place] == torch.inf).all(), name
        assert run.metrics["error"][run.steps < expected[place] // 2, place].isfinite().all()
        assert run.x[:, place].isnan().all()
        assert run.steps_taken[place] == expected[place]
    assert run.steps_taken[healthy].tolist() == [300] * 3


def test_all_runs_may_diverge():
    run = gs.simulate(
        gs.GTDSGD(lr=1e250), PROBLEM, NETWORKS[0], noise=HEAVY, steps=200, seeds=range(3)
    )
    assert (run.diverged_at > 0).all()
    assert run.x.isnan().all()
    assert all((values[-1] == torch.inf).all() for values in run.metrics.values())
    assert all(values[0].isfinite().all() for values in run.metrics.values())


def test_a_diverged_run_leaves_the_stack():
    lr = torch.tensor([[0.1], [1e100]], dtype=torch.float64)
    stack = gs.Stack(gs.DSGD(lr=lr), PROBLEM, NETWORKS[0], None, [0, 1])
    stack.advance(64)
    assert stack.runs.tolist() == [0]
    assert stack.x.shape == (NODES, 1, DIM)
    assert stack.algorithm.lr.shape == (1, 1)
    assert stack.t == 64


def test_finite_parameters_are_not_divergence_however_large():
    """Entries near the largest float add up to ∞; the run is still finite."""
    top = torch.finfo(torch.float64).max / 4
    problem = gs.Quadratic.from_centers(
        torch.zeros(NODES, DIM), start=torch.full((DIM,), top, dtype=torch.float64)
    )
    stack = gs.Stack(gs.DSGD(lr=1e-300), problem, NETWORKS[0], None, [0])
    stack.advance(10)
    assert stack.diverged_at.tolist() == [-1]
    assert stack.x.isfinite().all()


def test_the_network_must_have_the_problems_nodes():
    message = "network: got 5 nodes where the problem has 6, need the same number"
    with pytest.raises(gs.InvalidInput, match=message):
        gs.Stack(gs.DSGD(lr=0.1), PROBLEM, gs.ring(5), None, [0])


class Counter(NamedTuple):
    steps: Tensor


@pytest.mark.parametrize(
    "init",
    [lambda x: (torch.zeros_like(x),), lambda x: None, lambda x: Counter(torch.zeros(()))],
    ids=["tuple", "none", "no runs axis"],
)
def test_a_state_that_runs_could_not_leave_is_refused(monkeypatch: pytest.MonkeyPatch, init):
    """A plain tuple used to be taken apart node by node when the first run left the stack."""
    monkeypatch.setattr(gs.DSGD, "init", lambda self, x: init(x))
    with pytest.raises(gs.InvalidInput, match=r"init: got a state of type .* need a NamedTuple"):
        gs.simulate(gs.DSGD(0.1), PROBLEM, NETWORKS[0], steps=1)


@pytest.mark.parametrize("wrong", [lambda g: g.mean(0), lambda g: g.mean(0, keepdim=True)])
@pytest.mark.parametrize("noise", [None, HEAVY])
def test_gradients_of_another_shape_are_refused(monkeypatch: pytest.MonkeyPatch, wrong, noise):
    right = gs.Quadratic.local_grad
    monkeypatch.setattr(gs.Quadratic, "local_grad", lambda self, x: wrong(right(self, x)))
    stack = gs.Stack(gs.DSGD(0.1), PROBLEM, NETWORKS[0], noise, [0, 1])
    with pytest.raises(gs.InvalidInput, match=r"local_grad: got shape .* at points of shape"):
        stack.advance(1)


def test_a_start_of_its_own_for_every_node_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(PROBLEM, "start", PROBLEM.start.expand(NODES, DIM))
    with pytest.raises(gs.InvalidInput, match=r"start: got shape \(6, 4\), need shape \(4,\)"):
        gs.Stack(gs.DSGD(0.1), PROBLEM, NETWORKS[0], None, [0])


def test_a_single_draw_that_breaks_a_run_is_dated_whatever_is_recorded():
    """Replaying a block across the border of two blocks of noise would take the wrong draws."""
    wild = gs.StudentT(1.5, scale=1e306)
    arguments = {"noise": wild, "steps": 200, "seeds": range(40), "metrics": []}
    dates = [
        gs.simulate(gs.DSGD(0.5), PROBLEM, NETWORKS[0], record_every=k, **arguments).diverged_at
        for k in (1, 7, 45, 200)
    ]
    assert len(dates[0].unique()) > 10
    assert all(torch.equal(date, dates[0]) for date in dates)


class Overwriting(gs.Quadratic):
    """Writes every gradient over the last one, as a CUDA graph does."""

    def momentary_grad(self, x: Tensor, t: int, seeds: list[int]) -> Tensor:
        if getattr(self, "memory", x[:0]).shape != x.shape:
            self.memory = torch.empty_like(x)
        return self.memory.copy_(self.sample_grad(x, t, seeds))


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_no_method_keeps_a_gradient_that_is_overwritten(row: Row):
    ends = []
    for kind in (gs.Quadratic, Overwriting):
        stack = gs.Stack(row.algorithm, kind(NODES, DIM), gs.ring(NODES), None, [0, 1])
        stack.advance(5)
        ends.append(stack.x)
    close(*ends)


@dataclass(frozen=True)
class Halving(gs.Algorithm[gs.algorithms.Stateless]):
    """Halves its step size from step 5 on, with code that needs a Python number, or in place."""

    lr: gs.algorithms.Positive
    in_place: bool = False

    def init(self, x: Tensor) -> gs.algorithms.Stateless:
        return gs.algorithms.Stateless()

    def step(self, t, x, grad, state, mix):
        lr = self.lr if self.in_place else round(self.lr, 3)
        if t >= 5:
            lr *= 0.5
        return mix.pull(x - lr * grad), state


def test_a_method_that_needs_python_numbers_is_the_same_in_a_store(tmp_path):
    task = (Halving(0.05), PROBLEM, NETWORKS[0])
    plain, stored = (gs.simulate(*task, steps=20, store=store) for store in (None, tmp_path))
    close(plain.x, stored.x)


def test_a_step_that_changes_the_numbers_of_a_sweep_is_refused():
    grid = {"lr": [0.05, 0.1], "in_place": [True]}
    with pytest.raises(gs.InvalidInput, match=r"step of Halving: .* changes lr, need hyper-param"):
        gs.sweep(Halving, grid, PROBLEM, NETWORKS[0], steps=20, seeds=0)


def test_sweeps_run_in_inference_mode():
    grid = {"lr": [0.05, 0.1]}
    with torch.inference_mode():
        found = gs.sweep(gs.DSGD, grid, PROBLEM, NETWORKS[0], steps=20, seeds=0)
    assert found.metrics["error"].isfinite().all()
