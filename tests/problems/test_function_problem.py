"""Own functions of a vector: against the problems written by hand, and batch by batch."""

import pickle
import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

import gossamer as gs
from gossamer.data import BatchOrder
from gossamer.fingerprint import fingerprint
from gossamer.problems.batches import KEPT
from gossamer.problems.robust_regression import TUKEY

SIZES = [4, 7, 4, 5]


def squares(x: Tensor, features: Tensor, labels: Tensor) -> Tensor:
    return ((features @ x - labels) ** 2).mean() / 2


def data(seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    kind = {"generator": generator, "dtype": torch.float64}
    return [(torch.randn(m, 3, **kind), torch.randn(m, **kind)) for m in SIZES]


def points(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def tukey(w: Tensor, features: Tensor, labels: Tensor) -> Tensor:
    inside = (1 - ((labels - features @ w) / TUKEY) ** 2).clamp(min=0)
    return TUKEY**2 / 6 * (1 - inside**3).mean()


@pytest.mark.parametrize("num_nodes", [7, 20])
def test_the_papers_loss_is_robust_regression(num_nodes: int):
    """1,000 samples on 7 nodes are shards of two sizes."""
    by_hand, whole = gs.RobustRegression(num_nodes), gs.RobustRegression(1)
    features, labels = whole._features[0].mT * TUKEY, -whole._offset[0, 0] * TUKEY
    shards = zip(features.tensor_split(num_nodes), labels.tensor_split(num_nodes), strict=True)
    problem = gs.FunctionProblem(tukey, shards, dim=20, optimum=by_hand.optimum)
    x = 2 * points(num_nodes, 5, 20)
    close(problem.local_loss(x), by_hand.local_loss(x))
    close(problem.local_grad(x), by_hand.local_grad(x))
    assert problem.minimum == pytest.approx(0, abs=1e-12)


def test_a_run_is_that_of_the_problem_written_by_hand():
    problem = gs.FunctionProblem(squares, data(), dim=3, penalty=gs.L2Penalty(0.1))
    by_hand = gs.LeastSquares(data(), penalty=gs.L2Penalty(0.1))
    runs = [
        gs.simulate(gs.GTNSGDm(0.1, 0.8), task, gs.ring(4), noise=gs.StudentT(1.5), steps=50)
        for task in (problem, by_hand)
    ]
    torch.testing.assert_close(runs[0].x, runs[1].x, rtol=1e-9, atol=1e-9)


def test_batches_are_those_that_a_process_would_see():
    problem = gs.FunctionProblem(squares, data(), dim=3, batch_size=2)
    x, t, seeds = points(4, 3, 3), 5, [7, 0, 7]
    found = problem.sample_grad(x, t, seeds)
    for node, (features, labels) in enumerate(data()):
        for run, seed in enumerate(seeds):
            rows = BatchOrder(SIZES[node], 2, seed, node).at(t)
            residual = features[rows] @ x[node, run] - labels[rows]
            close(found[node, run], features[rows].mT @ residual / 2)
    assert torch.equal(found, problem.sample_grad(x, t, seeds)), "asked twice, it answers the same"


@pytest.mark.parametrize("batch_size", [None, 2])
@pytest.mark.parametrize(
    "loss", [functional.mse_loss, functional.huber_loss, functional.smooth_l1_loss]
)
def test_torchs_own_losses_have_many_points(loss: Callable[..., Tensor], batch_size: int | None):
    """In these functions `vmap` fails where outputs have an axis of points and labels have none."""
    problem = gs.FunctionProblem(
        lambda x, features, labels: loss(features @ x, labels), data(), dim=3, batch_size=batch_size
    )
    run = gs.simulate(gs.DSGD(0.1), problem, gs.ring(4), steps=3, seeds=range(2))
    assert run.metrics.keys() >= {"loss", "grad_norm"}
    x = points(4, 2, 3).requires_grad_()
    own = zip(x, data(), strict=True)
    values = torch.stack([torch.stack([loss(A @ z, b) for z in zs]) for zs, (A, b) in own])
    close(problem.local_loss(x), values)
    close(problem.local_grad(x.detach()), torch.autograd.grad(values.sum(), x)[0])


def test_data_may_be_integers_arrays_scalars_or_nothing():
    table = points(5, 2)
    words = [np.array([0, 3]), np.array([4, 4, 1])]
    problem = gs.FunctionProblem(lambda x, k: (x.view(5, 2)[k] ** 2).sum(), words, dim=10)
    moved = problem.to(torch.float32)
    assert moved.local_loss(table.flatten().float().expand(2, 1, 10)).dtype == torch.float32
    close(problem.local_loss(table.flatten().expand(2, 1, 10))[0, 0], (table[[0, 3]] ** 2).sum())
    scaled = gs.FunctionProblem(lambda x, c: c * x.square().sum(), [1.0, 2.0, np.float32(3)], dim=2)
    close(
        scaled.local_grad(torch.ones(3, 1, 2).double()).flatten(),
        torch.tensor([2.0, 2, 4, 4, 6, 6]).double(),
    )
    alone = gs.FunctionProblem(lambda x: x.square().sum(), [(), ()], dim=2)
    assert (alone.num_nodes, float(alone.loss(torch.ones(1, 2).double()))) == (2, 2.0)


def test_the_start_is_given_or_zero_and_is_copied():
    start = torch.ones(3)
    problem = gs.FunctionProblem(squares, data(), start=start)
    start.fill_(7)
    assert problem.start.tolist() == [1, 1, 1]
    assert gs.FunctionProblem(squares, data(), dim=3).start.tolist() == [0, 0, 0]


def test_description_has_the_source_and_tells_data_start_and_penalty_apart():
    described = gs.FunctionProblem(squares, data(), dim=3).describe()
    assert described["loss"].endswith("return ((features @ x - labels) ** 2).mean() / 2")
    others = [
        gs.FunctionProblem(squares, data(1), dim=3),
        gs.FunctionProblem(squares, data()[::-1], dim=3),
        gs.FunctionProblem(squares, data(), start=torch.ones(3)),
        gs.FunctionProblem(squares, data(), dim=3, penalty=gs.L2Penalty(0.1)),
        gs.FunctionProblem(squares, data(), dim=3, penalty=lambda x: x.sum()),
        gs.FunctionProblem(squares, data(), dim=3, batch_size=2),
    ]
    every = [described, *(other.describe() for other in others)]
    assert all(one != other for k, one in enumerate(every) for other in every[:k])


def test_a_problem_travels_to_another_process():
    problem = gs.FunctionProblem(squares, data(), dim=3, penalty=own_penalty)
    x = points(4, 2, 3)
    expected = problem.local_loss(x), problem.local_grad(x)
    copy = pickle.loads(pickle.dumps(problem))
    close(copy.local_loss(x), expected[0])
    close(copy.local_grad(x), expected[1])


def test_what_it_remembers_is_no_part_of_a_problem():
    """A store finds the runs of a problem whose gradient was traced."""
    problem = gs.FunctionProblem(squares, data(), dim=3, penalty=own_penalty)
    before = fingerprint(problem)
    problem.local_grad(points(4, 2, 3))
    assert fingerprint(problem) == before


def own_penalty(x: Tensor) -> Tensor:
    return x.square().sum()


def branching(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return squares(x, a, b) if x.sum() > 0 else x.sum()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gs.FunctionProblem(squares, data()), "dim: got None, need either dim or start"),
        (lambda: gs.FunctionProblem(squares, [], dim=3), "node_data: got no nodes, need"),
        (
            lambda: gs.FunctionProblem(squares, ["text"], dim=3),
            "node_data[0]: got str, need a tensor",
        ),
        (
            lambda: gs.FunctionProblem(squares, data(), dim=4),
            "loss: got squares, which fails on the data of node 0",
        ),
        (
            lambda: gs.FunctionProblem(lambda x, a, b: a @ x, data(), dim=3),
            "loss: got shape (4,) from <lambda>, need a scalar",
        ),
        (lambda: gs.FunctionProblem(lambda x, a, b: 1.0, data(), dim=3), "loss: got float from"),
        (
            lambda: gs.FunctionProblem(branching, data(), dim=3),
            "got branching, which cannot be differentiated",
        ),
        (
            lambda: gs.FunctionProblem(squares, data(), dim=3, batch_size=5),
            "batch_size: got 5, need an integer in [1, 4], the samples of node 0",
        ),
        (
            lambda: gs.FunctionProblem(lambda x, c: x.sum(), [1.0], dim=1, batch_size=1),
            "or no batch_size",
        ),
        (
            lambda: gs.FunctionProblem(squares, data(), dim=3, optimum=torch.ones(2)),
            "optimum: got shape (2,), need shape (3,)",
        ),
        (
            lambda: gs.FunctionProblem(squares, data(), start=torch.ones(1, 3)),
            "start: got shape (1, 3), need shape (dim,)",
        ),
        (
            lambda: gs.FunctionProblem(squares, data(), dim=3, penalty=0.1),
            "penalty: got 0.1, need a function",
        ),
        (
            lambda: gs.FunctionProblem(lambda x, c: c, [float("nan")], dim=1),
            "node_data[0]: got NaN or infinite",
        ),
    ],
)
def test_refusals(make, message: str):
    with pytest.raises(gs.InvalidInput, match=re.escape(message)):
        make()


def shifted_in_place(x: Tensor, features: Tensor, labels: Tensor) -> Tensor:
    r = -labels
    r += features @ x
    return (r**2).mean() / 2


def product_in_place(x: Tensor) -> Tensor:
    p = torch.ones_like(x[0])
    for k in range(len(x)):
        p *= x[k]
    return p


@pytest.mark.parametrize("batch_size", [None, 2])
def test_a_loss_that_works_in_place_is_the_same_every_time(batch_size: int | None):
    """A replayed program would go on with the tensor that it wrote to the last time."""
    in_place = gs.FunctionProblem(shifted_in_place, data(), dim=3, batch_size=batch_size)
    plain = gs.FunctionProblem(squares, data(), dim=3, batch_size=batch_size)
    for x in (points(4, 2, 3), 2 * points(4, 2, 3)):
        close(in_place.local_grad(x), plain.local_grad(x))
        close(in_place.sample_grad(x, 5, [1, 2]), plain.sample_grad(x, 5, [1, 2]))


def test_a_penalty_that_works_in_place_is_the_same_every_time():
    problem = gs.FunctionProblem(lambda x: 0 * x.sum(), [()], dim=3, penalty=product_in_place)
    x = points(1, 1, 3)
    others = torch.stack([x[..., [1, 2]], x[..., [0, 2]], x[..., [0, 1]]], dim=-2).prod(-1)
    for _ in range(3):
        close(problem.local_grad(x), others)


def test_what_loss_and_penalty_read_may_change_between_simulations(tmp_path):
    weight = {"loss": 1.0, "penalty": 0.0}
    problem = gs.FunctionProblem(
        lambda x, a, b: weight["loss"] * squares(x, a, b),
        data(),
        dim=3,
        penalty=lambda x: weight["penalty"] * x.square().sum(),
    )

    def run(**how) -> Tensor:
        where = {"steps": 20, "metrics": ["loss"], **how}
        return gs.simulate(gs.DSGD(0.01), problem, gs.ring(4), **where).x

    before = run()
    weight |= {"loss": 3.0, "penalty": 0.5}
    stored, after = run(store=tmp_path), run()
    slopes = 3 * gs.FunctionProblem(squares, data(), dim=3).local_grad(points(4, 1, 3))
    close(problem.local_grad(points(4, 1, 3)), slopes + points(4, 1, 3))
    close(stored, after)
    assert not torch.allclose(before, after)


def test_batches_of_a_few_stacks_are_kept():
    problem = gs.FunctionProblem(squares, data(), dim=3, batch_size=2)
    for seed in range(3 * KEPT):
        problem.sample_grad(points(4, 1, 3), 0, [seed])
    assert len(problem._orders._epochs) == KEPT
