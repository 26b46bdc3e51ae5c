"""Losses, gradients and accuracies of the nodes of a module."""

import copy
import json
from collections.abc import Callable

import pytest
import torch
from problems.modules import (
    CHECKPOINTED,
    CLASSES,
    LOOPED,
    NODES,
    SAMPLES,
    VECTORIZED,
    VECTORS,
    build,
    perceptron,
    points,
    transformer,
)
from torch import Tensor, nn
from torch.nn import functional

import gossamer as gs
from gossamer.data import BatchOrder
from gossamer.problems.module_problem import ModuleProblem

KINDS = {
    f"{name}, {vectorize}": (*kind, vectorize)
    for name, kind in (VECTORIZED | LOOPED | CHECKPOINTED).items()
    for vectorize in (None, False)
}


@pytest.mark.parametrize(("make", "shape", "vectorize"), KINDS.values(), ids=KINDS)
def test_gradients_are_those_of_the_module_on_the_samples_which_a_process_would_see(
    make: Callable[[], nn.Module], shape: tuple[int, ...] | None, vectorize: bool | None
):
    module = make()
    problem = build(module, shape, vectorize=vectorize)
    x = points(problem, runs=1)
    node, seed, t = 2, 5, 9
    data = problem.batches.datasets[node]

    def plain(module: nn.Module, inputs: Tensor, labels: Tensor) -> Tensor:
        module = module.double()
        nn.utils.vector_to_parameters(x[node, 0].clone(), module.parameters())
        functional.cross_entropy(module(inputs), labels).backward()
        return torch.cat([p.grad.flatten() for p in module.parameters()])

    batch = data[BatchOrder(SAMPLES, 4, seed, node).at(t)]
    found, local = problem.sample_grad(x, t, [seed])[node, 0], problem.local_grad(x)[node, 0]
    expected = plain(copy.deepcopy(module), *batch), plain(module.eval(), data.inputs, data.targets)
    torch.testing.assert_close((found, local), expected, rtol=0, atol=1e-12)


def test_local_gradient_is_the_derivative_and_the_mean_of_an_epoch():
    problem = build(perceptron(), VECTORS)
    x = points(problem, runs=1).requires_grad_()
    (derivative,) = torch.autograd.grad(problem.local_loss(x).sum(), x)
    x = x.detach()
    epoch = torch.stack([problem.sample_grad(x, t, [3]) for t in range(problem.steps_per_epoch)])
    torch.testing.assert_close(problem.local_grad(x), derivative, rtol=0, atol=1e-12)
    torch.testing.assert_close(epoch.mean(0), derivative, rtol=0, atol=1e-12)


@pytest.mark.parametrize("vectorize", [True, False])
def test_transformers_are_simulated_by_default(vectorize: bool):
    problem = build(transformer(dropout=0.3), None, vectorize=vectorize)
    asked = {"metrics": ["loss", "grad_norm"]}
    run = gs.simulate(gs.GTNSGDm(lr=0.05, momentum=0.5), problem, gs.ring(NODES), steps=10, **asked)
    assert run.final("loss") < run.metrics["loss"][0]
    assert torch.isfinite(run.metrics["grad_norm"]).all()
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize("vectorize", [True, False])
def test_inference_mode_is_refused_with_the_way_out(vectorize: bool):
    problem = build(perceptron(), VECTORS, vectorize=vectorize)
    refused = r"torch\.inference_mode: got on, need off, .*; leave its `with` block"
    for call in (
        lambda: gs.simulate(gs.DSGD(0.1), problem, gs.ring(NODES), steps=2),
        lambda: problem.grad(problem.start[None]),
        lambda: build(perceptron(), VECTORS, vectorize=vectorize),
    ):
        with torch.inference_mode(), pytest.raises(gs.InvalidInput, match=refused):
            call()
    with torch.no_grad():
        gs.simulate(gs.DSGD(0.1), problem, gs.ring(NODES), steps=2)


@pytest.mark.parametrize("vectorize", [True, False])
def test_data_take_the_precision_of_the_module_and_losses_that_of_the_points(vectorize):
    """Arrays are float64, modules float32, and runs float64, all by default."""
    inputs, labels = torch.randn(NODES, 9, 5, dtype=torch.float64), torch.zeros(NODES, 9).long()
    arrays = zip(inputs.numpy(), labels.numpy(), strict=True)
    problem = ModuleProblem(
        perceptron(nn.GroupNorm(2, 8)), functional.cross_entropy, arrays, batch_size=2,
        validation=(inputs[0], labels[0]), vectorize=vectorize,
    )  # fmt: skip
    run = gs.simulate(gs.DSGD(lr=0.1), problem, gs.ring(NODES), steps=3, metrics=["loss"])
    mean = run.x.mean(0)
    assert (problem.start.dtype, mean.dtype) == (torch.float32, torch.float64)
    torch.testing.assert_close(problem.loss(mean), run.final("loss").to(mean), atol=1e-12, rtol=0)
    judge = problem.to("cpu", torch.float64)
    assert torch.equal(problem.validation_loss(mean), judge.validation_loss(mean))
    assert torch.equal(problem.grad(mean), judge.grad(mean))


def test_nodes_may_hold_different_amounts():
    sizes = (5, 9, 300)
    data = [(torch.randn(size, 5), torch.randint(CLASSES, (size,))) for size in sizes]
    problem = ModuleProblem(perceptron(), functional.cross_entropy, data, batch_size=5)
    assert problem.steps_per_epoch == 1
    x = problem.start.expand(3, 1, -1)
    assert problem.sample_grad(x, 4, [0]).shape == x.shape
    whole = functional.cross_entropy(problem.module_at(problem.start)(data[2][0]), data[2][1])
    torch.testing.assert_close(problem.local_loss(x)[2, 0], whole)


@pytest.mark.parametrize("vectorize", [True, False])
def test_the_objective_is_the_mean_of_the_nodes_and_not_of_their_samples(vectorize: bool):
    sizes = (5, 9, 300)
    data = [(torch.randn(size, 5).double(), torch.randint(CLASSES, (size,))) for size in sizes]
    loss, module = functional.cross_entropy, perceptron().double()
    problem = ModuleProblem(module, loss, data, batch_size=5, vectorize=vectorize)
    of_nodes = torch.stack([loss(module(inputs), labels) for inputs, labels in data])
    shares = torch.tensor(sizes, dtype=torch.float64) / sum(sizes)
    found = problem.loss(problem.start[None])[0]
    torch.testing.assert_close(found, of_nodes.mean(), rtol=0, atol=1e-12)
    assert abs(found - (shares * of_nodes).sum()) > 1e-3


def test_shows_its_module_and_sizes():
    shown = repr(build(perceptron(), VECTORS))
    assert shown == "ModuleProblem(module='Sequential', num_nodes=3, dim=84, batch_size=4)"


def test_validation_loss():
    held_out = torch.randn(30, 5), torch.randint(CLASSES, (30,))
    module = perceptron()
    problem = build(module, VECTORS, validation=held_out, dtype=torch.float32)
    expected = functional.cross_entropy(module(held_out[0]), held_out[1])
    found = problem.validation_loss(problem.start.expand(2, -1))
    torch.testing.assert_close(found, expected.expand(2))
    with pytest.raises(gs.InvalidInput, match="validation"):
        build(module, VECTORS).validation_loss(problem.start[None])


def test_a_result_becomes_a_module_again():
    held_out = torch.randn(30, 5), torch.randint(CLASSES, (30,))
    module = perceptron(nn.Dropout(0.5))
    module[0].requires_grad_(False)
    problem = build(module, VECTORS, validation=held_out, dtype=torch.float32)
    x = problem.start + 0.1
    found = problem.module_at(x)
    assert not found.training
    assert torch.equal(found[0].weight, module[0].weight)
    loss = functional.cross_entropy(found(held_out[0]), held_out[1])
    torch.testing.assert_close(loss, problem.validation_loss(x[None])[0])
    assert torch.equal(problem.module_at(problem.start)[-1].weight, module[-1].weight)


def test_simulates_with_any_method():
    problem = build(perceptron(), VECTORS)
    run = gs.simulate(
        gs.GTNSGDm(lr=0.05, momentum=0.5), problem, gs.ring(NODES), steps=60, seeds=range(2),
        metrics=["loss"], record_every=60,
    )  # fmt: skip
    assert (run.metrics["loss"][-1] < run.metrics["loss"][0]).all()
    assert json.loads(json.dumps(run.config))["problem"]["module"] == "Sequential"


def test_accuracy_is_the_share_of_right_answers_on_the_validation_data():
    held_out = torch.randn(30, 5, dtype=torch.float64), torch.randint(CLASSES, (30,))
    problem = build(perceptron(nn.Dropout(0.5)), VECTORS, validation=held_out)
    x = points(problem)[0]
    expected = [
        float((problem.module_at(w)(held_out[0]).argmax(-1) == held_out[1]).double().mean())
        for w in x
    ]
    assert problem.accuracy(x).tolist() == pytest.approx(expected, abs=1e-12)
    assert problem.to(torch.float32).accuracy(x.float()).dtype == torch.float32
    run = gs.simulate(gs.DSGD(0.1), problem, gs.ring(NODES), steps=2, metrics=["error_rate"])
    expected = 1 - problem.accuracy(run.x.mean(0)).item()
    assert run.final("error_rate").item() == pytest.approx(expected)


def test_ignored_targets_are_neither_right_nor_wrong():
    inputs, labels = torch.randn(300, 5, dtype=torch.float64), torch.randint(CLASSES, (300,))
    ignored = torch.where(torch.arange(300) % 3 == 0, -100, labels)
    problem = build(perceptron(), VECTORS, validation=(inputs, ignored))
    right = problem.module_at(problem.start)(inputs).argmax(-1) == labels
    expected = float(right[ignored >= 0].double().mean())
    assert problem.accuracy(problem.start[None]).item() == pytest.approx(expected, abs=1e-12)


def test_without_classes_or_validation_data_there_is_no_accuracy():
    assert not build(perceptron(), VECTORS).has_accuracy
    real = [(torch.randn(6, 5), torch.randn(6, CLASSES)) for _ in range(NODES)]
    loss = functional.mse_loss
    problem = ModuleProblem(perceptron(), loss, real, batch_size=2, validation=real[0])
    assert (problem.has_validation, problem.has_accuracy) == (True, False)
    with pytest.raises(gs.InvalidInput, match=r"validation: got .*, need data .* with integers"):
        problem.accuracy(problem.start[None])


@pytest.mark.parametrize("name", ["vectorize", "compile"])
@pytest.mark.parametrize("value", ["loop", 1, "False"])
def test_flags_are_true_false_or_none(name: str, value: object):
    with pytest.raises(gs.InvalidInput, match=rf"{name}: got {value!r}, need True, False or None"):
        build(perceptron(), VECTORS, **{name: value})


class Upright(nn.Module):
    """Scores of classes on the second axis, as torch's losses want them."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).transpose(1, 2)


def flat_loss(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(scores.flatten(0, 1), labels.flatten())


@pytest.mark.parametrize(
    ("module", "loss", "positions", "told"),
    [
        (Upright(), functional.cross_entropy, CLASSES, False),
        (Upright(), functional.cross_entropy, CLASSES + 1, False),
        (nn.Linear(5, CLASSES), flat_loss, CLASSES, False),
        (nn.Linear(5, CLASSES), flat_loss, CLASSES + 1, True),
    ],
)
def test_there_is_an_accuracy_only_if_the_classes_are_surely_on_the_last_axis(
    module, loss, positions, told
):
    """As many positions as classes, and the two axes cannot be told apart."""
    data = torch.randn(6, positions, 5), torch.randint(CLASSES, (6, positions))
    problem = ModuleProblem(module, loss, [data] * NODES, batch_size=2, validation=data)
    assert problem.has_accuracy == told
