"""Every metric against its formula, node by node in numpy."""

import numpy as np
import pytest
import torch

import gossamer as gs
from gossamer.simulation import available_metrics, metrics

PROBLEMS = {"quadratic": gs.Quadratic(5, 3), "robust": gs.RobustRegression(5, dim=6)}


def mean_norm(vectors: np.ndarray) -> float:
    return float(np.mean([np.sqrt(np.sum(v**2)) for v in vectors]))


def global_grad(problem: gs.Problem, w: np.ndarray) -> np.ndarray:
    """∇f(w), one node after the other."""
    x = torch.from_numpy(w).expand(problem.num_nodes, 1, problem.dim)
    return np.mean([g[0] for g in problem.local_grad(x).numpy()], axis=0)


def brute_force(problem: gs.Problem, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """x and y are `(nodes, dim)`."""
    average, optimum = x.mean(0), problem.optimum.numpy()
    at_average = torch.from_numpy(average).expand(problem.num_nodes, 1, problem.dim)
    local = problem.local_grad(torch.from_numpy(x)[:, None]).numpy()[:, 0]
    return {
        "error": mean_norm(x - optimum),
        "loss": float(np.mean(problem.local_loss(at_average).numpy())),
        "grad_norm": mean_norm(np.array([global_grad(problem, w) for w in x])),
        "consensus_error": mean_norm(x - average),
        "tracker_error": mean_norm(y - local.mean(0)),
        "tracker_norm": mean_norm(y),
    }


@pytest.mark.parametrize("pieces", [1, 7, 2**21])
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_metrics_are_their_formulas(
    monkeypatch: pytest.MonkeyPatch, problem: gs.Problem, pieces: int
):
    monkeypatch.setattr(metrics, "ELEMENTS_AT_ONCE", pieces * problem.num_nodes * problem.dim)
    method, noise = gs.GTNSGDm(lr=0.1, momentum=0.8), gs.StudentT(1.5)
    stack = gs.Stack(method, problem, gs.ring(5), noise, range(4))
    stack.advance(17)
    measured = {name: metric(stack) for name, metric in available_metrics(stack).items()}
    for run in range(4):
        expected = brute_force(problem, stack.x[:, run].numpy(), stack.state.y[:, run].numpy())
        assert set(expected) == set(measured)
        for name, value in expected.items():
            assert float(measured[name][run]) == pytest.approx(value, rel=1e-12), name


def test_at_the_start_nodes_agree_and_trackers_are_zero():
    problem = PROBLEMS["robust"]
    stack = gs.Stack(gs.GTDSGD(lr=0.1), problem, gs.ring(5), None, [0])
    gradient = global_grad(problem, np.zeros(6))
    assert metrics.consensus_error(stack).item() == 0
    assert metrics.error(stack).item() == pytest.approx(float(problem.optimum.norm()), rel=1e-12)
    assert metrics.tracker_error(stack).item() == pytest.approx(np.linalg.norm(gradient), rel=1e-12)
    assert metrics.grad_norm(stack).item() == pytest.approx(np.linalg.norm(gradient), rel=1e-12)


def names(problem: gs.Problem, method: gs.Algorithm) -> list[str]:
    return list(available_metrics(gs.Stack(method, problem, gs.ring(5), None, [0])))


def test_with_many_nodes_the_gradient_at_every_point_is_measured_where_asked_for(monkeypatch):
    monkeypatch.setattr(metrics, "MANY_NODES", 4)
    shared = (gs.DSGD(lr=0.1), gs.Quadratic(5, 3), gs.ring(5))
    assert "grad_norm" not in gs.simulate(*shared, steps=1).metrics
    assert "grad_norm" in gs.simulate(*shared, steps=1, metrics=["error", "grad_norm"]).metrics


def test_gradients_of_a_module_over_all_data_are_measured_where_asked_for():
    data = [(torch.randn(8, 2), torch.randn(8, 1))] * 5
    problem = gs.ModuleProblem(
        torch.nn.Linear(2, 1), torch.nn.functional.mse_loss, data, batch_size=2
    )
    shared, slow = (gs.GTDSGD(lr=0.1), problem, gs.ring(5)), ("grad_norm", "tracker_error")
    by_default = gs.simulate(*shared, steps=1).metrics
    assert {"loss", "consensus_error"} <= set(by_default)
    assert not set(slow) & set(by_default)
    assert set(slow) <= set(gs.simulate(*shared, steps=1, metrics=slow).metrics)


def test_only_metrics_that_exist_are_recorded():
    problem = gs.Quadratic(5, 3)
    everything = ["error", "loss", "grad_norm", "consensus_error", "tracker_error"]
    assert names(problem, gs.GTDSGD(lr=0.1)) == everything
    assert names(problem, gs.DSGD(lr=0.1)) == everything[:-1]
    problem.optimum = None
    assert names(problem, gs.DSGD(lr=0.1)) == everything[1:-1]


def test_validation_loss_is_the_average_model_on_data_held_out():
    inputs = torch.arange(12.0, dtype=torch.float64).view(3, 4, 1)
    held_out = (torch.tensor([[1.0], [2.0]]).double(), torch.tensor([[3.0], [6.0]]).double())
    problem = gs.ModuleProblem(
        torch.nn.Linear(1, 1, bias=False).double(),
        torch.nn.functional.mse_loss,
        [(x, 2 * x) for x in inputs],
        batch_size=2,
        validation=held_out,
    )
    run = gs.simulate(gs.DSGD(lr=0.01), problem, gs.complete(3), steps=5)
    weight = run.x[:, 0].mean()
    expected = ((weight - 3) ** 2 * (1 + 4) / 2).item()
    assert run.final("validation_loss").item() == pytest.approx(expected, rel=1e-12)
    assert "validation_loss" not in names(PROBLEMS["robust"], gs.DSGD(0.1))


def test_what_a_method_tells_is_recorded_as_a_metric():
    """At record t: the average over the nodes of the step to come, with its noise."""
    problem, network, noise = PROBLEMS["quadratic"], gs.ring(5), gs.StudentT(1.5)
    method, arguments = gs.DSGDGClip(lr=0.1, clip=1.0), {"noise": noise, "seeds": range(3)}
    run = gs.simulate(method, problem, network, steps=20, record_every=7, **arguments)
    stack = gs.Stack(method, problem, network, noise, range(3))
    for row, t in enumerate(run.steps.tolist()):
        stack.advance(t - stack.t)
        grad = problem.local_grad(stack.x) + stack._noise.at(t)
        expected = (grad.norm(dim=-1) > 1.0).double().mean(0)
        assert torch.equal(run.metrics["clipped"][row], expected)
    assert 0 < run.metrics["clipped"].mean() < 1


def test_telling_changes_no_run():
    arguments = {"noise": gs.StudentT(1.5), "steps": 90, "seeds": range(3)}
    method, where = gs.DSGDGClip(lr=0.1, clip=1.0), (PROBLEMS["quadratic"], gs.ring(5))
    told = gs.simulate(method, *where, **arguments, metrics=["clipped"])
    untold = gs.simulate(method, *where, **arguments, metrics=[])
    assert torch.equal(told.x, untold.x)


def test_a_method_is_asked_only_at_records_and_only_if_wanted(monkeypatch: pytest.MonkeyPatch):
    asked = []
    right = gs.GTAdam.info
    monkeypatch.setattr(
        gs.GTAdam, "info", lambda self, t, *rest: asked.append(t) or right(self, t, *rest)
    )
    arguments = {"steps": 20, "record_every": 10}
    where = (PROBLEMS["quadratic"], gs.ring(5))
    gs.simulate(gs.GTAdam(0.1), *where, metrics=["error"], **arguments)
    assert asked == []
    gs.simulate(gs.GTAdam(0.1), *where, **arguments)
    assert asked == [0, 0, 10, 20], "once for the names, then two numbers of one question"


def half_norm(stack: gs.Stack) -> torch.Tensor:
    """A metric of one's own."""
    return stack.x.norm(dim=-1).mean(0) / 2


@gs.metric(needs=["state.v"])
def estimator_norm(stack: gs.Stack) -> torch.Tensor:
    return stack.state.v.norm(dim=-1).mean(0)


def simulated(method: gs.Algorithm, **changes) -> gs.Run:
    return gs.simulate(method, PROBLEMS["quadratic"], gs.ring(5), steps=4, seeds=[0, 1], **changes)


def test_functions_are_metrics_beside_names():
    run, costs = simulated(gs.DSGD(0.1), metrics=["error", half_norm]), metrics.COSTS[:3]
    assert list(run.metrics) == run.config["metrics"] == ["error", "half_norm", *costs]
    torch.testing.assert_close(run.final("half_norm"), run.x.norm(dim=-1).mean(0) / 2)
    grid = {"lr": [0.1, 1e-3]}
    found = gs.sweep(gs.DSGD, grid, PROBLEMS["quadratic"], gs.ring(5), steps=4, judge_by=half_norm)
    assert found.best().hyperparameters == {"lr": 1e-3}, "nearer to the start, which is 0"


def test_a_registered_metric_is_left_out_where_it_lacks_what_it_needs(monkeypatch):
    """It used to break every method without its state."""
    monkeypatch.setitem(gs.METRICS, "estimator_norm", estimator_norm)
    assert "estimator_norm" in simulated(gs.GTNSGDm(0.1, 0.5)).metrics
    assert "estimator_norm" not in simulated(gs.DSGD(0.1)).metrics
    message = r"'estimator_norm', which needs state\.v, need names among error, .* with DSGD"
    with pytest.raises(gs.InvalidInput, match=message):
        simulated(gs.DSGD(0.1), metrics=["estimator_norm"])


def test_a_registered_metric_that_does_not_say_what_it_needs_is_named(monkeypatch):
    monkeypatch.setitem(gs.METRICS, "undeclared", lambda stack: stack.state.v.sum(-1).mean(0))
    with pytest.raises(gs.InvalidInput, match=r"cannot be measured with DSGD .* say what it needs"):
        simulated(gs.DSGD(0.1))


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([lambda stack: stack.x], "metrics: got .*lambda.* need names or functions of a stack"),
        ([3], "metrics: got 3, need names, or functions of a stack"),
        (half_norm, "metrics: got .*half_norm.*, need a list; write"),
        (["error", "error"], r"metrics: got \['error', 'error'\], need each name once"),
        (["eror"], "metrics: got 'eror', need names among error, .* or functions of a stack"),
    ],
)
def test_what_is_not_a_metric_is_refused(metrics, message: str):
    with pytest.raises(gs.InvalidInput, match=message):
        simulated(gs.DSGD(0.1), metrics=metrics)


def test_names_may_come_one_by_one():
    assert "loss" in simulated(gs.DSGD(0.1), metrics=iter(["loss"])).metrics
    swept = gs.sweep(
        gs.DSGD, {"lr": [0.1]}, PROBLEMS["quadratic"], gs.ring(5), steps=2, metrics=iter(["loss"])
    )
    assert "loss" in swept.metrics


@pytest.mark.parametrize(
    ("measure", "found"),
    [(lambda x: x.sum(), r"shape \(\)"), (lambda x: 0.5, r"0\.5"), (lambda x: [1, 2], r"\[1, 2\]")],
)
def test_a_metric_that_is_not_a_number_per_run_is_refused(measure, found: str):
    def total(stack):
        return measure(stack.x)

    message = rf"total: got {found}, need a tensor of shape \(2,\): one number per run"
    with pytest.raises(gs.InvalidInput, match=message):
        simulated(gs.DSGD(0.1), metrics=[total])
