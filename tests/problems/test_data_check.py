"""Data that do not fit each other, the module or its loss are refused by name."""

import pytest
import torch
from problems.modules import CLASSES, NODES, Tied, perceptron
from torch import Tensor, nn
from torch.nn import functional

import gossamer as gs
from gossamer.data import TokenWindows
from gossamer.problems import ModuleProblem

INPUTS, LABELS = torch.randn(9, 5), torch.arange(9) % CLASSES
WRONG = {
    "shape": ((INPUTS[:, :4], LABELS), r"inputs of torch\.float32 and shape \(4,\), need .*\(5,\)"),
    "kind of inputs": ((INPUTS.long(), LABELS), r"inputs of torch\.int64 and shape"),
    "kind of targets": (
        (INPUTS, LABELS.float()),
        r"targets of torch\.float32 .* need torch\.int64",
    ),
    "axes": ((INPUTS, LABELS[:, None]), r"targets of .* shape \(1,\), need .*\(\), as node 0"),
    "empty": ((INPUTS[:0], LABELS[:0]), "0 inputs and 0 targets, need equally many, at least 1"),
    "too large": ((INPUTS, LABELS + (LABELS == 3)), r"sample 3 with the target 4, .*out of bounds"),
    "too large beside others": (
        (INPUTS[:3], torch.tensor([4, 1, 2])),
        r"sample 0 with the target 4, .*out of bounds",
    ),
    "negative": ((INPUTS, LABELS - 3 * (LABELS == 2)), r"sample 2 with the target -1, on which"),
}


def build(node: tuple[Tensor, Tensor], validation=None, **options) -> ModuleProblem:
    """The last node is given."""
    data = [(INPUTS, LABELS)] * (NODES - 1) + [node]
    options = {"batch_size": 2, "validation": validation, **options}
    return ModuleProblem(perceptron(), functional.cross_entropy, data, **options)


@pytest.mark.parametrize("vectorize", [None, False])
@pytest.mark.parametrize(("wrong", "found"), WRONG.values(), ids=WRONG)
def test_data_that_do_not_fit_are_refused_by_name(wrong, found: str, vectorize: bool | None):
    with pytest.raises(gs.InvalidInput, match=rf"^node_datasets\[2\]: got {found}"):
        build(wrong, vectorize=vectorize)


@pytest.mark.parametrize("vectorize", [None, False])
@pytest.mark.parametrize("wrong", [wrong for wrong, _ in WRONG.values()], ids=WRONG)
def test_validation_data_that_do_not_fit_are_refused(wrong, vectorize: bool | None):
    with pytest.raises(gs.InvalidInput, match=r"^validation: got"):
        build((INPUTS, LABELS), wrong, vectorize=vectorize)


def test_tokens_beyond_the_vocabulary_are_refused():
    tokens = torch.arange(8) % CLASSES
    data = [(tokens, tokens), (tokens + (tokens == 3), tokens)]
    with pytest.raises(gs.InvalidInput, match=r"^node_datasets\[1\]: got sample 3 .*out of range"):
        ModuleProblem(Tied(), functional.cross_entropy, data, batch_size=2)


def test_sequences_held_out_may_be_longer():
    def mean_loss(y: Tensor, target: Tensor) -> Tensor:
        return functional.mse_loss(y, target)

    module, held_out = nn.Linear(1, 1), (torch.randn(6, 9, 1), torch.randn(6, 9, 1))
    data = [(torch.randn(6, 4, 1), torch.randn(6, 4, 1))] * NODES
    problem = ModuleProblem(module, mean_loss, data, batch_size=2, validation=held_out)
    expected = mean_loss(module(held_out[0]), held_out[1])
    torch.testing.assert_close(problem.validation_loss(problem.start[None])[0], expected)


def test_windows_of_tokens_need_not_be_held_as_tensors():
    windows = TokenWindows(torch.arange(40) % CLASSES, 3, 1)
    module = nn.Sequential(nn.Embedding(CLASSES, 4), nn.Linear(4, CLASSES))

    def loss(y: Tensor, tokens: Tensor) -> Tensor:
        return functional.cross_entropy(y.flatten(0, -2), tokens.flatten())

    ModuleProblem(module, loss, [windows] * NODES, batch_size=2, validation=windows)


def test_a_batch_of_one_sample_is_refused_where_it_has_no_statistics():
    module = perceptron(nn.BatchNorm1d(8, track_running_stats=False))
    data = [(INPUTS, LABELS)] * NODES
    with pytest.raises(gs.InvalidInput, match=r"batch_size: got 1, .*, need at least 2"):
        ModuleProblem(module, functional.cross_entropy, data, batch_size=1)
    ModuleProblem(perceptron(), functional.cross_entropy, data, batch_size=1)


@pytest.mark.parametrize("kind", [torch.uint16, torch.uint32, torch.int32, torch.uint8])
def test_integers_of_any_size_are_tokens_and_classes(kind: torch.dtype):
    class Speaker(nn.Embedding):
        def forward(self, tokens):
            return super().forward(tokens.long())

    tokens = torch.tensor([[0, 3], [2, 1], [1, 1]])
    data = [(tokens.to(kind), tokens.to(kind))] * 2

    def loss(y, targets):
        return nn.functional.cross_entropy(y.flatten(0, 1), targets.long().flatten())

    options = {"batch_size": 1, "validation": (tokens, tokens)}
    problem = ModuleProblem(Speaker(4, 4), loss, data, **options)
    assert problem.validation_loss(problem.start[None]).isfinite().all()


class Growing(nn.Linear):
    """Keeps a cache for the longest input, as some rotary embeddings do."""

    longest = 0

    def forward(self, inputs):
        if inputs.shape[1] > self.longest:
            self.longest = inputs.shape[1]
            self.register_buffer("cache", torch.ones(self.longest, 1), persistent=False)
        return super().forward(inputs * self.cache[: inputs.shape[1]])


def test_a_cache_that_grows_with_the_validation_data_is_refused():
    module, short = Growing(3, 1), (torch.randn(4, 2, 3), torch.randn(4, 2, 1))
    module(short[0])
    long = torch.randn(4, 5, 3), torch.randn(4, 5, 1)
    with pytest.raises(gs.InvalidInput, match="validation: got sample 0, on which Growing"):
        ModuleProblem(module, nn.functional.mse_loss, [short], batch_size=2, validation=long)


def test_a_loss_may_need_a_whole_batch():
    def hardest(y: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(y, labels, reduction="none").topk(4).values.mean()

    data = [(torch.randn(20, 5), torch.arange(20) % CLASSES)] * 2
    problem = ModuleProblem(perceptron(), hardest, data, batch_size=8, validation=data[0])
    assert problem.loss(problem.start[None]).isfinite().all()
    with pytest.raises(gs.InvalidInput, match="selected index k out of range"):
        ModuleProblem(perceptron(), hardest, data, batch_size=3)
