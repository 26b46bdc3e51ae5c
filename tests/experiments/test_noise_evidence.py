"""Noise norms against a loop with autograd; the figure and verdicts on samples made by hand."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from made_up import verdict
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from gossamer.algorithms import DSGD
from gossamer.data import zipf_corpus
from gossamer.data.order import BatchOrder, TokenWindows
from gossamer.experiments import Options, noise_evidence
from gossamer.experiments.experiment import Results
from gossamer.experiments.language import fresh_seeds, task_of, tuning_seeds
from gossamer.experiments.noise_evidence import (
    MEASURED,
    TASKS,
    FarQuantile,
    NoiseEvidence,
    full_gradient,
    length,
    measured_epochs,
    noise_norms,
    noise_seeds,
    samples,
    shape,
    training_seed,
)
from gossamer.models import GPT
from gossamer.networks import complete
from gossamer.noise import AlphaStable
from gossamer.problems import LanguageProblem
from gossamer.problems.language import Protocol, shuffled, token_loss
from gossamer.simulate import Stack
from gossamer.tails import diagnose

STUDY = NoiseEvidence()
SIZES = {"context": 8, "width": 16, "heads": 2, "layers": 1}
SEEDS = [700, 701, 702]


def tiny(protocol: Protocol, batch_size: int) -> LanguageProblem:
    corpus = zipf_corpus(400, num_types=30)
    task = {"protocol": protocol, "stride": 4, "batch_size": batch_size}
    return LanguageProblem(corpus, 1, **task, **SIZES).to(torch.float64, "cpu")


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
def test_norms_are_those_of_a_loop_over_the_batches(protocol: Protocol):
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
def test_the_mean_of_an_epoch_is_the_full_gradient(protocol: Protocol):
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


def test_epochs_are_the_papers():
    assert MEASURED == (0, 6, 10)
    assert measured_epochs(TASKS["paper"]) == [0, 6, 10]
    assert measured_epochs(replace(TASKS["paper"], epochs=4)) == [0, 2, 3]
    full = {unit.name: unit.config for unit in STUDY.units(Options(full=True, device="cuda"))}
    assert full["causal"]["task"]["epochs"] == 12
    assert full["causal"]["lr"] == 0.1
    assert full["paper"]["task"]["batch_size"] == 64
    json.dumps(full)


# ---- quantiles -------------------------------------------------------------------------------


def test_the_interval_of_the_far_quantile_covers_it():
    """95 %, and of 400 samples at least 92 %: nearly three standard errors below."""
    exact = math.sqrt(2) * float(torch.special.erfinv(torch.tensor(0.998, dtype=torch.float64)))
    draws = np.random.default_rng(0).standard_normal((400, 9000))
    inside = [far.low <= exact <= far.high for far in map(FarQuantile.of, draws)]
    assert np.mean(inside) >= 0.92


def test_length_and_shape_of_a_gaussian():
    norms = 20 + 3 * np.random.default_rng(0).standard_normal(100_000)
    for far, exact in ((length(norms), 1 + 3.0902 * 3 / 20), (shape(norms), 3.0902 / 0.67449)):
        assert far.low < exact < far.high
    moved = shape(5 * norms + 100)
    assert moved == pytest.approx(shape(norms))


def test_a_small_sample_does_not_bound_its_far_quantile():
    far = length(np.arange(1.0, 400.0))
    assert math.isinf(far.high)
    assert str(far) == "1.993 (above 1.99)"


# ---- drawing and judging ---------------------------------------------------------------------


def made(*tails: str, size: int = 9000) -> Results:
    """Norms of each kind at the three epochs, the same under both protocols."""
    generator = torch.Generator().manual_seed(1)
    kinds = {
        "light": lambda: 20 + torch.randn(size, generator=generator),
        "wide": lambda: 20 + 3 * torch.randn(size, generator=generator),
        "stable": lambda: AlphaStable(1.5).sample((size,), generator=generator).abs(),
    }
    measured = [
        {"epoch": e, "validation_loss": 5.0, "gradient_norm": 1.0, "norms": kinds[k]().tolist()}
        for e, k in zip(MEASURED, tails, strict=True)
    ]
    return {protocol: {"measured": measured} for protocol in TASKS}


@pytest.mark.parametrize(
    ("tails", "heavier", "alike"),
    [
        (("light", "wide", "stable"), "yes", "yes"),
        (("light", "light", "wide"), "yes", "no"),  # longer, but the shape is a Gaussian's
        (("light", "wide", "light"), "no", "no"),
        (("wide", "light", "light"), "no", "no"),
        (("stable", "stable", "stable"), "no", "partly"),  # alike, but not increasingly
    ],
)
def test_verdicts_flip_with_the_norms(tails: tuple[str, ...], heavier: str, alike: str):
    verdicts = STUDY.verdicts(made(*tails))
    assert len(verdicts) == 4
    for protocol in TASKS:
        assert verdict(verdicts, f"longer): `{protocol}`").holds == heavier
        assert verdict(verdicts, f"distribution: `{protocol}`").holds == alike


def test_the_synthetic_sample_is_what_it_says():
    results = made("light", "light", "light")
    law = samples(results["paper"])["α-stable"]
    assert law.size == 9000
    assert diagnose(law).tail == "infinite variance"


def test_too_few_norms_are_told():
    few = STUDY.verdicts(made("light", "light", "light", size=400))
    assert all("too few norms" in v.note for v in few)
    many = STUDY.verdicts(made("light", "light", "light"))
    assert not any("too few norms" in v.note for v in many)


def test_figures_show_four_panels_on_the_same_axes():
    figures = STUDY.figures(made("light", "wide", "stable"))
    assert list(figures) == ["noise-evidence-causal", "noise-evidence-paper"]
    axes = figures["noise-evidence-paper"].axes
    titles = [ax.get_title().split("\n")[0] for ax in axes]
    assert titles[0] == "epoch 0: no power tail"
    assert titles[2:] == ["epoch 10: infinite variance", "α-stable: infinite variance"]
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in axes}) == 1
    assert [len(ax.texts) for ax in axes] == [0, 0, 1, 1]  # what lies beyond is told


def test_quick_study_end_to_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(noise_evidence, "PASSES", 2)
    computed = {unit.name: unit.compute() for unit in STUDY.units(Options())}
    results = json.loads(json.dumps(computed))
    epochs = measured_epochs(task_of(Options(), TASKS["paper"]))
    assert len(set(epochs)) == 3
    for result in results.values():
        assert [m["epoch"] for m in result["measured"]] == epochs
        assert all(len(m["norms"]) == 2 * result["steps_per_epoch"] for m in result["measured"])
        assert result["final_validation_loss"] < result["measured"][0]["validation_loss"]
    for figure in STUDY.figures(results).values():
        figure.canvas.draw()
    shapes, *estimates = STUDY.tables(results)
    assert [len(row) for row in shapes.rows] == [len(shapes.columns)] * 8
    assert [row[0] for row in estimates[0].rows[::7]] == list(samples(results["causal"]))
    assert {v.holds for v in STUDY.verdicts(results)} <= {"yes", "partly", "no"}
