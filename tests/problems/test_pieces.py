"""Losses over whole datasets: in pieces only where that is the loss of all samples."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import pytest
import torch
from problems.modules import (
    CLASSES,
    Recurrent,
    convolution,
    cuda,
    flag,
    normalized,
    perceptron,
    transformer,
)
from torch import Tensor, nn
from torch.nn import functional

import gossamer as gs
from gossamer.data.pairs import as_pairs
from gossamer.problems import ModuleProblem
from gossamer.problems.pieces import SAMPLES_AT_ONCE, samples_at_once
from gossamer.problems.vector_module import VectorModule

SIZES = (SAMPLES_AT_ONCE + 1, 3, 40)
WEIGHT = torch.tensor([1.0, 2.0, 3.0, 1.0])


def sorted_data(shape: tuple[int, ...] = (5,)) -> list[tuple[Tensor, Tensor]]:
    """Nodes whose samples are in the order of their classes, which lie apart."""
    labels = [torch.arange(size) * CLASSES // size for size in SIZES]
    far = [own.view(-1, *[1] * len(shape)) for own in labels]
    return [(torch.randn(len(z), *shape) + z, own) for z, own in zip(far, labels, strict=True)]


def zeros() -> nn.Module:
    module = nn.Linear(5, CLASSES)
    nn.init.zeros_(module.weight)
    nn.init.zeros_(module.bias)
    return module


def with_batch_norm() -> nn.Module:
    return normalized(perceptron(nn.BatchNorm1d(8)))


TOGETHER = {
    "batch norm": (with_batch_norm, functional.cross_entropy),
    "weights": (perceptron, nn.CrossEntropyLoss(weight=WEIGHT)),
    "weights of a function": (perceptron, partial(functional.cross_entropy, weight=WEIGHT)),
    "weights at zero": (zeros, nn.CrossEntropyLoss(weight=WEIGHT)),
    "ignored": (perceptron, partial(functional.cross_entropy, ignore_index=0)),
    "contrast": (perceptron, lambda y, k: y.var() + functional.cross_entropy(y, k)),
}


@pytest.mark.parametrize("vectorize", [True, False])
@pytest.mark.parametrize(("make", "loss"), TOGETHER.values(), ids=TOGETHER)
def test_what_is_no_mean_over_samples_is_evaluated_as_a_whole(
    make: Callable[[], nn.Module], loss: Callable[..., Tensor], vectorize: bool
):
    module, data = make(), sorted_data()
    problem = ModuleProblem(
        module, loss, data, batch_size=3, validation=data[0], vectorize=vectorize
    )
    module.eval()
    losses = torch.stack([loss(module(inputs), labels) for inputs, labels in data])
    x = problem.start.expand(3, 1, -1)
    torch.testing.assert_close(problem.local_loss(x)[:, 0], losses, rtol=1e-6, atol=1e-6)
    found = problem.validation_loss(problem.start[None])[0]
    torch.testing.assert_close(found, losses[0], rtol=1e-6, atol=1e-6)
    grads = [torch.autograd.grad(one, module.parameters(), retain_graph=True) for one in losses]
    flat = torch.stack([torch.cat([part.flatten() for part in grad]) for grad in grads])
    torch.testing.assert_close(problem.local_grad(x)[:, 0], flat, rtol=1e-4, atol=1e-6)


def test_a_weight_of_a_rare_class_in_the_midst_of_the_samples_is_found():
    data = [(torch.randn(40, 5), torch.zeros(40).long()) for _ in range(3)]
    data[1][1][[7, 9]] = torch.tensor([2, 3])
    loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.0, 5.0, 1.0]))
    assert ModuleProblem(perceptron(), loss, data, batch_size=3)._at_once is None


@pytest.mark.parametrize("heavy", range(10))
def test_one_weight_of_ten_classes_is_found(heavy: int):
    weight = torch.ones(10)
    weight[heavy] = 20.0
    data = [(torch.randn(100, 5), torch.randint(10, (100,))) for _ in range(2)]
    loss = nn.CrossEntropyLoss(weight=weight)
    assert ModuleProblem(nn.Linear(5, 10), loss, data, batch_size=3)._at_once is None


def masked(y: Tensor, targets: Tensor) -> Tensor:
    """The mean error where there is a target, of which there is one in ten."""
    mask = targets > 0.8
    return (mask * (y - targets).abs()).sum() / mask.sum().clamp(min=1)


def padded(y: Tensor, tokens: Tensor) -> Tensor:
    """The mean over tokens but those of padding, the largest number."""
    return functional.cross_entropy(y.mT, tokens, ignore_index=CLASSES - 1)


class SlightlyNormalized(nn.Linear):
    """Little of the outputs depends on the other samples."""

    def forward(self, x: Tensor) -> Tensor:
        y = super().forward(x)
        return y + 0.02 * functional.batch_norm(y, None, None, training=True)


@pytest.mark.parametrize("autocast", [None, torch.bfloat16])
def test_a_module_that_mixes_samples_a_little_is_evaluated_as_a_whole(autocast):
    options = {"batch_size": 3, "autocast": autocast}
    loss, module = functional.cross_entropy, SlightlyNormalized(5, CLASSES)
    assert ModuleProblem(module, loss, sorted_data(), **options)._at_once is None


@pytest.mark.parametrize("seed", range(8))
def test_masks_make_a_loss_no_mean_over_samples_and_no_sum(seed: int):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.rand(4, 500, 1, generator=generator) * 0.9
    data = [(own.repeat(1, 5), own) for own in rows]
    assert ModuleProblem(nn.Linear(5, 1), masked, data, batch_size=3)._at_once is None
    tokens = torch.randint(CLASSES - 1, (2, 400, 6), generator=generator)
    tokens[:, ::33, 3:] = CLASSES - 1
    words = [(own, own) for own in tokens]
    speaker = nn.Sequential(nn.Embedding(CLASSES, 5), nn.Linear(5, CLASSES))
    assert ModuleProblem(speaker, padded, words, batch_size=3)._at_once is None


def test_many_small_shares_add_up_in_low_precision():
    data = [(torch.randn(20_000, 3), torch.randn(20_000, 1) + 1)]
    module = nn.Linear(3, 1)
    problem = ModuleProblem(module, functional.mse_loss, data, batch_size=3)
    exact = problem.local_grad(problem.start[None, None])
    short = problem.to(torch.bfloat16).local_grad(problem.start[None, None].bfloat16())
    assert (short - exact).norm() < 0.05 * exact.norm()


@pytest.mark.parametrize("options", [{}, {"autocast": torch.bfloat16}])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_nearly_equal_weights_are_told_from_the_rounding_of_low_precision(dtype, options):
    loss = nn.CrossEntropyLoss(weight=1 + WEIGHT / 100)
    module, data = perceptron().to(dtype), sorted_data()
    assert ModuleProblem(module, loss, data, batch_size=3, **options)._at_once is None


IN_PIECES = {
    "perceptron": (perceptron, (5,), {}),
    "layers of zeros": (zeros, (5,), {}),
    "dropout": (lambda: perceptron(nn.Dropout(0.5)), (5,), {}),
    "convolution": (convolution, (1, 6, 6), {}),
    "lstm": (Recurrent, (7, 5), {}),
    "group norm": (lambda: perceptron(nn.GroupNorm(2, 8)), (5,), {}),
    "frozen": (lambda: perceptron(nn.BatchNorm1d(8).eval()), (5,), {}),
    "autocast": (perceptron, (5,), {"autocast": torch.bfloat16}),
    "bfloat16": (lambda: perceptron().bfloat16(), (5,), {}),
}


@pytest.mark.parametrize(("make", "shape", "options"), IN_PIECES.values(), ids=IN_PIECES)
def test_a_mean_over_samples_is_evaluated_in_pieces(make, shape, options):
    data, loss = sorted_data(shape), functional.cross_entropy
    problem = ModuleProblem(make(), loss, data, batch_size=3, validation=data[0], **options)
    assert problem._at_once == SAMPLES_AT_ONCE


def test_tokens_are_evaluated_in_pieces():
    tokens = torch.randint(CLASSES, (3, 300))
    data = list(zip(tokens, tokens.roll(1), strict=True))
    problem = ModuleProblem(transformer(), functional.cross_entropy, data, batch_size=3)
    assert problem._at_once == SAMPLES_AT_ONCE


class Speaker(nn.Module):
    """Scores of a next token at every place, with samples along one of the axes, or flat."""

    kinds: ClassVar[set[torch.dtype]] = set()

    def __init__(self, axis: int | None):
        super().__init__()
        self.word, self.axis = nn.Embedding(CLASSES, CLASSES), axis

    def forward(self, tokens: Tensor) -> Tensor:
        scores = self.word(tokens)
        self.kinds.add(scores.dtype)
        return scores.flatten(0, 1) if self.axis is None else scores.movedim(0, self.axis)


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_samples_may_be_along_any_axis_and_the_module_is_run_in_its_own_precision(axis):
    tokens = torch.randint(CLASSES, (300, 6))

    def loss(y: Tensor, targets: Tensor) -> Tensor:
        flat = y if axis is None else y.movedim(axis, 0).flatten(0, 1)
        return functional.cross_entropy(flat, targets.flatten())

    Speaker.kinds.clear()
    problem = ModuleProblem(Speaker(axis), loss, [(tokens, tokens.roll(1, 1))], batch_size=3)
    assert problem._at_once == SAMPLES_AT_ONCE
    assert Speaker.kinds == {torch.float32}


def low_precision_only(y: Tensor, labels: Tensor) -> Tensor:
    if y.dtype == torch.float64:
        raise RuntimeError("no kernel for double")
    return functional.cross_entropy(y, labels)


@pytest.mark.parametrize("autocast", [None, torch.bfloat16])
def test_what_knows_no_double_precision_is_found_out_in_its_own(autocast: torch.dtype | None):
    options = {"batch_size": 3, "autocast": autocast}
    problem = ModuleProblem(perceptron(), low_precision_only, sorted_data(), **options)
    assert problem._at_once == SAMPLES_AT_ONCE


@pytest.mark.parametrize("divisor", [1, 32])
def test_a_sum_over_the_batch_is_refused(divisor: int):
    def summed(y: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(y, labels, reduction="sum") / divisor

    with pytest.raises(gs.InvalidInput, match=r'loss: got a sum .*; e\.g\. reduction="mean"'):
        ModuleProblem(perceptron(), summed, sorted_data(), batch_size=3)


def test_validation_data_alone_may_need_to_be_evaluated_as_a_whole():
    inputs, labels = torch.randn(300, 5), torch.ones(300).long()
    few = torch.randint(CLASSES, (300,))
    loss, module = nn.CrossEntropyLoss(weight=WEIGHT), perceptron()
    options = {"batch_size": 3, "validation": (inputs, few), "vectorize": False}
    problem = ModuleProblem(module, loss, [(inputs, labels)], **options)
    found = problem.validation_loss(problem.start[None])[0]
    torch.testing.assert_close(found, loss(module(inputs), few), rtol=1e-6, atol=1e-6)


def test_the_choice_leaves_random_numbers_and_warnings_alone(recwarn: pytest.WarningsRecorder):
    module, data, state = perceptron(nn.Dropout(0.5)), sorted_data(), torch.get_rng_state()

    def with_variance(y: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(y, labels) + y.var(0).mean()

    ModuleProblem(module, with_variance, data, batch_size=3)
    assert torch.equal(torch.get_rng_state(), state)
    assert not [one for one in recwarn if "degrees of freedom" in str(one.message)]


@cuda
@pytest.mark.filterwarnings("ignore:Please use the new API")
def test_on_a_gpu_rounding_makes_no_samples_depend_on_each_other():
    model = VectorModule(convolution().cuda(), functional.cross_entropy)
    nodes = [as_pairs((z.cuda(), labels.cuda())) for z, labels in sorted_data((1, 6, 6))]
    with flag(torch.backends.cuda.matmul, "allow_tf32", True):
        assert samples_at_once(model, nodes) == SAMPLES_AT_ONCE
