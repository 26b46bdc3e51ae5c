"""Noise norms against a loop with autograd, and the seeds they are measured on."""

import pytest
import torch
from gossamer.studies.language.tuning import tuning_seeds
from gossamer.studies.synthetic.synthetic import fresh_seeds
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from gossamer.algorithms import DSGD
from gossamer.data import zipf_corpus
from gossamer.data.order import BatchOrder, TokenWindows
from gossamer.experiments import Options
from gossamer.models import GPT
from gossamer.networks import complete
from gossamer.problems import LanguageProblem
from gossamer.problems.language import LanguageProtocol, shuffled, token_loss
from gossamer.simulation import Stack
from gossamer.studies.language.noise_norms import (
    full_gradient,
    noise_norms,
    noise_seeds,
    training_seed,
)

SIZES = {"context": 8, "width": 16, "heads": 2, "layers": 1}
SEEDS = [700, 701, 702]


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


def test_noise_is_measured_on_batches_of_its_own():
    for seed in (0, 3):
        options = Options(seed=seed)
        used = {training_seed(options), *fresh_seeds(options), *tuning_seeds(options)}
        seeds = noise_seeds(options)
        assert used.isdisjoint(seeds)
        assert len(set(seeds)) == len(seeds)
    assert set(noise_seeds(Options(seed=0))).isdisjoint(noise_seeds(Options(seed=1)))
