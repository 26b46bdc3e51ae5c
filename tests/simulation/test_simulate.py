"""`simulate`: records, defaults, precision, refusals."""

import re

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import gossamer as gs

PROBLEM, NETWORK = gs.Quadratic(4, 3), gs.ring(4)
METHOD = gs.GTNSGDm(lr=0.1, momentum=0.8)


def simulated(**changes) -> gs.Run:
    return gs.simulate(METHOD, PROBLEM, NETWORK, **{"steps": 10, **changes})


@settings(max_examples=30, deadline=None)
@given(steps=st.integers(1, 60), record_every=st.integers(1, 80))
def test_records_at_multiples_and_the_end_whatever_the_spacing(steps: int, record_every: int):
    arguments = {"noise": gs.StudentT(1.5), "steps": steps, "seeds": [0, 1]}
    sparse = simulated(**arguments, record_every=record_every)
    every = simulated(**arguments, record_every=1)
    expected = sorted({*range(0, steps, record_every), steps})
    assert sparse.steps.tolist() == expected
    for name, values in sparse.metrics.items():
        assert torch.equal(values, every.metrics[name][expected])
    assert torch.equal(sparse.x, every.x)


@pytest.mark.parametrize(("steps", "records"), [(1, 2), (99, 100), (100, 101), (1000, 126)])
def test_a_hundred_records_or_more_by_default(steps: int, records: int):
    assert len(simulated(steps=steps).steps) == records


def test_the_first_record_is_the_start():
    run = simulated()
    assert run.metrics["consensus_error"][0].item() == 0
    assert run.metrics["loss"][0].item() == pytest.approx(
        float(PROBLEM.loss(PROBLEM.start[None])), abs=1e-12
    )


def test_shapes_and_kinds():
    run = simulated(seeds=range(5), dtype=torch.float32)
    assert run.x.shape == (4, 5, 3)
    assert run.x.dtype == torch.float32
    assert run.diverged_at.tolist() == [-1] * 5
    assert all(values.shape == (11, 5) for values in run.metrics.values())
    kinds = {name: values.dtype for name, values in run.metrics.items()}
    assert {kinds.pop(cost) for cost in ("gradients", "messages", "bytes")} == {torch.float64}
    assert set(kinds.values()) == {torch.float32}
    assert run.hyperparameters == {"lr": 0.1, "momentum": 0.8}


@pytest.mark.parametrize(
    "seeds", [3, [3], (3,), range(3, 4), np.int64(3), np.array([3]), torch.tensor([3]), iter([3])]
)
def test_seeds_are_any_integers(seeds):
    run = simulated(noise=gs.Gaussian(), seeds=seeds)
    assert run.config["seeds"] == [3]
    assert type(run.config["seeds"][0]) is int
    assert torch.equal(run.x, simulated(noise=gs.Gaussian(), seeds=3).x)


def test_without_noise_seeds_do_not_matter():
    """Up to rounding: on some processors a product sums its last columns in another order."""
    run = simulated(seeds=range(3))
    torch.testing.assert_close(run.x[:, 0], run.x[:, 2], rtol=0, atol=1e-12)


def test_one_node_is_the_central_method():
    """On one node GT-NSGDm is normalized SGD with momentum."""
    problem = gs.Quadratic(1, 3)
    run = gs.simulate(METHOD, problem, gs.complete(1), steps=20)
    x, v = problem.start.clone(), torch.zeros(3, dtype=torch.float64)
    for _ in range(20):
        v = 0.8 * v + 0.2 * problem.grad(x[None])[0]
        x = x - 0.1 * v / v.norm()
    torch.testing.assert_close(run.x[0, 0], x, rtol=1e-12, atol=1e-12)
    assert run.final("consensus_error").item() == 0


def test_hyperparameters_may_be_one_tensor_value_or_one_per_run():
    plain = simulated(seeds=range(2))
    for momentum in (torch.tensor(0.8), torch.tensor([[0.8], [0.8]])):
        method = gs.GTNSGDm(lr=0.1, momentum=momentum.double())
        run = gs.simulate(method, PROBLEM, NETWORK, steps=10, seeds=range(2))
        torch.testing.assert_close(run.x, plain.x, rtol=1e-6, atol=1e-6)
    single = gs.simulate(method, PROBLEM, NETWORK, steps=10, seeds=range(2), dtype=torch.float32)
    assert single.x.dtype == torch.float32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "steps: got 0, need an integer of at least 1"),
        ({"steps": 2.5}, "steps: got 2.5, need an integer of at least 1"),
        ({"record_every": 0}, "record_every: got 0, need an integer of at least 1"),
        ({"record_every": -1}, "record_every: got -1, need"),
        ({"record_every": 1.5}, "record_every: got 1.5, need"),
        ({"seeds": []}, "seeds: got [], need at least one integer"),
        ({"seeds": [0, 1.5]}, "seeds: got [0, 1.5], need integers"),
        ({"seeds": 1.5}, "seeds: got [1.5], need integers"),
        ({"metrics": ["eror"]}, "metrics: got 'eror', need names among error, loss, grad_norm"),
        ({"metrics": "error"}, "metrics: got 'error', need a list; write ['error']"),
        ({"dtype": torch.int64}, "dtype: got torch.int64, need a floating-point one"),
        ({"dtype": "float32"}, "dtype: got 'float32', need a floating-point one"),
        ({"device": "gpu"}, "device: got 'gpu', need one that torch knows; e.g. 'cpu' or 'cuda'"),
        (
            {"device": "ipu"},
            "device: got 'ipu', need one that this torch can use; pass device='cpu'",
        ),
        ({"noise": gs.StudentT}, "need an instance, e.g. gs.StudentT(1.5), or None"),
        ({"noise": "none"}, "noise: got 'none', need an instance"),
    ],
)
def test_refusals(changes, message: str):
    with pytest.raises(gs.InvalidInput, match=re.escape(message)):
        simulated(**changes)


@pytest.mark.parametrize(("seen", "device"), [(0, "cuda"), (0, "cuda:1"), (1, "cuda:1")])
def test_a_gpu_that_is_not_there_is_refused_in_python_as_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, seen: int, device: str
):
    monkeypatch.setattr("torch.cuda.is_available", lambda: seen > 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: seen)
    words = {0: "a CUDA device, and torch sees none here; pass device='cpu'"}
    message = words.get(seen, "one of the CUDA devices that torch sees here (1)")
    message = re.escape(f"device: got '{device}', need {message}")
    with pytest.raises(gs.InvalidInput, match=message):
        simulated(device=device)
    with pytest.raises(gs.InvalidInput, match=message):
        gs.compare([METHOD], PROBLEM, NETWORK, steps=5, device=device)


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        (lambda x, state: x, "a result of type Tensor, need the pair of the next parameters"),
        (lambda x, state: None, "a result of type NoneType, need the pair"),
        (lambda x, state: (state, x), "a result of type tuple, need the pair"),
        (lambda x, state: (x.sum(-1), state), "parameters of shape (2, 1), need the shape of x"),
        (
            lambda x, state: (x / x.norm(dim=-1), state),
            "parameters of shape (2, 2, 3), need the shape of x, (2, 1, 3); sums over the last",
        ),
    ],
)
def test_a_step_that_returns_something_else_is_refused(taken, words: str):
    class Mine(gs.DSGD):
        def step(self, t, x, grad, state, mix):
            return taken(x, state)

    with pytest.raises(gs.InvalidInput, match=re.escape(f"step of Mine: got {words}")):
        gs.simulate(Mine(0.1), PROBLEM, NETWORK, steps=5)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((gs.GTNSGDm, PROBLEM, NETWORK), "algorithm"),
        ((METHOD, NETWORK, PROBLEM), "problem"),
        ((METHOD, gs.RobustRegression, NETWORK), "problem"),
        ((METHOD, PROBLEM, gs.ring), "network"),
        ((METHOD, PROBLEM, NETWORK.weights), "network"),
    ],
)
def test_what_is_not_built_or_out_of_place_is_refused(arguments, name: str):
    with pytest.raises(gs.InvalidInput, match=rf"(?s){name}: got .* need an instance, e\.g\. gs\."):
        gs.simulate(*arguments, steps=5)


def test_a_module_is_not_a_problem_yet():
    message = r"problem: got the module Linear, need a problem; make one of it by gs\.ModuleProblem"
    for run in (gs.simulate, gs.tune, gs.compare):
        method = [METHOD] if run is gs.compare else type(METHOD) if run is gs.tune else METHOD
        with pytest.raises(gs.InvalidInput, match=message):
            run(method, torch.nn.Linear(2, 1), NETWORK, steps=5)


def test_a_graph_is_not_a_network_yet():
    message = r"network: got .*gs\.from_graph\(graph\) or gs\.from_digraph\(digraph\)"
    for run in (gs.simulate, gs.tune, gs.compare):
        method = [METHOD] if run is gs.compare else type(METHOD) if run is gs.tune else METHOD
        with pytest.raises(gs.InvalidInput, match=message):
            run(method, PROBLEM, nx.DiGraph(), steps=5)


def test_metrics_that_do_not_exist_here_are_refused():
    with pytest.raises(
        gs.InvalidInput, match=r"'tracker_error', which needs algorithm.tracker, need .*DSGD"
    ):
        gs.simulate(gs.DSGD(lr=0.1), PROBLEM, NETWORK, steps=5, metrics=["tracker_error"])
    unknown = gs.Quadratic(4, 3)
    unknown.optimum = None
    with pytest.raises(
        gs.InvalidInput, match=r"'error', which needs problem\.optimum, need names among loss"
    ):
        gs.simulate(gs.DSGD(lr=0.1), unknown, NETWORK, steps=5, metrics=["error"])


def test_hyperparameters_must_fit_the_runs():
    per_run = gs.DSGD(lr=torch.full((3, 1), 0.1))
    for seeds in (range(2), range(4)):
        with pytest.raises(gs.InvalidInput, match=r"lr: got shape \(3, 1\), need"):
            gs.simulate(per_run, PROBLEM, NETWORK, steps=5, seeds=seeds)


def test_without_x_the_metrics_are_the_same_and_the_run_has_no_coordinates(tmp_path):
    with_x, without = simulated(), simulated(keep_x=False)
    assert without.x.shape == (4, 1, 0)
    assert all(torch.equal(with_x.metrics[k], without.metrics[k]) for k in with_x.metrics)
    without.save(tmp_path / "run.safetensors")
    assert gs.Run.load(tmp_path / "run.safetensors").x.shape == (4, 1, 0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", gs.ALGORITHMS)
def test_a_gpu_gives_the_same_run(name: str):
    """On the way to the optimum: there, steps of a fixed length magnify every rounding error."""
    from algorithms.table import TABLE

    method = next(row.algorithm for row in TABLE if row.name == name)
    problem, network = gs.RobustRegression(20), gs.ring(20)
    cpu, gpu = (
        gs.simulate(method, problem, network, steps=20, seeds=range(3), device=device)
        for device in ("cpu", "cuda")
    )
    assert gpu.x.device.type == "cpu"
    torch.testing.assert_close(gpu.x, cpu.x, rtol=1e-10, atol=1e-10)
    again = gs.simulate(method, problem, network, steps=20, seeds=range(3), device="cuda:0")
    assert torch.equal(again.x, gpu.x)
