"""Logistic regression and least squares against numpy, node by node."""

import re

import numpy as np
import pytest
import torch
from torch import Tensor

import gossamer as gs
from gossamer.data import BatchOrder, Dataset

SIZES = [4, 9, 6]


def data(classes: bool, seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    kind = {"generator": generator, "dtype": torch.float64}
    real = [(torch.randn(m, 3, **kind), torch.randn(m, **kind)) for m in SIZES]
    return [(a, (b > 0).long()) for a, b in real] if classes else real


def points(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def close(actual: Tensor | float, expected: np.ndarray | float) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def test_logistic_loss_and_gradient_are_their_formulas():
    problem, x = (
        gs.LogisticRegression(data(True), penalty=gs.NonconvexPenalty(0.1)),
        points(3, 2, 3),
    )
    for node, (features, labels) in enumerate(data(True)):
        A, b = features.numpy(), 2 * labels.numpy() - 1
        for k in range(2):
            w = x[node, k].numpy()
            margin, penalty = b * (A @ w), 0.1 * (w**2 / (1 + w**2)).sum()
            slope = 0.2 * w / (1 + w**2) ** 2
            close(problem.local_loss(x)[node, k], np.log1p(np.exp(-margin)).mean() + penalty)
            close(
                problem.local_grad(x)[node, k], -A.T @ (b / (1 + np.exp(margin))) / len(b) + slope
            )


def test_labels_of_both_kinds_are_the_same_problem():
    signs = [(a, 2 * b - 1) for a, b in data(True)]
    x = points(3, 4, 3)
    one, other = gs.LogisticRegression(data(True)), gs.LogisticRegression(signs)
    assert torch.equal(one.local_loss(x), other.local_loss(x))


def test_far_margins_neither_overflow_nor_vanish():
    problem = gs.LogisticRegression([(torch.tensor([[1.0]]), torch.tensor([0]))])
    x = torch.tensor([[[1e4], [-1e4]]]).double()
    assert problem.local_loss(x).tolist() == [[1e4, 0.0]]
    assert problem.local_grad(x).flatten().tolist() == [1.0, 0.0]


def test_least_squares_optimum_solves_the_average_normal_equations():
    problem = gs.LeastSquares(data(False), penalty=gs.L2Penalty(0.3))
    grams = [a.T.numpy() @ a.numpy() / len(b) for a, b in data(False)]
    right = [a.T.numpy() @ b.numpy() / len(b) for a, b in data(False)]
    close(problem.optimum, np.linalg.solve(np.mean(grams, 0) + 0.3 * np.eye(3), np.mean(right, 0)))
    curvature = max(np.linalg.eigvalsh(gram)[-1] for gram in grams)
    assert problem.smoothness == pytest.approx(curvature + 0.3, rel=1e-12)
    assert gs.LogisticRegression(data(True)).smoothness == pytest.approx(
        max(np.linalg.eigvalsh(a.T @ a / len(b))[-1] for a, b in data(True)) / 4, rel=1e-12
    )


def test_an_optimum_is_not_claimed_where_there_are_many_or_none_is_known():
    few = [(torch.randn(2, 5), torch.randn(2)), (torch.randn(2, 5), torch.randn(2))]
    assert gs.LeastSquares(few).optimum is None
    assert gs.LeastSquares(data(False), penalty=gs.NonconvexPenalty(0.1)).optimum is None
    assert gs.LeastSquares(data(False), penalty=lambda x: x.sum()).smoothness is None


@pytest.mark.parametrize("kind", [gs.LogisticRegression, gs.LeastSquares])
def test_batches_are_those_that_a_process_would_see(kind: type[gs.Problem]):
    held = data(kind is gs.LogisticRegression)
    problem, x = kind(held, batch_size=2, penalty=gs.L2Penalty(0.1)), points(3, 2, 3)
    found = problem.sample_grad(x, 5, [7, 0])
    for node, (features, labels) in enumerate(held):
        for run, seed in enumerate([7, 0]):
            rows = BatchOrder(SIZES[node], 2, seed, node).at(5)
            alone = kind([(features[rows], labels[rows])], penalty=gs.L2Penalty(0.1))
            close(found[node, run], alone.local_grad(x[node, run][None, None])[0, 0])
    moved = problem.to(torch.float32).sample_grad(x.float(), 5, [7, 0])
    assert moved.dtype == torch.float32
    torch.testing.assert_close(moved.double(), found, rtol=1e-5, atol=1e-5)


def test_accuracy_counts_all_samples_or_those_held_out():
    held_out = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]), torch.tensor([1, 0, 1])
    judged = gs.LogisticRegression(data(True), validation=held_out)
    w = torch.tensor([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]]).double()
    close(judged.accuracy(w), [2 / 3, 1.0])
    close(judged.validation_loss(w[1:]), [np.log1p(np.exp(-1.0))])
    right = [((a @ w[0] > 0) == (b > 0)).sum() for a, b in data(True)]
    close(gs.LogisticRegression(data(True)).accuracy(w[:1]), [float(sum(right)) / sum(SIZES)])


@pytest.mark.parametrize("held_out", [False, True])
def test_at_zero_where_no_class_is_favoured_half_of_the_answers_are_right(held_out: bool):
    """Nodes have unequal numbers of samples, so that some rows are padding."""
    validation = data(True)[0] if held_out else None
    problem = gs.LogisticRegression(data(True), validation=validation)
    close(problem.accuracy(torch.zeros(2, 3).double()), [0.5, 0.5])
    run = gs.simulate(gs.DSGD(0.1), problem, gs.ring(3), steps=1)
    assert run.metrics["error_rate"][0].item() == 0.5


def test_error_rate_is_recorded_where_there_are_answers():
    problem = gs.LogisticRegression(data(True))
    run = gs.simulate(gs.DSGD(0.1), problem, gs.ring(3), steps=20, seeds=[0, 1])
    expected = 1 - problem.accuracy(run.x.mean(0))
    torch.testing.assert_close(run.final("error_rate"), expected)
    assert (
        "error_rate"
        not in gs.simulate(gs.DSGD(0.1), gs.Quadratic(3, 2), gs.ring(3), steps=1).metrics
    )


def test_two_lines_make_a_problem_of_named_data():
    """Every node of breast cancer split by label sees one class; together they learn both."""
    data = gs.data.load("breast_cancer", standardize=True)
    problem = gs.LogisticRegression(
        data.split(30, gs.data.by_label(1)), penalty=gs.NonconvexPenalty(0.01)
    )
    assert repr(problem) == (
        "LogisticRegression(num_nodes=30, dim=30, samples=569, "
        "penalty=NonconvexPenalty(weight=0.01))"
    )
    run = gs.simulate(
        gs.GTDSGD(0.1), problem, gs.exponential(30), steps=300, metrics=["error_rate"]
    )
    assert run.final("error_rate").item() < 0.03


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (
            [(torch.zeros(3, 2), torch.tensor([0, 1, 2]))],
            "labels: got 0, 1, 2, need 0 and 1, or −1 and 1; e.g. (labels == 3)",
        ),
        ([torch.zeros(3, 2)], "node_data[0]: got Tensor, need (features, labels)"),
        ([(torch.zeros(3, 2), torch.zeros(4))], "node_data[0]: got shapes (3, 2) and (4,), need"),
        (
            [(torch.zeros(3, 2), torch.zeros(3)), (torch.zeros(3, 4), torch.zeros(3))],
            "node_data: got rows of [2, 4] features",
        ),
        ([], "num_nodes: got 0, need"),
    ],
)
def test_refusals(held, message: str):
    with pytest.raises(gs.InvalidInput, match=re.escape(message)):
        gs.LogisticRegression(held)


def test_validation_without_data_is_refused():
    problem = gs.LeastSquares(Dataset("mine", torch.ones(4, 1), torch.ones(4)).split(2))
    with pytest.raises(
        gs.InvalidInput, match=r"validation: got None, need data .*; LeastSquares\("
    ):
        problem.validation_loss(torch.zeros(1, 1).double())


@pytest.mark.parametrize("samples", [2, 5, 9])
def test_the_smoothness_is_that_of_the_gram_matrix_whichever_side_is_longer(samples: int):
    generator = torch.Generator().manual_seed(2)
    rows = torch.randn(4, samples, 5, generator=generator, dtype=torch.float64)
    problem = gs.LeastSquares([(A, A[:, 0]) for A in rows])
    grams = (A.T @ A / samples for A in rows.numpy())
    close(problem.smoothness, max(np.linalg.eigvalsh(gram)[-1] for gram in grams))


def test_many_features_take_no_square_matrices():
    """Of 30,000 × 30,000 numbers, 7 GB for each node."""
    generator = torch.Generator().manual_seed(3)
    few = torch.randn(2, 3, 30_000, generator=generator)
    classes = torch.tensor([0, 1, 1])
    assert gs.LogisticRegression([(A, classes) for A in few]).smoothness > 1000
    assert gs.LeastSquares([(A, A[:, 0]) for A in few]).optimum is None  # there are many
    assert gs.RobustRegression(2, num_samples=6, dim=30_000).smoothness > 1000
