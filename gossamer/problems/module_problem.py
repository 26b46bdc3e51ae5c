"""Any `nn.Module` as a problem: n nodes that train it on their own data."""

import copy
from collections.abc import Iterable, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from gossamer.data.moving import Device
from gossamer.data.pairs import Pairs, as_pairs
from gossamer.digests import digest
from gossamer.errors import InvalidInput, refuse, require
from gossamer.problems.batches import NodeBatches
from gossamer.problems.data_check import require_alike, require_usable
from gossamer.problems.evaluator import Evaluator, LoopEvaluator, seeded
from gossamer.problems.faster_evaluator import FasterEvaluator
from gossamer.problems.module_failures import refusing
from gossamer.problems.module_memory import require_no_memory
from gossamer.problems.node_data import named_data
from gossamer.problems.penalty import (
    Penalty,
    VectorFunction,
    as_penalty,
    penalized,
    penalized_grad,
)
from gossamer.problems.pieces import pieces, samples_at_once
from gossamer.problems.problem import Problem, as_call, require_nodes
from gossamer.problems.vector_module import Loss, VectorModule, require_autograd
from gossamer.problems.vmap_evaluator import VmapEvaluator


class ModuleProblem(Problem):
    """n nodes train copies of one module, each on its own data, by mini-batches.

        f_i(x) = mean of loss(module_x(input), target) over the samples of node i + penalty(x)

    x is the vector of the module's trainable parameters, in the order of `module.parameters()`; x⁰
    is their value when the problem is made. The gradient of step t is that of the batch which
    `BatchOrder` chooses for node i, step t and the run's seed. A real process i with the same seed
    uses the same batch.

    Losses over all of a node's samples, and over the validation data, are evaluated a few hundred
    samples at a time if the loss of a batch is the mean over its samples. This is tested when the
    problem is made. With statistics of the batch (BatchNorm), class weights or `ignore_index`, for
    example, the loss is not such a mean. Then all samples of a dataset are evaluated together, so
    that f_i is exactly loss(module_x(inputs), targets) of all of them, whatever their order. There
    must be enough memory for this.

    Gradients are evaluated for all nodes and runs together (`vmap`), or for one after the other
    (`loop`), with the same results up to rounding. By default a short measurement at the first
    gradient finds the faster way, and `problem.way` says which it is. In runs on a CPU with a store
    or an executor, the bits must not depend on measured times, so nothing is measured: modules with
    convolutions are evaluated one after the other, and others together. Modules that `vmap` does
    not support, e.g. an LSTM, are evaluated one after the other. Others that draw random numbers,
    e.g. for dropout, are by default evaluated for all nodes and runs together (`vmap`), since the
    two ways would draw different numbers; those that draw with Python's `random` or with numpy,
    e.g. for stochastic depth, are evaluated one after the other. Dropout masks are different for
    each node, step and seed; losses are evaluated without dropout.

    On CUDA both ways are captured as CUDA graphs, which saves the time between operations. In the
    loop, the evaluations for the different nodes and runs then run side by side. (The loop is not
    captured if the module draws random numbers.) By default `vmap` is compiled first if a run has
    10,000 steps or more, which takes half a minute. Two kinds of modules are not compiled: those
    with convolutions, because they gain nothing from it, and those that draw random numbers.
    Convolutions have the precision of matrix products: float32, or TF32 if
    `torch.backends.cuda.matmul.allow_tf32` is set.

    The attribute `batches` holds the batches of all nodes. The attribute `evaluator` evaluates the
    module at many points, and may be replaced by a faster one for the same module.

    Args:
        module: a module with one input and one output; it is copied, not changed. If it is in
            training mode, each part keeps its own mode, so a frozen part may be in evaluation mode.
            Otherwise all parts are put into training mode. It must not write to its buffers.
        loss: (outputs, targets) ↦ scalar, the mean over a batch; a sum is refused.
        node_datasets: the data of each node: a pair `(inputs, targets)` of tensors or arrays, a
            dataset of such pairs, or an object such as `TokenWindows`, which has `len(data)`,
            `data[index]` (for a tensor of indices, the inputs and targets of these samples) and
            `data.to(device, dtype)`. Floating-point data are cast to the module's precision.
        batch_size: number of samples per node and step.
        validation: data for `validation_loss`. They are also used for `accuracy` if targets are
            integers and outputs have one more axis, the last one, with the scores of the classes.
            There is no accuracy if the second axis of the outputs is as long as the last one,
            because either of them may be that of the classes. Negative targets do not count.
        penalty: a function of x that is added to every f_i, e.g. `gs.L2Penalty(1e-4)`.
        vectorize: True evaluates all nodes together, which is refused for modules that `vmap` does
            not support; False evaluates one after the other. By default the faster way is used, but
            modules that draw random numbers, and all modules with `compile=True`, are evaluated
            together. Choose True or False if the last digits matter, e.g. to compare two machines.
        autocast: precision of matrix products, e.g. `torch.bfloat16`. The rest of the module is
            computed in float32 at most.
        compile: on CUDA, True compiles the gradient for runs of any length, and False neither
            compiles nor captures it; by default the number of steps decides.

    >>> inputs = torch.arange(12.0).view(3, 4, 1)           # three nodes with four samples each
    >>> datasets = [(x, 2 * x) for x in inputs]
    >>> linear = nn.Linear(1, 1, bias=False)
    >>> problem = ModuleProblem(linear, nn.functional.mse_loss, datasets, batch_size=2)
    >>> problem
    ModuleProblem(module='Linear', num_nodes=3, dim=1, batch_size=2)
    >>> float(problem.loss(torch.tensor([[2.0]])))
    0.0
    """

    evaluator: Evaluator
    slow_gradients = True

    def __init__(
        self,
        module: nn.Module,
        loss: Loss,
        node_datasets: Iterable[Any],
        *,
        batch_size: int,
        validation: Any = None,
        penalty: Penalty | VectorFunction | None = None,
        vectorize: bool | None = None,
        autocast: torch.dtype | None = None,
        compile: bool | None = None,
    ) -> None:
        _require_flags(vectorize=vectorize, compile=compile)
        self._model = model = VectorModule(module, loss, autocast)
        self.start, self.dim, self.autocast = model.start, model.start.numel(), autocast
        self.penalty = as_penalty(penalty, self.start)
        self._hold(node_datasets, validation, batch_size)
        with seeded(self.start.device, elsewhere=True):  # the caller's stay as they were
            samples = self._first_samples()
            self._try(*samples)
            self._answers = LoopEvaluator(model.judged_by(share_right))
            self.evaluator = _evaluator(model, samples, vectorize, compile)
            self.has_accuracy = self.has_validation and self._has_answers(*samples)

    def _hold(self, node_datasets: Iterable[Any], validation: Any, batch_size: int) -> None:
        """Keep the data where the module is; refuse those that do not fit each other."""
        place = self.start.device, self.start.dtype
        named = named_data(node_datasets, "node_datasets")
        datasets = [as_pairs(data, name).to(*place) for name, data in named]
        self.num_nodes = require_nodes(len(datasets))
        held_out = None if validation is None else as_pairs(validation, "validation").to(*place)
        self._validation, self.has_validation = held_out, held_out is not None
        require_alike(datasets, held_out)
        self.batches = NodeBatches(datasets, batch_size, place[0])
        self.batch_size, self.steps_per_epoch = batch_size, self.batches.steps_per_epoch

    def _first_samples(self) -> tuple[Tensor, Tensor]:
        """Two of node 0, or a batch if the loss needs more, on which a gradient can be computed."""
        first = self.batches.datasets[0]
        few, batch = (first[torch.arange(min(k, len(first)))] for k in (2, self.batch_size))
        try:
            self._model.check(*few)
        except InvalidInput as refused:
            failed = refused.__cause__ is not None  # not refused for what it is
            if not failed or len(batch[0]) <= len(few[0]):
                raise
            self._model.check(*batch)
            return batch
        return few

    def _try(self, inputs: Tensor, targets: Tensor) -> None:
        """Refuse what fails on these samples or others; learn how many may be taken at once."""
        nodes, held_out = self.batches.datasets, self._validation
        require_no_memory(self._model, inputs, targets)
        if self.batch_size == 1:
            _require_no_company(self._model, inputs[:1], targets[:1])
        require_usable(self._model, nodes, held_out, len(inputs))
        self._at_once = self._samples_at_once(nodes, held_out)

    def _samples_at_once(self, nodes: Sequence[Pairs], held_out: Pairs | None) -> int | None:
        """How many samples losses may be evaluated on together; None if only all at once."""
        groups = [nodes] if held_out is None else [nodes, [held_out]]
        limits = [samples_at_once(self._model, datasets) for datasets in groups]
        return None if None in limits else limits[0]

    @property
    def way(self) -> str:
        """How gradients are evaluated, e.g. "vmap", "loop in a CUDA graph", "not measured yet"."""
        return self.evaluator.way

    @property
    def parameter_shapes(self) -> tuple[torch.Size, ...]:
        """Shapes of the module's trainable parameters."""
        return tuple(self._model.shapes.values())

    def sample_grad(self, x: Tensor, t: int, seeds: Sequence[int]) -> Tensor:
        """The gradient on every node's batch of step `t`: `(nodes, runs, dim)` → the same shape."""
        grads = self._batch_grad(x, t, seeds)
        return grads.clone() if grads.is_cuda else grads

    def momentary_grad(self, x: Tensor, t: int, seeds: Sequence[int]) -> Tensor:
        """As `sample_grad`, but on CUDA the next call may overwrite the result."""
        own = self._draws_by(ModuleProblem.sample_grad)
        return self._batch_grad(x, t, seeds) if own else self.sample_grad(x, t, seeds)

    def _batch_grad(self, x: Tensor, t: int, seeds: Sequence[int]) -> Tensor:
        require_autograd()
        grads = self.evaluator.gradients(x, *self.batches.at(t, seeds), t, seeds)
        return penalized_grad(grads, self.penalty, x)

    def local_loss(self, x: Tensor) -> Tensor:
        """f_i over all of node i's samples, without dropout, in the precision of `x`."""
        there = self.to(x.device, x.dtype)
        pairs = zip(x, there.batches.datasets, strict=True)
        losses = torch.stack([there._mean(there.evaluator, points, data) for points, data in pairs])
        return penalized(losses, self.penalty, x)

    def local_grad(self, x: Tensor) -> Tensor:
        """∇f_i over all of node i's samples, without dropout, in the precision of `x`."""
        require_autograd()
        there, precise = self.to(x.device, x.dtype), torch.promote_types(x.dtype, torch.float32)
        grads = torch.zeros_like(x, dtype=precise)
        for total, points, data in zip(grads, x, there.batches.datasets, strict=True):
            for share, *batch in pieces(data, self._at_once):
                total.add_(there.evaluator.loss_gradients(points, *batch), alpha=share)
        return penalized_grad(grads.to(x.dtype), self.penalty, x)

    def validation_loss(self, points: Tensor) -> Tensor:
        """The mean loss on the validation data, without penalty: `(points, dim)` → `(points,)`."""
        there = self.to(points.device, points.dtype)
        if there._validation is None:
            refuse("validation", None, "data given to the problem")
        return there._mean(there.evaluator, points, there._validation)

    def accuracy(self, points: Tensor) -> Tensor:
        """The share of right answers on the validation data: `(points, dim)` → `(points,)`."""
        there = self.to(points.device, points.dtype)
        if there._validation is None or not self.has_accuracy:
            need = "data given to the problem, with integers as targets"
            refuse("validation", self._validation, need)
        return there._mean(there._answers, points, there._validation)

    def _mean(self, evaluator: Evaluator, points: Tensor, data: Pairs) -> Tensor:
        """What `evaluator` tells of all samples, `(points,)`."""
        parts = pieces(data, self._at_once)
        told = [share * evaluator.losses(points, *batch) for share, *batch in parts]
        return torch.stack(told).sum(0)

    def _has_answers(self, inputs: Tensor, targets: Tensor) -> bool:
        """Whether outputs are scores of classes, of which the targets name one."""
        try:
            self._answers.losses(self.start[None], inputs, targets)
        except InvalidInput:
            return False
        return True

    def module_at(self, x: Tensor) -> nn.Module:
        """A copy of the module with the parameters `x`, `(dim,)`, in evaluation mode."""
        shape = f"shape {tuple(x.shape)}"
        require(x.shape == (self.dim,), "x", shape, f"shape ({self.dim},)", "e.g. run.x[0, 0]")
        return self._model.module_at(x.to(self.start))

    def to(
        self, device: Device | torch.dtype | None = None, dtype: torch.dtype | None = None
    ) -> Self:
        """The same problem on another device, in another precision, or both."""
        moved = super().to(device, dtype)
        if moved is self:
            return self
        place = moved.start.device, moved.start.dtype
        moved.evaluator, moved.batches = self.evaluator.to(*place), self.batches.to(*place)
        moved._answers = self._answers.to(*place)
        if self._validation is not None:
            moved._validation = self._validation.to(*place)
        return moved

    def expecting(self, steps: int) -> Self:
        """The same problem, whose gradient is compiled if that pays off for this many steps."""
        if self.penalty is not None:
            self.penalty.doubt()
        evaluator = self.evaluator.expecting(steps)
        if evaluator is self.evaluator:
            return self
        expecting = copy.copy(self)
        expecting.evaluator = evaluator
        return expecting

    def untimed(self) -> Self:
        """The same problem, evaluated in the way that is mostly the faster one on a CPU."""
        either = self.evaluator
        if not isinstance(either, FasterEvaluator):
            return self
        untimed = copy.copy(self)
        untimed.evaluator = either.in_turn if self._model.convolves else either.at_once
        return untimed

    def describe(self) -> dict[str, Any]:
        """Name, module, sizes and a digest of x⁰."""
        return {
            "name": type(self).__name__,
            "module": self._model.name,
            "num_nodes": self.num_nodes,
            "dim": self.dim,
            "samples": [len(data) for data in self.batches.datasets],
            "batch_size": self.batch_size,
            "penalty": None if self.penalty is None else self.penalty.describe(),
            "autocast": None if self.autocast is None else str(self.autocast),
            "start": digest(self.start.cpu().double()),
        }

    def facts(self) -> dict[str, str]:
        """Facts about the problem, and how its gradients are evaluated, as text."""
        return {**super().facts(), "evaluated by": self.way}

    def __repr__(self) -> str:
        sizes = {"num_nodes": self.num_nodes, "dim": self.dim, "batch_size": self.batch_size}
        added = {} if self.penalty is None else {"penalty": self.penalty}
        return as_call(type(self).__name__, module=self._model.name, **sizes, **added)


def _require_flags(**flags: object) -> None:
    for name, value in flags.items():
        require(isinstance(value, bool | None), name, repr(value), "True, False or None")


def _require_no_company(model: VectorModule, inputs: Tensor, targets: Tensor) -> None:
    """Refuse batches of one sample, given as `inputs`, if the module needs more."""

    def told(reason: str) -> str:
        found = f"batch_size: got 1, with which {model.name} fails in training mode ({reason})"
        return f"{found}, need at least 2; a batch of one sample has no statistics"

    with refusing(told):
        model.training_loss(model.start, inputs, targets)


def _evaluator(
    model: VectorModule,
    samples: tuple[Tensor, Tensor],
    vectorize: bool | None,
    compile: bool | None,
) -> Evaluator:
    """At once, one after the other, or the faster of both where that is one and the same."""
    in_turn = LoopEvaluator(model, capture=compile is not False)
    if vectorize is False or (vectorize is None and model.draws_elsewhere):
        return in_turn
    drawing = f"True for {model.name}, which draws random numbers of Python or numpy"
    way_out = "draw with torch, or pass vectorize=False"
    need = "torch's random numbers, because with others all nodes would get the same"
    require(not model.draws_elsewhere, "vectorize", drawing, need, way_out)
    try:
        at_once = VmapEvaluator(model, *samples, compile)
    except InvalidInput:
        if vectorize or compile:
            raise
        return in_turn
    if vectorize or compile or at_once.draws:
        return at_once
    return FasterEvaluator(at_once, in_turn)


def share_right(outputs: Tensor, targets: Tensor) -> Tensor:
    """How many of the targets are the place of the largest output, as a share.

    The last axis of the outputs is that of the classes. It is refused where the second axis is as
    long, since it might be that of the classes, as in torch's losses. Negative targets do not
    count: there is no such class, and torch's losses ignore −100.

    >>> share_right(torch.tensor([[0.1, 0.9], [0.7, 0.3]]), torch.tensor([1, 1]))
    tensor(0.5000)
    >>> share_right(torch.tensor([[0.1, 0.9], [0.7, 0.3]]), torch.tensor([1, -100]))
    tensor(1.)
    """
    classes = not targets.is_floating_point() and outputs.shape[:-1] == targets.shape
    classes &= outputs.ndim <= 2 or outputs.shape[1] != outputs.shape[-1]
    shapes = f"{targets.dtype} targets for outputs of shape {tuple(outputs.shape)}"
    require(classes, "targets", shapes, "the number of a class for every row of outputs")
    right = outputs.argmax(-1) == targets.long()
    return right[targets.long() >= 0].to(outputs.dtype).mean()
