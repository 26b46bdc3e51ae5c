"""The padding row of an embedding takes no gradient, however the copies are evaluated."""

import pytest
import torch
from problems.modules import CLASSES, SAMPLES, Padded, Tied, build, points
from torch import nn
from torch.nn import functional

from gossamer.data import BatchOrder


@pytest.mark.parametrize("vectorize", [True, False])
def test_the_padding_row_of_an_embedding_takes_no_gradient(vectorize: bool):
    """That of the module alone: a head tied to it moves the row."""
    apart = nn.Sequential(nn.Embedding(CLASSES, 6, padding_idx=-1), nn.Linear(6, CLASSES))
    tied = Tied()
    tied.embedding.padding_idx = 0
    for module in (apart, tied):
        problem = build(module, None, vectorize=vectorize)
        x = points(problem)
        grad, order = problem.sample_grad(x, 0, [0, 1])[1, 0], BatchOrder(SAMPLES, 4, 0, 1)
        inputs, targets = problem.batches.datasets[1][order.at(0)]
        alone = problem.module_at(x[1, 0]).train()
        functional.cross_entropy(alone(inputs), targets).backward()
        expected = nn.utils.parameters_to_vector([p.grad for p in alone.parameters()])
        torch.testing.assert_close(grad, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("vectorize", [True, False])
@pytest.mark.parametrize("padding_idx", [1, -2])
def test_the_padding_row_of_a_functional_embedding_stays(padding_idx: int, vectorize: bool):
    problem = build(Padded(padding_idx), None, vectorize=vectorize, batch_size=SAMPLES)
    x = points(problem)
    for grad in (problem.sample_grad(x, 0, [0, 1]), problem.local_grad(x)):
        table = grad[..., : CLASSES * 6].unflatten(-1, (CLASSES, 6))
        assert (table[..., padding_idx, :] == 0).all()
        assert (table[..., 0, :] != 0).any(-1).all()


def test_an_embedding_alone_needs_no_function_mode():
    """The mode costs time on every call of torch: only modules with a padding row pay for it."""
    for module, padding in ((Tied(), False), (Padded(0), True)):
        evaluator = build(module, None, vectorize=True).evaluator
        assert (evaluator._training.padding, evaluator._evaluation.padding) == (padding, padding)
