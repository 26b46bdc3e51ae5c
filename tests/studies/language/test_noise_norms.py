"""Noise norms against a loop with autograd, and where training pauses to measure them."""

import dataclasses

import pytest
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from gossamer.algorithms import DSGD
from gossamer.data import zipf_corpus
from gossamer.data.order import BatchOrder, TokenWindows
from gossamer.models import GPT
from gossamer.networks import complete
from gossamer.problems import LanguageProblem
from gossamer.problems.language import LanguageProtocol, shuffled, token_loss
from gossamer.simulation import Stack
from gossamer.studies.language.noise_norms import NoiseAlongTraining, full_gradient, noise_norms
from studies.language.small import SMALL as ALL_NODES

SIZES = {"context": 8, "width": 16, "heads": 2, "layers": 1}
SEEDS = [700, 701, 702]
SMALL = dataclasses.replace(ALL_NODES, num_nodes=1)


def tiny(protocol: LanguageProtocol, batch_size: int) -> LanguageProblem:
    corpus = zipf_corpus(400, num_types=30)
    task = {"protocol": protocol, "stride": 4, "batch_size": batch_size}
    return LanguageProblem(corpus, 1, **task, **SIZES).to("cpu", torch.float64)


def somewhere(problem: LanguageProblem) -> torch.Tensor:
    """A point after some training, `(1, 1, dim)`."""
    stack = Stack(DSGD(0.1), problem, complete(1), None, [0], torch.float64)
    stack.advance(20)
    return stack.x


def by_autograd(problem: LanguageProblem, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The gradient of the loss on these windows, on a module of its own."""
    sizes = SIZES["context"], SIZES["width"], SIZES["heads"], SIZES["layers"]
    causal = problem.protocol == "causal"
    model = GPT(len(problem.corpus.vocabulary), *sizes, causal=causal).double()
    vector_to_parameters(x.flatten(), model.parameters())
    tokens = problem.corpus.train if causal else shuffled(problem.corpus.train, 0)
    inputs, targets = TokenWindows(tokens, SIZES["context"], problem.stride)[rows]
    grads = torch.autograd.grad(token_loss(model(inputs), targets), list(model.parameters()))
    return parameters_to_vector(grads)


@pytest.mark.parametrize("protocol", ["causal", "paper"])
def test_norms_are_those_of_a_loop_over_the_batches(protocol: LanguageProtocol):
    problem = tiny(protocol, batch_size=10)
    x, windows = somewhere(problem), problem.describe()["samples"][0]
    full = by_autograd(problem, x, torch.arange(windows))
    expected = [
        [(by_autograd(problem, x, rows) - full).norm() for rows in order.epoch(0)]
        for order in (BatchOrder(windows, 10, seed, node=0) for seed in SEEDS)
    ]
    found = noise_norms(problem, x, full.view_as(x), SEEDS)
    assert found.shape == (problem.steps_per_epoch, len(SEEDS))
    torch.testing.assert_close(found, torch.tensor(expected).double().T, rtol=1e-6, atol=0)


@pytest.mark.parametrize("protocol", ["causal", "paper"])
def test_the_mean_of_an_epoch_is_the_full_gradient(protocol: LanguageProtocol):
    windows = tiny(protocol, 1).steps_per_epoch
    divisor = next(d for d in range(2, windows + 1) if windows % d == 0)
    problem = tiny(protocol, windows // divisor)
    x = somewhere(problem)
    exact = by_autograd(problem, x, torch.arange(windows)).view_as(x)
    torch.testing.assert_close(full_gradient(problem, x, seed=700), exact, rtol=0, atol=1e-12)
    torch.testing.assert_close(problem.local_grad(x), exact, rtol=0, atol=1e-12)


def test_windows_that_fill_no_batch_matter_little():
    problem = tiny("causal", batch_size=10)
    x, windows = somewhere(problem), problem.describe()["samples"][0]
    left_out = windows % 10
    assert left_out > 0
    exact = problem.local_grad(x)
    found = full_gradient(problem, x, seed=700)
    largest = noise_norms(tiny("causal", left_out), x, exact, SEEDS).max()
    assert 0 < (found - exact).norm() <= 2 * left_out / (windows - left_out) * largest


def test_a_unit_measures_where_training_pauses():
    """At epoch 0 the model stands at its start, later it does not; every pass has its norms."""
    unit = NoiseAlongTraining("small", SMALL, 0.1, (0, 2), training_seed=0, noise_seeds=(700, 701))
    result = unit.run("cpu")
    problem = SMALL.problem("cpu")
    x = problem.start.to(SMALL.dtype)[None, None]
    gradient = full_gradient(problem, x, seed=700)
    expected = noise_norms(problem, x, gradient, [700, 701]).flatten()
    first, later = result["measured"]
    assert first["norms"] == pytest.approx(expected.tolist(), rel=1e-4)
    assert first["gradient_norm"] == pytest.approx(float(gradient.norm()), rel=1e-4)
    assert (first["epoch"], later["epoch"]) == (0, 2)
    assert len(later["norms"]) == 2 * result["steps_per_epoch"]
    assert later["validation_loss"] < first["validation_loss"]
    assert result["final_validation_loss"] < later["validation_loss"]
