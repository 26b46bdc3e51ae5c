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
