"""What may be made a function of one vector, and what is refused."""

import pickle
import random
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from problems.modules import (
    CLASSES,
    IMAGES,
    NODES,
    SAMPLES,
    VECTORS,
    Counting,
    Keeping,
    RandomDepth,
    Tied,
    build,
    convolution,
    cuda,
    flag,
    perceptron,
    points,
    twice,
)
from torch import Tensor, nn
from torch.backends import cudnn
from torch.backends.cuda import matmul
from torch.nn import functional

import gossamer as gs
from gossamer.fingerprint import fingerprint
from gossamer.problems.module_problem import ModuleProblem
from gossamer.problems.vector_module import VectorModule, exact_convolutions


def test_frozen_parameters_are_not_part_of_x():
    module = perceptron()
    for p in module[0].parameters():
        p.requires_grad_(False)
    problem = build(module, VECTORS)
    assert problem.dim == 8 * CLASSES + CLASSES
    with pytest.raises(gs.InvalidInput, match="parameters to be trained"):
        build(module.requires_grad_(False), VECTORS)


def test_tied_weights_are_one_parameter():
    assert build(Tied(), None).dim == CLASSES * 6


@pytest.mark.parametrize(
    ("module", "draws"),
    [(perceptron(), False), (perceptron(nn.Dropout(0.5)), True), (RandomDepth(), True)],
    ids=["perceptron", "dropout", "random depth"],
)
def test_whether_a_module_draws_is_learnt(module: nn.Module, draws: bool):
    assert build(module, VECTORS, vectorize=False)._model.draws == draws


@cuda
@pytest.mark.parametrize("way", [{"vectorize": True}, {"vectorize": False}, {"compile": True}])
def test_convolutions_in_float32_are_in_float32(way: dict[str, bool]):
    problem = build(convolution(), IMAGES, **{"compile": False} | way)
    x = points(problem)
    exact = problem.sample_grad(x, 0, [0, 1])
    found = problem.to("cuda", torch.float32).sample_grad(x.cuda().float(), 0, [0, 1])
    assert float((found.cpu() - exact).norm() / exact.norm()) < 1e-5


@pytest.mark.filterwarnings("ignore:Please use the new API")
@pytest.mark.parametrize(
    ("of", "name", "value", "expected"),
    [
        (matmul, "allow_tf32", True, "tf32"),
        (matmul, "fp32_precision", "tf32", "tf32"),
        (matmul, "fp32_precision", "ieee", "ieee"),
        (cudnn.conv, "fp32_precision", "ieee", "ieee"),
    ],
)
def test_convolutions_follow_products_by_older_and_newer_flags_of_torch(
    of: object, name: str, value: object, expected: str
):
    with flag(of, name, value):
        before = cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision
        with exact_convolutions(torch.device("cuda")):
            assert (cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == (expected, expected)
            assert cudnn.allow_tf32 == (expected == "tf32")
        assert (cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == before


def test_a_layer_used_twice_stays_whole():
    problem = build(twice(nn.Linear(8, 8)), VECTORS)
    assert problem.dim == 5 * 8 + 8 + 8 * 8 + 8 + 8 * CLASSES + CLASSES
    gs.simulate(gs.DSGD(0.1), problem, gs.ring(NODES), steps=2, dtype=torch.float32)
    trained = torch.cat([p.flatten() for p in problem.module_at(problem.start).parameters()])
    assert torch.equal(trained, problem.start)


@pytest.mark.parametrize("vectorize", [True, False])
def test_what_a_module_keeps_of_a_run_stays_in_that_copy(vectorize: bool):
    problem = build(Keeping(), VECTORS, vectorize=vectorize)
    before = fingerprint(problem)
    for dtype in (torch.float32, torch.float64):
        gs.simulate(gs.DSGD(0.1), problem, gs.ring(NODES), steps=2, dtype=dtype)
    assert problem.module_at(problem.start).weights is None
    assert fingerprint(problem) == before
    x = points(problem)
    copied = pickle.loads(pickle.dumps(problem))
    assert torch.equal(copied.sample_grad(x, 0, [0, 1]), problem.sample_grad(x, 0, [0, 1]))


def test_a_module_that_was_run_and_cannot_be_copied_is_refused():
    module = Keeping()
    module(torch.ones(1, 5))
    with pytest.raises(gs.InvalidInput, match=r"Keeping, which cannot be copied .* before you run"):
        build(module, VECTORS)


@pytest.mark.parametrize("vectorize", [True, False])
def test_the_tensors_of_a_loss_move_with_the_module(vectorize: bool):
    """Modules are float32, and runs float64, by default."""
    weight = torch.tensor([1.0, 2.0, 3.0, 1.0])
    data = [(torch.randn(9, 5), torch.randint(CLASSES, (9,)))] * NODES
    how = {"batch_size": 4, "vectorize": vectorize}
    loss, module = nn.CrossEntropyLoss(weight=weight), perceptron()
    problem = ModuleProblem(module, loss, data, **how)
    run = gs.simulate(gs.DSGD(0.1), problem, gs.ring(NODES), steps=2)
    assert run.x.dtype == torch.float64
    assert loss.weight is weight
    same = ModuleProblem(
        module, lambda y, k: functional.cross_entropy(y, k, weight.to(y)), data, **how
    )
    assert torch.equal(gs.simulate(gs.DSGD(0.1), same, gs.ring(NODES), steps=2).x, run.x)


@pytest.mark.parametrize("vectorize", [None, False])
def test_a_loss_whose_tensors_cannot_move_names_the_precision_to_pass(vectorize: bool | None):
    """`vmap` computes it in the higher of both."""
    weight, data = torch.ones(CLASSES), [(torch.randn(9, 5), torch.randint(CLASSES, (9,)))] * NODES
    loss = partial(functional.cross_entropy, weight=weight)
    problem = ModuleProblem(perceptron(), loss, data, batch_size=4, vectorize=vectorize)
    task = {"problem": problem, "network": gs.ring(NODES), "steps": 2}
    with pytest.raises(gs.InvalidInput, match=r"dtype: got torch\.float64.* dtype=torch\.float32"):
        gs.simulate(gs.DSGD(0.1), **task)
    gs.simulate(gs.DSGD(0.1), **task, dtype=torch.float32)


def test_a_loss_per_sample_is_refused():
    data = [(torch.randn(9, 5), torch.randint(CLASSES, (9,)))] * NODES
    with pytest.raises(gs.InvalidInput, match=r"loss: got a tensor of shape \(2,\), need the mean"):
        ModuleProblem(perceptron(), nn.CrossEntropyLoss(reduction="none"), data, batch_size=4)


@pytest.mark.parametrize("vectorize", [True, False])
@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (nn.Linear(6, CLASSES), "shapes cannot be multiplied"),
        (nn.Linear(5, 1), "out of bounds"),
    ],
)
def test_what_does_not_fit_the_data_is_not_blamed_on_vmap(module, reason, vectorize):
    data = [(torch.randn(9, 5), torch.full((9,), CLASSES - 1))] * NODES
    with pytest.raises(gs.InvalidInput, match=f"fails on the first samples.*{reason}") as refusal:
        ModuleProblem(module, functional.cross_entropy, data, batch_size=2, vectorize=vectorize)
    assert "vectorize" not in str(refusal.value)


def test_what_is_no_module_and_no_precision_is_refused():
    data = [(torch.randn(9, 5), torch.randint(CLASSES, (9,)))] * NODES
    with pytest.raises(gs.InvalidInput, match=r"module: got .*, need an nn\.Module"):
        ModuleProblem(perceptron, functional.cross_entropy, data, batch_size=2)
    with pytest.raises(gs.InvalidInput, match="autocast: got 'bfloat16', need one of"):
        ModuleProblem(
            perceptron(), functional.cross_entropy, data, batch_size=2, autocast="bfloat16"
        )


@pytest.mark.parametrize("vectorize", [None, False])
@pytest.mark.parametrize("module", [nn.LSTM(5, CLASSES), nn.Sequential(nn.LSTM(5, CLASSES))])
def test_a_module_that_returns_no_one_tensor_is_refused(module: nn.Module, vectorize: bool | None):
    found = r"module: got \w+, which returns a tuple, need one tensor.*; wrap it in a module that"
    with pytest.raises(gs.InvalidInput, match=found):
        build(module, VECTORS, vectorize=vectorize)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_classes_that_are_no_long_integers_are_told_how_to_become_some(dtype: torch.dtype):
    data = [(torch.randn(9, 5), torch.randint(CLASSES, (9,)).to(dtype))] * NODES
    with pytest.raises(gs.InvalidInput, match=r"; make numbers of classes .* by \.long\(\)"):
        ModuleProblem(perceptron(), functional.cross_entropy, data, batch_size=2)


@pytest.mark.parametrize("of", [lambda k: k[:, None], lambda k: functional.one_hot(k, CLASSES)])
def test_long_integers_are_not_told_to_become_some(of: Callable[[Tensor], Tensor]):
    data = [(torch.randn(9, 5), of(torch.randint(CLASSES, (9,))))] * NODES
    with pytest.raises(gs.InvalidInput, match="fails on the first samples") as refusal:
        ModuleProblem(perceptron(), functional.cross_entropy, data, batch_size=2)
    assert ".long()" not in str(refusal.value)


class Exhausting(nn.Module):
    def __init__(self, reason: Exception):
        super().__init__()
        self.out, self.reason = nn.Linear(5, CLASSES), reason

    def forward(self, x: Tensor) -> Tensor:
        raise self.reason


def test_memory_that_ends_is_not_blamed_on_the_module():
    with pytest.raises(gs.InvalidInput, match=r"^memory: got .*out of memory.* smaller batch"):
        build(Exhausting(torch.OutOfMemoryError("CUDA out of memory")), VECTORS)


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("always", [True, False])
def test_a_module_that_writes_to_a_buffer_is_refused(in_place: bool, always: bool):
    with pytest.raises(gs.InvalidInput, match=r"module\.scale: got a buffer to which Counting"):
        build(Counting(in_place, always), VECTORS)


def test_spectral_norm_is_refused_while_it_iterates_and_works_in_evaluation_mode():
    module = perceptron(nn.utils.parametrizations.spectral_norm(nn.Linear(8, 8)))
    with pytest.raises(gs.InvalidInput, match=r"module\.1\.parametrizations\.weight\.0\._u: got"):
        build(module, VECTORS)
    module[1].eval()
    build(module, VECTORS)


@pytest.mark.parametrize("vectorize", [True, False])
@pytest.mark.parametrize("part", [nn.Dropout(0.9), nn.BatchNorm1d(8)])
def test_a_part_in_evaluation_mode_stays_so_in_training(part: nn.Module, vectorize: bool):
    module = perceptron(part.eval())
    problem = build(module, VECTORS, vectorize=vectorize, batch_size=SAMPLES)
    x = problem.start.expand(NODES, 1, -1)
    torch.testing.assert_close(problem.sample_grad(x, 0, [0]), problem.local_grad(x))


@pytest.mark.parametrize("training", [True, False])
def test_a_module_in_one_mode_is_trained_in_training_mode(training: bool):
    module = perceptron(nn.Dropout(0.9)).train(training)
    problem = build(module, VECTORS, batch_size=SAMPLES)
    x = problem.start.expand(NODES, 1, -1)
    assert not torch.allclose(problem.sample_grad(x, 0, [0]), problem.local_grad(x))


class Backbone(nn.Module):
    """Keeps its first layers in evaluation mode, as those who train the last one write it."""

    def __init__(self):
        super().__init__()
        self.first = perceptron(nn.BatchNorm1d(8)).requires_grad_(False)
        self.last = nn.Linear(CLASSES, CLASSES)

    def train(self, mode: bool = True):
        super().train(mode)
        self.first.eval()
        return self

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.first(x))


@pytest.mark.parametrize("training", [True, False])
def test_a_backbone_that_keeps_itself_in_evaluation_mode_keeps_its_statistics(training: bool):
    problem = build(Backbone().train(training), VECTORS, batch_size=SAMPLES)
    x = problem.start.expand(NODES, 1, -1)
    torch.testing.assert_close(problem.sample_grad(x, 0, [0]), problem.local_grad(x))


def test_a_module_that_is_taken_out_shares_no_memory_with_x():
    """It may be trained further, and saved without the parameters of all nodes."""
    problem = build(perceptron(), VECTORS)
    x = points(problem)
    before, module = x.clone(), problem.module_at(x[0, 0])
    taken = torch.cat([p.detach().flatten() for p in module.parameters()])
    assert torch.equal(taken, x[0, 0])
    with torch.no_grad():
        for p in module.parameters():
            assert p.untyped_storage().nbytes() == p.nbytes
            p.zero_()
    assert torch.equal(x, before)


def test_a_module_takes_as_many_parameters_as_it_has():
    problem = build(perceptron(), VECTORS)
    with pytest.raises(gs.InvalidInput, match=r"x: got shape \(2,\), need shape"):
        problem.module_at(torch.zeros(2))


def test_module_is_left_alone():
    module = perceptron(nn.Dropout(0.5)).eval()
    before, state = [p.detach().clone() for p in module.parameters()], torch.get_rng_state()
    problem = build(module, VECTORS)
    assert torch.equal(torch.get_rng_state(), state)
    problem.sample_grad(points(problem), 0, [0, 1])
    assert not module.training
    for p, value in zip(module.parameters(), before, strict=True):
        assert torch.equal(p, value)
        assert p.grad is None


def test_autocast_is_near_and_keeps_the_precision_of_x():
    module = perceptron()
    low = build(module, VECTORS, dtype=torch.float32, autocast=torch.bfloat16)
    x = points(low)
    exact = build(module, VECTORS, dtype=torch.float32).sample_grad(x, 0, [0, 1])
    found = low.sample_grad(x, 0, [0, 1])
    assert found.dtype == torch.float32
    assert 0 < float((found - exact).norm() / exact.norm()) < 0.02


@pytest.mark.parametrize("vectorize", [None, False])
def test_autocast_is_not_ignored_in_double_precision(vectorize: bool | None):
    """In which torch's own autocast leaves everything as it is, and runs are by default."""
    module = perceptron(nn.Linear(8, 8)).double()
    module[1].requires_grad_(False)
    exact = build(module, VECTORS, vectorize=vectorize)
    low = build(module, VECTORS, vectorize=vectorize, autocast=torch.bfloat16)
    x = points(exact)
    for of in ("sample_grad", "local_grad", "local_loss"):
        rest = (0, [0, 1]) if of == "sample_grad" else ()
        expected, found = (getattr(problem, of)(x, *rest) for problem in (exact, low))
        assert found.dtype == torch.float64
        assert 0 < float((found - expected).norm() / expected.norm()) < 0.02


class Prepared(nn.Module):
    """Keeps what it computes of its parameters, until it is trained again."""

    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(5, 5), nn.Linear(5, CLASSES)
        self.kept: Tensor | None = None

    def train(self, mode: bool = True):
        self.kept = None
        return super().train(mode)

    def forward(self, x: Tensor) -> Tensor:
        weight = functional.normalize(self.hidden.weight) if self.kept is None else self.kept
        self.kept = None if self.training else weight.detach()
        return self.out(x @ weight)


@pytest.mark.parametrize("vectorize", [None, False])
def test_a_module_that_keeps_what_it_computed_of_other_parameters_is_refused(
    vectorize: bool | None,
):
    """Losses would stay those of the first evaluation."""
    with pytest.raises(gs.InvalidInput, match=r"Prepared, whose loss changes .* anew each time"):
        build(Prepared(), VECTORS, vectorize=vectorize)


class OwnDepth(nn.Module):
    """Skips a layer at random, by a generator that it holds, or by counting."""

    def __init__(self, draw: Callable[[], float]):
        super().__init__()
        self.first, self.last, self.draw = nn.Linear(5, 5), nn.Linear(5, CLASSES), draw

    def forward(self, x: Tensor) -> Tensor:
        skip = self.training and self.draw() < 0.5
        return self.last(x if skip else self.first(x).tanh())


def alternating() -> Callable[[], float]:
    turns = iter(range(100))
    return lambda: next(turns) % 2


@pytest.mark.parametrize(
    "draw", [np.random.default_rng(0).random, random.Random(0).random, alternating()]
)
@pytest.mark.parametrize("vectorize", [None, False])
def test_a_module_with_a_memory_is_refused(draw: Callable[[], float], vectorize: bool | None):
    """Its gradients would depend on what else is evaluated."""
    with pytest.raises(gs.InvalidInput, match=r"OwnDepth, whose loss changes .* draw with torch"):
        build(OwnDepth(draw), VECTORS, vectorize=vectorize)


@pytest.mark.parametrize(
    "draw",
    [lambda: random.random(), lambda: np.random.random(), lambda: torch.rand(()).item()],
)
def test_a_module_may_draw_from_the_global_generators(draw: Callable[[], float]):
    problem = build(OwnDepth(draw), VECTORS, vectorize=False)
    x = problem.start.expand(NODES, 1, -1)
    grads = [problem.sample_grad(x, t, [0]) for t in (0, 1, 2, 3, 4, 0)]
    assert torch.equal(grads[0], grads[-1])
    assert any(not torch.equal(grads[0], other) for other in grads)


class Rotated(nn.Module):
    """Pairs of inputs as complex numbers, turned by a buffer, and mixed by a sparse one."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("turn", torch.polar(torch.ones(2), torch.tensor([0.5, 1.0])))
        self.register_buffer("links", torch.eye(4).roll(1, 0).to_sparse())

    def forward(self, inputs: Tensor) -> Tensor:
        pairs = torch.view_as_complex(self.linear(inputs).unflatten(-1, (2, 2)).contiguous())
        turned = torch.view_as_real(pairs * self.turn).flatten(1)
        return (self.links @ turned.mT).mT


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_complex_and_sparse_buffers_stay_what_they_are(dtype: torch.dtype):
    module, inputs, targets = Rotated(), torch.randn(6, 4), torch.randn(6, 4)
    model = VectorModule(module, nn.functional.mse_loss)
    model.check(inputs, targets)
    there = model.to("cpu", dtype)
    found = there.evaluation_loss(there.start, inputs.to(dtype), targets.to(dtype))
    by_hand = nn.functional.mse_loss(module(inputs), targets)
    assert float(found.detach()) == pytest.approx(float(by_hand.detach()), rel=1e-5)
    assert torch.equal(model.module_at(model.start).turn, module.turn)
