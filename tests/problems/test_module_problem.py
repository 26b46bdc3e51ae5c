import json
import pickle
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import gossamer as gs
from gossamer.captured import AS_WRITTEN
from gossamer.data import BatchOrder
from gossamer.data.pairs import TensorPairs
from gossamer.fingerprint import fingerprint
from gossamer.problems import faster_evaluator
from gossamer.problems.batches import NodeBatches, joined
from gossamer.problems.module_problem import ModuleProblem
from gossamer.problems.vmap_evaluator import COMPILED_FROM

NODES, SAMPLES, CLASSES = 3, 20, 4


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(5, 6, batch_first=True), nn.Linear(6, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.lstm(x)[0][:, -1])


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(CLASSES, 6), nn.Linear(6, CLASSES, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.tanh(self.embedding(x)))


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(5, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        y = self.out(x)
        return y if y.sum() > 0 else -y


class Counting(nn.Module):
    """Writes to a buffer, which is no parameter."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(5, CLASSES)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.out(x) * self.calls


class Attending(nn.Module):
    """A sentence of the same word three times, stretched by its position."""

    def __init__(self, attention: nn.Module):
        super().__init__()
        self.word, self.attention = nn.Embedding(CLASSES, 8), attention
        self.out = nn.Linear(8, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        h = self.word(x)[:, None] * torch.arange(1, 4, device=x.device)[:, None]
        itself = isinstance(self.attention, nn.MultiheadAttention)
        h = self.attention(h, h, h)[0] if itself else self.attention(h)
        return self.out(h[:, 0])


class Padded(nn.Module):
    """Calls the embedding itself."""

    def __init__(self, padding_idx: int, **options: bool):
        super().__init__()
        self.table, self.out = nn.Parameter(torch.randn(CLASSES, 6)), nn.Linear(6, CLASSES)
        self.options = {"padding_idx": padding_idx, **options}

    def forward(self, x: Tensor) -> Tensor:
        return self.out(functional.embedding(x, self.table, **self.options))


class AlwaysDropping(nn.Module):
    """Random in evaluation mode too."""

    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(5, 8), nn.Linear(8, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(functional.dropout(torch.tanh(self.hidden(x)), 0.5, training=True))


def transformer(dropout: float = 0.0) -> nn.Module:
    sizes = {"d_model": 8, "nhead": 2, "dim_feedforward": 16, "batch_first": True}
    layer = nn.TransformerEncoderLayer(**sizes, dropout=dropout)
    return Attending(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))


def perceptron(*extra: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(5, 8), *extra, nn.Tanh(), nn.Linear(8, CLASSES))


class Keeping(nn.Module):
    """Keeps an activation."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(5, CLASSES)
        self.weights: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        self.weights = self.out(x).softmax(-1)
        return self.out(x) * self.weights


def twice(layer: nn.Module) -> nn.Module:
    return perceptron(layer, nn.Tanh(), layer)


def normalized(module: nn.Module) -> nn.Module:
    torch.func.replace_all_batch_norm_modules_(module)
    return module


def convolution() -> nn.Module:
    layers = nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, CLASSES)
    return nn.Sequential(*layers)


VECTORS, SEQUENCES, IMAGES = (SAMPLES, 5), (SAMPLES, 7, 5), (SAMPLES, 1, 6, 6)
VECTORIZED = {
    "perceptron": (perceptron, VECTORS),
    "batch norm": (lambda: normalized(perceptron(nn.BatchNorm1d(8))), VECTORS),
    "group norm": (lambda: perceptron(nn.GroupNorm(2, 8)), VECTORS),
    "convolution": (convolution, IMAGES),
    "tied weights": (Tied, None),
    "a layer used twice": (lambda: twice(nn.Linear(8, 8)), VECTORS),
    "buffer": (Counting, VECTORS),
    "attention": (lambda: Attending(nn.MultiheadAttention(8, 2, batch_first=True)), None),
    "transformer": (transformer, None),
    "padding": (lambda: Padded(1), None),
    "padding from the end": (lambda: Padded(-2, scale_grad_by_freq=True), None),
}
LOOPED = {
    "lstm": (Recurrent, SEQUENCES),
    "control flow": (Branching, VECTORS),
}


def build(module: nn.Module, shape: tuple[int, ...] | None, **options) -> ModuleProblem:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(CLASSES, (NODES, SAMPLES), generator=generator)
    inputs = labels if shape is None else torch.randn(NODES, *shape, generator=generator)
    datasets = list(zip(inputs, labels.roll(1, 1), strict=True))
    dtype = options.pop("dtype", torch.float64)
    options = {"batch_size": 4, **options}
    return ModuleProblem(module, functional.cross_entropy, datasets, **options).to("cpu", dtype)


def points(problem: ModuleProblem, runs: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    shape = (problem.num_nodes, runs, problem.dim)
    step = torch.randn(shape, generator=generator, dtype=torch.float64)
    return problem.start + 0.1 * step.to(problem.start.dtype)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@pytest.mark.parametrize(("make", "shape"), VECTORIZED.values(), ids=VECTORIZED)
def test_all_nodes_at_once_is_one_after_the_other(make, shape, dtype, tolerance):
    module = make()
    stacked = build(module, shape, dtype=dtype, vectorize=True)
    loop = build(module, shape, dtype=dtype, vectorize=False)
    x, seeds = points(stacked), [0, 7]
    for found, expected in (
        (stacked.sample_grad(x, 6, seeds), loop.sample_grad(x, 6, seeds)),
        (stacked.local_loss(x), loop.local_loss(x)),
        (stacked.local_grad(x), loop.local_grad(x)),
    ):
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("slow", ["vmap", "loop"])
def test_the_faster_way_is_taken_and_told(slow: str, monkeypatch: pytest.MonkeyPatch):
    """Times are made up: those of the slow way are ten times those of the other."""
    problem = build(perceptron(), VECTORS)
    assert problem.way == "not measured yet"
    at_once, in_turn = problem.evaluator.at_once, problem.evaluator._in_turn
    asked: list[str] = []
    for name, way in (("vmap", at_once), ("loop", in_turn)):
        monkeypatch.setattr(way, "gradients", counted(name, way.gradients, asked))
    times = {"vmap": 1.0, "loop": faster_evaluator.TIMED_NODES / NODES}

    def made_up(*calls: Callable[[], object]) -> list[float]:
        for call in calls:
            call()
        return [10 * times[name] if name == slow else times[name] for name in asked]

    monkeypatch.setattr(faster_evaluator, "shortest_times", made_up)
    x, seeds = points(problem), [0, 7]
    fast = "loop" if slow == "vmap" else "vmap"
    for t in range(3):
        problem.sample_grad(x, t, seeds)
    assert asked == ["vmap", "loop", fast, fast, fast]
    assert problem.way == fast


def counted(name: str, gradients: Callable[..., Tensor], asked: list[str]) -> Callable[..., Tensor]:
    def asks(*given: Any) -> Tensor:
        asked.append(name)
        return gradients(*given)

    return asks


def test_the_way_can_be_chosen_and_is_not_measured_where_it_changes_the_numbers():
    assert build(perceptron(), VECTORS, vectorize=True).way == "vmap"
    assert build(perceptron(), VECTORS, vectorize=False).way == "loop"
    assert build(perceptron(nn.Dropout(0.5)), VECTORS).way == "vmap"


def test_what_a_simulation_chose_is_told_by_the_problem_that_it_was_given():
    """And does not make another problem of it."""
    problem = build(perceptron(), VECTORS)
    before = fingerprint(problem)
    gs.simulate(gs.DSGD(0.1), problem, gs.ring(NODES), steps=1, dtype=torch.float32)
    assert problem.way in ("vmap", "loop")
    assert fingerprint(problem) == before


@pytest.mark.parametrize("where", ["store", "executor"])
def test_nothing_is_measured_where_bits_are_promised(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The other way, which a busy machine may choose, gives other last digits."""

    def measure(*calls: Callable[[], object]) -> list[float]:
        raise AssertionError("measured")

    monkeypatch.setattr(faster_evaluator, "shortest_times", measure)
    made = perceptron()
    chosen, stacked = build(made, VECTORS), build(made, VECTORS, vectorize=True)
    how = {"store": tmp_path} if where == "store" else {"executor": gs.executors.ThisProcess()}
    task = {"network": gs.ring(NODES), "steps": 3, "seeds": range(2)}
    found = gs.simulate(gs.DSGD(0.1), chosen, **task, **how)
    assert torch.equal(found.x, gs.simulate(gs.DSGD(0.1), stacked, **task, **how).x)
    with pytest.raises(AssertionError, match="measured"):
        gs.simulate(gs.DSGD(0.1), chosen, **task)


@pytest.mark.parametrize(("make", "shape"), LOOPED.values(), ids=LOOPED)
def test_what_vmap_cannot_do_is_refused_with_the_reason_and_looped_when_asked(make, shape):
    with pytest.raises(gs.InvalidInput, match=r"vmap cannot evaluate .*; pass vectorize=False"):
        build(make(), shape)
    loop = build(make(), shape, vectorize=False)
    x = points(loop)
    assert torch.equal(loop.sample_grad(x, 3, [0, 1]), loop.sample_grad(x, 3, [0, 1]))


@pytest.mark.parametrize("vectorize", [True, False])
def test_gradient_is_that_of_the_batch_which_a_process_would_see(vectorize: bool):
    module = perceptron()
    problem = build(module, VECTORS, vectorize=vectorize)
    x = points(problem, runs=1)
    node, seed, t = 2, 5, 9
    inputs, labels = problem.batches.datasets[node][BatchOrder(SAMPLES, 4, seed, node).at(t)]
    process = perceptron().double()
    nn.utils.vector_to_parameters(x[node, 0], process.parameters())
    functional.cross_entropy(process(inputs), labels).backward()
    expected = torch.cat([p.grad.flatten() for p in process.parameters()])
    torch.testing.assert_close(
        problem.sample_grad(x, t, [seed])[node, 0], expected, rtol=0, atol=1e-12
    )


def test_local_gradient_is_the_derivative_and_the_mean_of_an_epoch():
    problem = build(perceptron(), VECTORS)
    x = points(problem, runs=1).requires_grad_()
    (derivative,) = torch.autograd.grad(problem.local_loss(x).sum(), x)
    x = x.detach()
    epoch = torch.stack([problem.sample_grad(x, t, [3]) for t in range(problem.steps_per_epoch)])
    torch.testing.assert_close(problem.local_grad(x), derivative, rtol=0, atol=1e-12)
    torch.testing.assert_close(epoch.mean(0), derivative, rtol=0, atol=1e-12)


def test_runs_do_not_see_each_other():
    for module in (perceptron(), perceptron(nn.Dropout(0.5))):
        problem = build(module, VECTORS)
        x = points(problem, runs=3)
        together = problem.sample_grad(x, 4, [2, 0, 9])
        alone = problem.sample_grad(x[:, 1:2], 4, [0])
        torch.testing.assert_close(together[:, 1:2], alone, rtol=0, atol=1e-14)


@pytest.mark.parametrize("vectorize", [True, False])
def test_dropout_masks_are_a_function_of_step_seed_and_node(vectorize: bool):
    problem = build(perceptron(nn.Dropout(0.5)), VECTORS, vectorize=vectorize, batch_size=SAMPLES)
    x = problem.start.expand(NODES, 2, -1)
    before = torch.get_rng_state()
    first = problem.sample_grad(x, 0, [0, 1])
    assert torch.equal(first, problem.sample_grad(x, 0, [0, 1]))
    assert not torch.allclose(first, problem.sample_grad(x, 1, [0, 1]))
    assert not torch.allclose(first[:, 0], first[:, 1])
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(problem.local_loss(x), problem.local_loss(x))


def test_dropout_is_without_bias():
    """On a linear module with a loss linear in its output, the mean gradient has no dropout."""
    data = [(torch.ones(4, 6), torch.zeros(4))] * 2
    module = nn.Sequential(nn.Dropout(0.5), nn.Linear(6, 1, bias=False))
    problem = ModuleProblem(module, lambda y, target: (y[:, 0] - target).mean(), data, batch_size=4)
    x, count = problem.start.expand(2, 1, -1), 500
    mean = torch.stack([problem.sample_grad(x, t, [0]) for t in range(count)]).mean()
    deviation = 1 / (count * 2 * 4 * 6) ** 0.5  # each of the masks has mean 1 and variance 1
    assert abs(float(mean) - 1) < 4 * deviation


def test_running_statistics_are_refused_with_the_way_out():
    with pytest.raises(gs.InvalidInput, match=r"module\.1: got BatchNorm1d with running .*replace"):
        build(perceptron(nn.BatchNorm1d(8)), VECTORS)


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


@pytest.mark.parametrize("vectorize", [True, False])
def test_transformers_are_simulated_by_default(vectorize: bool):
    problem = build(transformer(dropout=0.3), None, vectorize=vectorize)
    run = gs.simulate(gs.GTNSGDm(lr=0.05, momentum=0.5), problem, gs.ring(NODES), steps=10)
    assert run.final("loss") < run.metrics["loss"][0]
    assert torch.isfinite(run.metrics["grad_norm"]).all()
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize("vectorize", [True, False])
def test_sparse_gradients_are_refused_at_once(vectorize: bool):
    module = nn.Sequential(nn.Embedding(CLASSES, 6, sparse=True), nn.Linear(6, CLASSES))
    found = r"module\.0: got Embedding with sparse gradients, .*; build it with sparse=False"
    with pytest.raises(gs.InvalidInput, match=found):
        build(module, None, vectorize=vectorize)
    with pytest.raises(gs.InvalidInput, match=r"fails on the first samples of node 0 .*sparse"):
        build(Padded(0, sparse=True), None, vectorize=vectorize)


@pytest.mark.parametrize("vectorize", [True, False])
def test_what_is_random_in_evaluation_mode_is_a_function_all_the_same(vectorize: bool):
    held_out = torch.randn(30, 5), torch.randint(CLASSES, (30,))
    problem = build(AlwaysDropping(), VECTORS, vectorize=vectorize, validation=held_out)
    x = points(problem)
    state = torch.get_rng_state()
    for evaluate in (problem.loss, problem.grad, problem.validation_loss):
        first = evaluate(x[0])
        assert torch.equal(evaluate(x[0]), first)
        torch.testing.assert_close(evaluate(x[0, 1:]), first[1:], rtol=0, atol=1e-14)
    assert torch.equal(torch.get_rng_state(), state)


def test_draws_of_evaluation_are_those_of_the_loop():
    module = AlwaysDropping()
    stacked, loop = (build(module, VECTORS, vectorize=way) for way in (True, False))
    x = points(stacked)
    torch.testing.assert_close(stacked.local_loss(x), loop.local_loss(x), rtol=0, atol=1e-12)
    torch.testing.assert_close(stacked.local_grad(x), loop.local_grad(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("vectorize", [True, False])
def test_on_a_cpu_the_random_numbers_of_gpus_are_left_alone(vectorize, monkeypatch):
    def fail(seed: int) -> None:
        raise AssertionError("seeded")

    monkeypatch.setattr(torch.cuda, "manual_seed_all", fail)
    problem = build(perceptron(nn.Dropout(0.5)), VECTORS, vectorize=vectorize)
    problem.sample_grad(points(problem), 0, [0, 1])


def test_the_samples_of_all_nodes_are_read_at_once_where_they_are_alike():
    sizes = (7, 9, 8)
    alike = [TensorPairs(torch.randn(m, 3), torch.randint(5, (m,))) for m in sizes]
    batches = NodeBatches(alike, 2)
    expected = batches.at(3, [0, 5])
    batches._join()
    assert batches._joined is not None
    assert all(map(torch.equal, batches.at(3, [0, 5]), expected))
    assert [len(data) for data in batches.datasets] == list(sizes)
    other = TensorPairs(torch.randn(7, 2), torch.randint(5, (7,)))
    assert joined([*alike, other]) is None


cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


class RandomDepth(nn.Module):
    """Draws with Python's own generator, or another that is not torch's."""

    def __init__(self, draw: Callable[[], float] = random.random):
        super().__init__()
        self.out, self.draw = nn.Linear(5, CLASSES), draw

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x) * (1 if self.draw() < 0.5 else 2)


@pytest.mark.parametrize("draw", [random.random, lambda: np.random.random()])
def test_random_numbers_of_python_and_numpy_are_those_of_step_seed_and_node(
    draw: Callable[[], float],
):
    """They used to be drawn unseeded, and the same for all nodes."""
    problem = build(RandomDepth(draw), VECTORS, batch_size=SAMPLES)
    assert problem.way == "loop"
    before = random.getstate(), pickle.dumps(np.random.get_state())
    x = problem.start.expand(NODES, 2, -1)
    runs = [gs.simulate(gs.DSGD(0.1), problem, gs.ring(NODES), steps=9).x for _ in range(2)]
    assert torch.equal(*runs)
    grads = torch.stack([problem.sample_grad(x, t, [0, 7]) for t in range(9)])
    assert torch.equal(grads[4], problem.sample_grad(x, 4, [0, 7]))
    assert torch.equal(grads[4][:, 1:], problem.sample_grad(x[:, 1:], 4, [7]))
    as_first = (grads - grads[:1, :, :1]).norm(dim=-1) < 1e-9
    assert len(as_first.flatten(1, 2).unique(dim=1).T) == 2 * NODES, "each draws for itself"
    assert (random.getstate(), pickle.dumps(np.random.get_state())) == before


def test_one_number_of_python_for_all_nodes_is_refused():
    with pytest.raises(gs.InvalidInput, match=r"vectorize: got True for RandomDepth, which draws"):
        build(RandomDepth(), VECTORS, vectorize=True)


@pytest.mark.parametrize(
    ("module", "draws"),
    [(perceptron(), False), (perceptron(nn.Dropout(0.5)), True), (RandomDepth(), True)],
    ids=["perceptron", "dropout", "random depth"],
)
def test_whether_a_module_draws_is_learnt(module: nn.Module, draws: bool):
    assert build(module, VECTORS, vectorize=False)._model.draws == draws


def test_a_cpu_prepares_nothing_for_long_trainings():
    problem = build(perceptron(), VECTORS)
    assert problem.expecting(COMPILED_FROM) is problem


@cuda
def test_a_gpu_compiles_for_long_trainings_unless_told_not_to():
    problem = build(perceptron(), VECTORS).to("cuda")
    assert problem.expecting(COMPILED_FROM - 1) is problem
    assert problem.expecting(COMPILED_FROM).evaluator.at_once.way == "vmap, compiled"
    convolves, draws = build(convolution(), IMAGES), build(perceptron(nn.Dropout(0.5)), VECTORS)
    for other in (convolves, draws, build(perceptron(), VECTORS, compile=False)):
        moved = other.to("cuda")
        assert moved.expecting(COMPILED_FROM) is moved


@cuda
@pytest.mark.parametrize("vectorize", [True, False, None])
@pytest.mark.parametrize(("make", "shape"), (VECTORIZED | LOOPED).values(), ids=VECTORIZED | LOOPED)
def test_captured_gradients_are_those_of_the_loop(make, shape, vectorize: bool | None):
    if vectorize is not False and (make, shape) in LOOPED.values():
        return
    module = make()
    problem = build(module, shape, vectorize=vectorize).to("cuda")
    loop = build(module, shape, vectorize=False, compile=False).to("cuda")
    for t in range(AS_WRITTEN + 3):
        x = points(loop.to("cpu")).cuda() + 0.01 * t
        found, expected = problem.sample_grad(x, t, [0, 7]), loop.sample_grad(x, t, [0, 7])
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    assert problem.way.endswith("in a CUDA graph") or make is Branching
    assert loop.way == "loop"


@cuda
def test_captured_masks_are_those_of_the_seed():
    made = transformer(dropout=0.3)
    problem = build(made, None, vectorize=True).to("cuda")
    plain = build(made, None, vectorize=True, compile=False).to("cuda")
    x = points(plain.to("cpu")).cuda()
    for t in range(AS_WRITTEN + 3):
        found, expected = problem.sample_grad(x, t, [0, 7]), plain.sample_grad(x, t, [0, 7])
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
        alone = problem.sample_grad(x[:, 1:], t, [7])
        torch.testing.assert_close(alone, expected[:, 1:], rtol=1e-9, atol=1e-9)
    assert problem.way == "vmap in a CUDA graph"


@cuda
@pytest.mark.parametrize("way", [{"vectorize": True}, {"vectorize": False}, {"compile": True}])
def test_convolutions_in_float32_are_in_float32(way: dict[str, bool]):
    problem = build(convolution(), IMAGES, **{"compile": False} | way)
    x = points(problem)
    exact = problem.sample_grad(x, 0, [0, 1])
    found = problem.to("cuda", torch.float32).sample_grad(x.cuda().float(), 0, [0, 1])
    assert float((found.cpu() - exact).norm() / exact.norm()) < 1e-5


@cuda
@pytest.mark.parametrize("vectorize", [True, False])
def test_random_evaluation_on_a_gpu(vectorize: bool):
    problem = build(AlwaysDropping(), VECTORS, vectorize=vectorize).to("cuda")
    x, states = problem.start.expand(2, -1), (torch.get_rng_state(), torch.cuda.get_rng_state())
    assert torch.equal(problem.loss(x), problem.loss(x))
    after = (torch.get_rng_state(), torch.cuda.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(states, after, strict=True))


def test_an_embedding_alone_needs_no_function_mode():
    """The mode costs time on every call of torch: only modules with a padding row pay for it."""
    for module, padding in ((Tied(), False), (Padded(0), True)):
        evaluator = build(module, None, vectorize=True).evaluator
        assert (evaluator._training.padding, evaluator._evaluation.padding) == (padding, padding)


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
    with pytest.raises(gs.InvalidInput, match=r"Keeping, which cannot be copied .* before it is"):
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
        (nn.LSTM(5, 6), "'tuple' object has no attribute"),
    ],
)
def test_what_does_not_fit_the_data_is_not_blamed_on_vmap(module, reason, vectorize):
    data = [(torch.randn(9, 5), torch.full((9,), CLASSES - 1))] * NODES
    with pytest.raises(gs.InvalidInput, match=f"fails on the first samples.*{reason}") as refusal:
        ModuleProblem(module, functional.cross_entropy, data, batch_size=2, vectorize=vectorize)
    assert "vectorize" not in str(refusal.value)


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


def test_what_is_no_module_and_no_precision_is_refused():
    data = [(torch.randn(9, 5), torch.randint(CLASSES, (9,)))] * NODES
    with pytest.raises(gs.InvalidInput, match=r"module: got .*, need an nn\.Module"):
        ModuleProblem(perceptron, functional.cross_entropy, data, batch_size=2)
    with pytest.raises(gs.InvalidInput, match="autocast: got 'bfloat16', need one of"):
        ModuleProblem(
            perceptron(), functional.cross_entropy, data, batch_size=2, autocast="bfloat16"
        )


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


@pytest.mark.parametrize("vectorize", [True, False])
def test_no_points_have_no_losses(vectorize: bool):
    problem = build(perceptron(), VECTORS, vectorize=vectorize)
    assert problem.loss(problem.start.expand(0, -1)).shape == (0,)


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


def test_autocast_is_near_and_keeps_the_precision_of_x():
    module = perceptron()
    low = build(module, VECTORS, dtype=torch.float32, autocast=torch.bfloat16)
    x = points(low)
    exact = build(module, VECTORS, dtype=torch.float32).sample_grad(x, 0, [0, 1])
    found = low.sample_grad(x, 0, [0, 1])
    assert found.dtype == torch.float32
    assert 0 < float((found - exact).norm() / exact.norm()) < 0.02


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


def test_without_classes_or_validation_data_there_is_no_accuracy():
    assert not build(perceptron(), VECTORS).has_accuracy
    real = [(torch.randn(6, 5), torch.randn(6, CLASSES)) for _ in range(NODES)]
    loss = functional.mse_loss
    problem = ModuleProblem(perceptron(), loss, real, batch_size=2, validation=real[0])
    assert (problem.has_validation, problem.has_accuracy) == (True, False)
    with pytest.raises(gs.InvalidInput, match=r"validation: got .*, need data .* with integers"):
        problem.accuracy(problem.start[None])
