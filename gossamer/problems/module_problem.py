"""Any `nn.Module` as a problem: n nodes that train it on their own data."""

import copy
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from gossamer.data.order import BatchOrder
from gossamer.data.samples import Samples, as_samples
from gossamer.errors import InvalidInput, require
from gossamer.problems.problem import Problem, require_nodes
from gossamer.seeding import stream_seed

Loss = Callable[[Tensor, Tensor], Tensor]
"""(outputs, targets) of a batch ↦ the mean loss of its samples, a scalar."""

SAMPLES_AT_ONCE = 256
"""Samples of one evaluation of the module when a whole dataset is gone through."""

POINTS_AT_ONCE = 8
"""Points that are evaluated on so many samples at once."""


class ModuleProblem(Problem):
    """n nodes train copies of one module, each on its own data, by mini-batches.

        f_i(x) = mean of loss(module_x(input), target) over the samples of node i

    x is the module's trainable parameters as one vector, in the order of `module.parameters()`;
    x⁰ is what the module holds. Gradients of step t use the batch that `BatchOrder` gives node i
    in step t of the run's seed, the same batch that a real process i of that seed sees.

    All nodes and runs are evaluated at once (`vmap`), or one after the other when `vectorize` is
    off: the same numbers, slower, for modules that `vmap` does not know. Dropout draws masks of
    its own for each node, step and seed; they differ between the two ways. Losses are evaluated
    without dropout.

    Args:
        module: a module of one input; it is copied, not changed.
        loss: (outputs, targets) ↦ scalar, the mean over the samples of a batch.
        node_datasets: node i's data: `(inputs, targets)` tensors or arrays, a dataset of such
            pairs, or anything of the form `Samples`, as `TokenWindows`. Floating-point data take
            the module's precision.
        batch_size: samples per node and step.
        validation: data for `validation_loss`.
        vectorize: evaluate all nodes at once.
        autocast: precision of matrix products, such as `torch.bfloat16`.

    >>> inputs = torch.arange(12.0).view(3, 4, 1)           # three nodes with four samples each
    >>> datasets = [(x, 2 * x) for x in inputs]
    >>> linear = nn.Linear(1, 1, bias=False)
    >>> problem = ModuleProblem(linear, nn.functional.mse_loss, datasets, batch_size=2)
    >>> problem.num_nodes, problem.dim, float(problem.loss(torch.tensor([[2.0]])))
    (3, 1, 0.0)
    """

    def __init__(
        self,
        module: nn.Module,
        loss: Loss,
        node_datasets: Iterable[Any],
        *,
        batch_size: int,
        validation: Any = None,
        vectorize: bool = True,
        autocast: torch.dtype | None = None,
    ) -> None:
        require(isinstance(module, nn.Module), "module", module, "an nn.Module")
        known = (None, torch.bfloat16, torch.float16)
        require(autocast in known, "autocast", repr(autocast), f"one of {known}")
        datasets = [as_samples(dataset) for dataset in node_datasets]
        self.num_nodes = require_nodes(len(datasets))
        _refuse_running_statistics(module)
        self._loss, self.batch_size, self.autocast = loss, batch_size, autocast
        self._training, self._evaluating = (copy.deepcopy(module).train(on) for on in (True, False))
        trained = {k: p for k, p in self._training.named_parameters() if p.requires_grad}
        require(len(trained) > 0, "module", type(module).__name__, "parameters to be trained")
        self._shapes = {name: p.shape for name, p in trained.items()}
        self._places = _places(self._training, trained)
        self._padding = _padding(self._training)
        self.start = torch.cat([p.detach().flatten() for p in trained.values()])
        self.dim = self.start.numel()
        place = self.start.dtype, self.start.device
        self._datasets = [data.to(*place) for data in datasets]
        self._validation = None if validation is None else as_samples(validation).to(*place)
        self.has_validation = validation is not None
        self._epochs: dict[tuple[int, int], tuple[int, Tensor]] = {}
        self.steps_per_epoch = min(self._order(0, i).steps_per_epoch for i in range(self.num_nodes))
        self.vectorize, self._random = vectorize, False
        with _seeded(self.start.device, 0):  # the caller's random numbers stay as they were
            self._evaluate_once()
            if vectorize:
                self._probe()

    # ---- gradients ---------------------------------------------------------------------------

    def sample_grad(self, x: Tensor, t: int, seeds: Sequence[int]) -> Tensor:
        """The gradient of every node's batch of step `t`: `(nodes, runs, dim)` → the same."""
        inputs, targets = self._batch(t, seeds)  # (nodes, runs, batch, …)
        if not self.vectorize:
            return self._loop_grad(x, inputs, targets, t, seeds)
        if self._random:
            return self._run_by_run(x, inputs, targets, t, seeds)
        grad = self._stacked_grad(x.flatten(0, 1), inputs.flatten(0, 1), targets.flatten(0, 1))
        return grad.view(x.shape)

    def _stacked_grad(self, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """∇ of model m's loss on batch m, all at once: `(models, dim)` → the same."""
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            losses = self._vmap(self._training, (0, 0, 0))(x, inputs, targets)
            return torch.autograd.grad(losses.sum(), x)[0]

    def _run_by_run(
        self, x: Tensor, inputs: Tensor, targets: Tensor, t: int, seeds: Sequence[int]
    ) -> Tensor:
        """For random modules: the masks of a run do not depend on what else is stacked."""
        grads = torch.empty_like(x)
        for run, seed in enumerate(seeds):
            with _seeded(x.device, seed, t):
                grads[:, run] = self._stacked_grad(x[:, run], inputs[:, run], targets[:, run])
        return grads

    def _loop_grad(
        self, x: Tensor, inputs: Tensor, targets: Tensor, t: int, seeds: Sequence[int]
    ) -> Tensor:
        """One node and one run after the other: what all other ways must agree with."""
        grads = torch.empty_like(x)
        for i, r in torch.cartesian_prod(torch.arange(len(x)), torch.arange(len(seeds))).tolist():
            with torch.enable_grad(), _seeded(x.device, seeds[r], t, i):
                leaf = x[i, r].detach().requires_grad_()
                loss = self._model_loss(self._training, leaf, inputs[i, r], targets[i, r])
                grads[i, r] = torch.autograd.grad(loss, leaf)[0]
        return grads

    # ---- one model ---------------------------------------------------------------------------

    def _model_loss(self, module: nn.Module, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of the module with parameters x on one batch; its buffers are left alone."""
        parts = x.split([shape.numel() for shape in self._shapes.values()])
        names = zip(self._shapes.items(), parts, strict=True)
        trained = {name: part.view(shape) for (name, shape), part in names}
        tensors = {place: trained[name] for place, name in self._places.items()}
        held = {place: row for place, row in self._padding.items() if place in tensors}
        tensors |= {place: _without_grad(tensors[place], row) for place, row in held.items()}
        tensors |= {name: buffer.clone() for name, buffer in module.named_buffers()}
        with self._precision(x.device):
            outputs = functional_call(module, tensors, (inputs,), tie_weights=False)
        return self._loss(outputs.to(x.dtype), targets)

    def _vmap(self, module: nn.Module, in_dims: tuple[int | None, ...]) -> Callable[..., Tensor]:
        randomness = "different" if self._random else "error"

        def losses(*arguments: Tensor) -> Tensor:
            one = lambda *arguments: self._model_loss(module, *arguments)  # noqa: E731
            with sdpa_kernel(SDPBackend.MATH):  # the form of attention that vmap knows everywhere
                return vmap(one, in_dims, randomness=randomness)(*arguments)

        return losses

    def _precision(self, device: torch.device) -> AbstractContextManager[Any]:
        if self.autocast is None:
            return nullcontext()
        return torch.autocast(device.type, self.autocast)

    def _few_samples(self) -> tuple[Tensor, Tensor]:
        return self._datasets[0][torch.arange(min(2, len(self._datasets[0])))]

    def _evaluate_once(self) -> None:
        """One plain evaluation: what fails here is module, loss or data, and not `vmap`."""
        name = type(self._evaluating).__name__
        try:
            loss = self._model_loss(self._evaluating, self.start, *self._few_samples())
        except Exception as reason:
            raise InvalidInput(
                f"module: got {name}, which fails on the first samples of node 0 "
                f"({str(reason).splitlines()[0]}); need loss(module(inputs), targets) of tensors"
            ) from reason
        shape = tuple(loss.shape) if isinstance(loss, Tensor) else None
        found = f"a {type(loss).__name__.lower()}" + (f" of shape {shape}" if shape else "")
        require(shape == (), "loss", found, "the mean over a batch", 'as reduction="mean"')

    def _probe(self) -> None:
        """Evaluate two copies at once, to learn what the module does and refuse it in words."""
        arguments = (self.start.expand(2, -1), *self._few_samples())
        try:
            self._vmap(self._training, (0, None, None))(*arguments)
        except RuntimeError as reason:
            if "randomness" in str(reason) and not self._random:
                self._random = True
                return self._probe()
            raise InvalidInput(
                f"module: got {type(self._training).__name__}, which vmap cannot evaluate for many "
                f"nodes at once ({str(reason).splitlines()[0]}); pass vectorize=False"
            ) from reason
        return None

    # ---- losses ------------------------------------------------------------------------------

    def local_loss(self, x: Tensor) -> Tensor:
        """f_i over all of node i's samples, without dropout, in the precision of `x`."""
        there = self.to(x.dtype, x.device)
        pairs = zip(x, there._datasets, strict=True)
        return torch.stack([there._dataset_loss(points, data) for points, data in pairs])

    def local_grad(self, x: Tensor) -> Tensor:
        """∇f_i over all of node i's samples, without dropout, in the precision of `x`."""
        there, grads = self.to(x.dtype, x.device), torch.zeros_like(x)
        for total, points, data in zip(grads, x, there._datasets, strict=True):
            for share, inputs, targets in _pieces(data):
                with torch.enable_grad():
                    leaf = points.detach().requires_grad_()
                    loss = share * there._losses(leaf, inputs, targets).sum()
                    total += torch.autograd.grad(loss, leaf)[0]
        return grads

    def validation_loss(self, points: Tensor) -> Tensor:
        """The mean loss on the validation data: `(points, dim)` → `(points,)`."""
        require(self._validation is not None, "validation", None, "data given to the problem")
        there = self.to(points.dtype, points.device)
        assert there._validation is not None
        return there._dataset_loss(points, there._validation)

    def module_at(self, x: Tensor) -> nn.Module:
        """A copy of the module with the parameters `x`, `(dim,)`, in evaluation mode."""
        shape = f"shape {tuple(x.shape)}"
        require(x.shape == (self.dim,), "x", shape, f"shape ({self.dim},)", "as run.x[0, 0]")
        module = copy.deepcopy(self._evaluating)
        trained = [p for p in module.parameters() if p.requires_grad]
        nn.utils.vector_to_parameters(x.detach().to(self.start), trained)
        return module

    def _dataset_loss(self, points: Tensor, data: Samples) -> Tensor:
        parts = [share * self._losses(points, *batch) for share, *batch in _pieces(data)]
        return torch.stack(parts).sum(0)

    def _losses(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss at every point on the same samples: `(points, dim)` → `(points,)`."""
        if len(points) == 0:
            return points.new_empty(0)
        if self.vectorize:
            losses = self._vmap(self._evaluating, (0, None, None))
            count = POINTS_AT_ONCE * SAMPLES_AT_ONCE // len(inputs)
            return torch.cat([losses(some, inputs, targets) for some in points.split(count)])
        return torch.stack(
            [self._model_loss(self._evaluating, point, inputs, targets) for point in points]
        )

    # ---- batches -----------------------------------------------------------------------------

    def _batch(self, t: int, seeds: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Inputs and targets of step `t`, each `(nodes, runs, batch, …)`."""
        index = self._indices(t, seeds)
        pairs = [data[rows] for data, rows in zip(self._datasets, index, strict=True)]
        inputs, targets = zip(*pairs, strict=True)
        return torch.stack(inputs), torch.stack(targets)

    def _indices(self, t: int, seeds: Sequence[int]) -> Tensor:
        """Which samples each node and run uses in step `t`, `(nodes, runs, batch)`."""
        nodes = range(self.num_nodes)
        rows = torch.stack([self._row(t, seed, node) for node in nodes for seed in seeds])
        return rows.view(self.num_nodes, len(seeds), self.batch_size)

    def _row(self, t: int, seed: int, node: int) -> Tensor:
        """The batch of step `t`; the epoch that it belongs to is kept on the device."""
        order = self._order(seed, node)
        epoch, step = divmod(t, order.steps_per_epoch)
        if self._epochs.get((seed, node), (-1,))[0] != epoch:
            self._epochs[seed, node] = epoch, order.epoch(epoch).to(self.start.device)
        return self._epochs[seed, node][1][step]

    def _order(self, seed: int, node: int) -> BatchOrder:
        return BatchOrder(len(self._datasets[node]), self.batch_size, seed, node)

    # ---- the rest of a problem ---------------------------------------------------------------

    def to(self, dtype: torch.dtype, device: torch.device | str) -> Self:
        """The same problem in another precision or on another device."""
        moved = super().to(dtype, device)
        if moved is self:
            return self
        moved._training, moved._evaluating = (
            copy.deepcopy(module).to(device, dtype) for module in (self._training, self._evaluating)
        )
        moved._datasets = [data.to(dtype, device) for data in self._datasets]
        if self._validation is not None:
            moved._validation = self._validation.to(dtype, device)
        moved._epochs = {}
        return moved

    def describe(self) -> dict[str, Any]:
        """Name, module, sizes and a digest of x⁰."""
        start = self.start.detach().cpu().double().numpy().tobytes()
        return {
            "name": type(self).__name__,
            "module": type(self._training).__name__,
            "num_nodes": self.num_nodes,
            "dim": self.dim,
            "samples": [len(data) for data in self._datasets],
            "batch_size": self.batch_size,
            "autocast": None if self.autocast is None else str(self.autocast),
            "start": hashlib.sha256(start).hexdigest()[:16],
        }


def _places(module: nn.Module, trained: Mapping[str, nn.Parameter]) -> dict[str, str]:
    """Where each trained parameter is used → its name: once in every module that holds it.

    A module used twice counts once: `functional_call`, left to find ties itself, would replace its
    parameters twice and not give them back.
    """
    names = {parameter: name for name, parameter in trained.items()}
    return {
        f"{path}.{own}" if path else own: names[parameter]
        for path, part in module.named_modules()
        for own, parameter in part.named_parameters(recurse=False, remove_duplicate=False)
        if parameter in names
    }


def _padding(module: nn.Module) -> dict[str, int]:
    """Where embeddings have a row without gradient, `padding_idx`, which `vmap` ignores."""
    return {
        f"{path}.weight" if path else "weight": part.padding_idx
        for path, part in module.named_modules()
        if isinstance(part, nn.Embedding) and part.padding_idx is not None
    }


def _without_grad(weight: Tensor, row: int) -> Tensor:
    """`weight`, of which one row takes no gradient."""
    rows = torch.arange(len(weight), device=weight.device)[:, None]
    return torch.where(rows == row, weight.detach(), weight)


def _pieces(data: Samples) -> Iterator[tuple[float, Tensor, Tensor]]:
    """All samples in order, a few at a time, with the share of the whole that each piece is."""
    for index in torch.arange(len(data)).split(SAMPLES_AT_ONCE):
        yield len(index) / len(data), *data[index]


@contextmanager
def _seeded(device: torch.device, *ids: int) -> Iterator[None]:
    """Within, torch's global randomness is the stream "dropout" of `ids`."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(stream_seed("dropout", *ids))
        yield


def _refuse_running_statistics(module: nn.Module) -> None:
    for name, part in module.named_modules():
        require(
            not getattr(part, "track_running_stats", False),
            f"module.{name}",
            f"{type(part).__name__} with running statistics",
            "a module that is a function of its parameters: running statistics are neither "
            "trained nor mixed",
            "torch.func.replace_all_batch_norm_modules_(module) makes it use those of the batch",
        )
