"""A module and its loss as a function of one vector, the trained parameters."""

import copy
import pickle
import random
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, cached_property, partial
from threading import RLock
from typing import Any, NoReturn, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.backends import cudnn, mha
from torch.func import functional_call
from torch.nn.modules.conv import _ConvNd

from gossamer.data.moving import Device
from gossamer.errors import InvalidInput, first_line, refuse, require
from gossamer.identical import identical
from gossamer.problems.module_failures import refusing
from gossamer.problems.module_refusals import (
    refuse_running_statistics,
    require_loss,
    require_trainable,
)

Loss = Callable[[Tensor, Tensor], Tensor]
"""(outputs, targets) of a batch ↦ the mean loss of its samples, a scalar."""

RUN = ("_training", "_evaluating")
"""Names of the copies of a module that are run."""

FromModule = Callable[[nn.Module], Tensor]
"""What is computed with a module."""

Mode = Callable[[nn.Module], nn.Module]
"""Puts a module into training or evaluation mode, and returns it."""

ALONE = RLock()
"""Held while a module or torch itself is changed for a moment: other threads wait."""


class VectorModule:
    """x ↦ loss(module_x(inputs), targets), where x is the module's trained parameters.

    x has the order of `module.parameters()`, and `start` is what the module holds. The module is
    copied: once as it is given, once to be run in training and once in evaluation mode. A module
    that is in training mode is trained as it is given, so that parts of it may be in evaluation
    mode; one that is in evaluation mode is put into training mode as a whole. Buffers are never
    written to, and what a module keeps of a run, e.g. an activation, is in no other copy.

    Args:
        module: a module of one input.
        loss: (outputs, targets) ↦ scalar.
        autocast: precision of matrix products, e.g. `torch.bfloat16`.
    """

    def __init__(self, module: nn.Module, loss: Loss, autocast: torch.dtype | None = None) -> None:
        require_trainable(module)
        require_loss(loss)
        known = (None, torch.bfloat16, torch.float16)
        require(autocast in known, "autocast", repr(autocast), f"one of {known}")
        self.name, self.autocast = type(module).__name__, autocast
        self.draws, self.draws_elsewhere = True, False
        self._as_given = _copied(module)
        trained = {k: p for k, p in self._as_given.named_parameters() if p.requires_grad}
        require(len(trained) > 0, "module", self.name, "parameters to be trained")
        self.shapes = {name: p.shape for name, p in trained.items()}
        self._places = _places(self._as_given, trained)
        self.start = torch.cat([p.detach().flatten() for p in trained.values()])
        self._precision_given = self.start.dtype
        self._loss = _loss_there(loss, self.start.device, self.start.dtype)
        refuse_running_statistics(self._training.module)

    @cached_property
    def _training(self) -> "Running":
        """The copy that is run in training mode, and may keep what it computes."""
        return Running(in_training(self._copy_for(self._within(self.start))))

    @cached_property
    def _evaluating(self) -> "Running":
        """The copy that is run in evaluation mode."""
        return Running(self._copy_for(self._within(self.start)).eval())

    def _copy_for(self, x: Tensor) -> nn.Module:
        """A copy of the module as it is given, which is moved if x is elsewhere or not as exact."""
        copied, there = copy.deepcopy(self._as_given), (x.device, x.dtype)
        here = self.start.device, self.start.dtype
        return copied if there == here else moved(copied, *there)

    def _within(self, z: Tensor) -> Tensor:
        """A tensor as the module computes with it: autocast would leave float64 alone."""
        return z.float() if self.autocast and z.dtype == torch.float64 else z

    def __getstate__(self) -> dict[str, Any]:
        """Without the copies that are run, of which every copy of this has its own."""
        return {name: value for name, value in vars(self).items() if name not in RUN}

    @property
    def convolves(self) -> bool:
        """Whether there are convolutions in the module."""
        return any(isinstance(part, _ConvNd) for part in self._as_given.modules())

    def training_loss(self, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss on one batch in training mode, e.g. with dropout."""
        return self._loss_of(self._training, x, inputs, targets)

    def evaluation_loss(self, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss on one batch in evaluation mode."""
        return self._loss_of(self._evaluating, x, inputs, targets)

    def training_grad(self, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """∇ of the training loss in x."""
        return self._grad_of(self._training, x, inputs, targets)

    def evaluation_grad(self, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """∇ of the evaluation loss in x."""
        return self._grad_of(self._evaluating, x, inputs, targets)

    def loss_in(self, dtype: torch.dtype) -> Loss:
        """The loss of outputs in another precision."""
        return _loss_there(self._loss, self.start.device, dtype)

    def judged_by(self, loss: Loss) -> Self:
        """The same module with another loss."""
        judged = copy.copy(self)
        judged._loss = loss
        return judged

    def _grad_of(self, running: "Running", x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The module holds x until the end: some run parts again for it (checkpointing)."""
        leaf = x.detach().requires_grad_()

        def grad(module: nn.Module) -> Tensor:
            loss = self._plain_loss(x.dtype, inputs, targets, module)
            reached = loss.requires_grad  # not where all trained layers are skipped at random
            return torch.autograd.grad(loss, leaf)[0] if reached else torch.zeros_like(leaf)

        with torch.enable_grad(), exact_convolutions(x.device):
            return self._holding(running, leaf, grad)

    def _loss_of(self, running: "Running", x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        return self._holding(running, x, partial(self._plain_loss, x.dtype, inputs, targets))

    def _holding(self, running: "Running", x: Tensor, compute: FromModule) -> Tensor:
        """What is computed while a module holds the parameters x, and copies of its buffers."""
        parts = self._within(x).split([shape.numel() for shape in self.shapes.values()])
        named = zip(self.shapes.items(), parts, strict=True)
        trained = {name: part.view(shape) for (name, shape), part in named}
        tensors = {place: trained[name] for place, name in self._places.items()}
        tensors |= {name: buffer.clone() for name, buffer in running.named_buffers()}
        with ALONE, self._told_of_precision(x.dtype):
            return functional_call(running, tensors, (compute,), tie_weights=False)

    def _plain_loss(
        self, dtype: torch.dtype, inputs: Tensor, targets: Tensor, module: nn.Module
    ) -> Tensor:
        """The loss of a module with what it holds, its outputs in some precision."""
        return self._loss(self._outputs(inputs, module).to(dtype), targets)

    def _outputs(self, inputs: Tensor, module: nn.Module) -> Tensor:
        with self._set_up(inputs.device):
            outputs = module(self._within(inputs))
        if not isinstance(outputs, Tensor):
            self._refuse_outputs(outputs)
        return outputs

    def _refuse_outputs(self, outputs: object) -> NoReturn:
        found = f"{self.name}, which returns a {type(outputs).__name__}"
        way_out = "wrap it in a module that returns the one tensor which the loss needs"
        refuse("module", found, "one tensor as its output", way_out)

    @contextmanager
    def _set_up(self, device: torch.device) -> Iterator[None]:
        """How torch is to compute within."""
        with self._precision(device), _differentiable_attention(), exact_convolutions(device):
            yield

    @contextmanager
    def _told_of_precision(self, dtype: torch.dtype) -> Iterator[None]:
        """Within, tensors that stay in the precision of the module are told from other failures."""
        try:
            yield
        except RuntimeError as reason:
            mixed = "dtype" in str(reason) or "scalar type" in str(reason)
            if dtype == self._precision_given or not mixed:
                raise
            raise InvalidInput(
                f"dtype: got {dtype}, in which {self.name} or its loss fails "
                f"({first_line(reason)}); need the precision of all tensors that they use: pass "
                f"dtype={self._precision_given}, or hold such tensors as buffers, those of a loss "
                "in an nn.Module, e.g. nn.CrossEntropyLoss(weight=weight)"
            ) from reason

    def _precision(self, device: torch.device) -> AbstractContextManager[Any]:
        if self.autocast is None:
            return nullcontext()
        return torch.autocast(device.type, self.autocast)

    def check(self, inputs: Tensor, targets: Tensor) -> None:
        """Refuse a module, loss or data whose gradient cannot be computed, with the reason.

        Learns on the way whether the training loss `draws` at random, e.g. dropout masks, and
        whether one of the losses draws from Python's or numpy's generator in place of torch's.
        """
        require_autograd()
        for loss_of in (self.evaluation_loss, self.training_loss):
            before = _generator_states()
            with refusing(self._told), torch.enable_grad():
                x = self.start.clone().requires_grad_()
                loss = loss_of(x, inputs, targets)
                _require_scalar(loss)
                skipped = not loss.requires_grad and _generator_states() != before
                if not skipped:
                    torch.autograd.grad(loss, x)
            after = _generator_states()
            self.draws = after != before
            self.draws_elsewhere |= after[:2] != before[:2]
        self._refuse_writing(inputs)

    def _told(self, reason: str) -> str:
        labels = re.search(r"\bLong\b.*\bbut\b", reason) is not None
        return (
            f"module: got {self.name}, which fails on the first samples of node 0 ({reason}); "
            "need loss(module(inputs), targets) of tensors, differentiable in the trained "
            "parameters" + "; make numbers of classes or tokens by .long()" * labels
        )

    def _refuse_writing(self, inputs: Tensor) -> None:
        """Refuse a module that writes to a buffer, which all points and nodes share."""
        for running in (self._training, self._evaluating):
            buffers = dict(running.named_buffers())
            written = {name: buffer.clone() for name, buffer in buffers.items()}
            with torch.no_grad():
                functional_call(running, written, (partial(self._outputs, inputs),))
            for name, buffer in buffers.items():
                require(
                    identical(buffer, written[name]),
                    name,
                    f"a buffer to which {self.name} writes when it is run",
                    "a module that is a function of its parameters, whose buffers stay as they are",
                    "compute it anew in each forward pass, or put that part into eval() mode",
                )

    def module_at(self, x: Tensor) -> nn.Module:
        """A copy of the module with copies of the parameters `x`, `(dim,)`, in evaluation mode."""
        return _with_parameters(self._copy_for(x), x).eval()

    def plain_grad(self, x: Tensor, inputs: Tensor, targets: Tensor, in_mode: Mode) -> Tensor:
        """∇ of the loss in x as torch alone gives it, of a new copy of the module."""
        module = in_mode(_with_parameters(self._copy_for(self._within(x)), x))
        trained = [p for p in module.parameters() if p.requires_grad]
        with torch.enable_grad(), exact_convolutions(x.device):
            loss = self._plain_loss(x.dtype, inputs, targets, module)
            loss = loss if loss.requires_grad else loss + 0 * trained[0].sum()
            grads = torch.autograd.grad(loss, trained, materialize_grads=True)
        return torch.cat([grad.flatten() for grad in grads]).to(x.dtype)

    def to(self, device: Device, dtype: torch.dtype) -> Self:
        """The same on another device, in another precision."""
        there = copy.copy(self)
        there._as_given = moved(copy.deepcopy(self._as_given), device, dtype)
        there.start = self.start.to(device, dtype)
        there._loss = _loss_there(self._loss, device, dtype)
        for name in RUN:
            getattr(there, name)  # copied now, and not while a gradient is traced or captured
        return there


class Running(nn.Module):
    """What is computed with a module, e.g. a gradient: the whole of it can be `functional_call`ed.

    Args:
        module: held as `module`, as parts of it are called in messages.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, compute: FromModule) -> Tensor:
        """`compute` of the module."""
        return compute(self.module)


def require_autograd() -> None:
    """Refuse torch's inference mode, within which nothing can be differentiated."""
    way_out = "leave its `with` block, or use torch.no_grad(), which Gossamer can undo"
    here = torch.is_inference_mode_enabled()
    require(not here, "torch.inference_mode", "on", "off, to differentiate a module", way_out)


def moved(module: nn.Module, device: Device, dtype: torch.dtype) -> nn.Module:
    """The module itself on another device, in another precision.

    As `module.to` does it, but complex tensors stay complex.
    """
    complex_dtype = torch.promote_types(dtype, torch.float32).to_complex()

    def there(z: Tensor) -> Tensor:
        wanted = dtype if z.is_floating_point() else complex_dtype if z.is_complex() else None
        return z.to(device, wanted)

    return module._apply(there)


def _loss_there(loss: Loss, device: Device, dtype: torch.dtype) -> Loss:
    """A loss that is a module, moved; a function is where its tensors are."""
    return moved(copy.deepcopy(loss), device, dtype) if isinstance(loss, nn.Module) else loss


def _copied(module: nn.Module) -> nn.Module:
    try:
        return copy.deepcopy(module)
    except Exception as reason:
        raise InvalidInput(
            f"module: got {type(module).__name__}, which cannot be copied ({first_line(reason)}); "
            "need a module that holds no results of a computation: pass it before you run it, use "
            "nn.utils.parametrizations in place of nn.utils.weight_norm, and prune.remove"
        ) from reason


@contextmanager
def exact_convolutions(device: torch.device) -> Iterator[None]:
    """Within, convolutions on CUDA have the precision that products have.

    By itself torch computes float32 convolutions in TF32, with three digits, and float32 products
    in float32. Here both are as exact as `torch.backends.cuda.matmul.fp32_precision` says.
    """
    if device.type != "cuda":
        yield
        return
    _without_advice()
    with ALONE:
        before = _layers.conv.fp32_precision, _layers.rnn.fp32_precision
        products = "tf32" if products_in_tf32() else "ieee"
        _set_cudnn_precision(products, products)
        try:
            yield
        finally:
            _set_cudnn_precision(*before)


def products_in_tf32() -> bool:
    """Whether CUDA's float32 products may be in TF32, by torch's newer flag or by an older one."""
    return bool(torch.backends.cuda.matmul.fp32_precision == "tf32")


def _set_cudnn_precision(conv: str, rnn: str) -> None:
    cudnn.allow_tf32 = conv == "tf32"  # the older flag, which some of torch still reads
    _layers.conv.fp32_precision, _layers.rnn.fp32_precision = conv, rnn


_layers: Any = cudnn  # which torch does not annotate


@cache
def _without_advice() -> None:
    """torch advises against the older flag; it does not know that the newer ones are set, too."""
    warnings.filterwarnings("ignore", "Please use the new API settings to control TF32")


def _generator_states() -> list[object]:
    """Of Python's, numpy's and torch's own generators, those of all GPUs among them."""
    own = [torch.default_generator, *torch.cuda.default_generators]
    states = [one.get_state().numpy().tobytes() for one in own]
    return [random.getstate(), pickle.dumps(np.random.get_state()), *states]


@contextmanager
def _differentiable_attention() -> Iterator[None]:
    """Without torch's fast path of attention, which has no gradient and is unknown to `vmap`."""
    enabled = mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        mha.set_fastpath_enabled(enabled)


def _places(module: nn.Module, trained: Mapping[str, nn.Parameter]) -> dict[str, str]:
    """Where each trained parameter is in `Running` → its name: once in every module that holds it.

    A module used twice counts once: `functional_call`, left to find ties itself, would replace its
    parameters twice and not give them back.
    """
    names = {parameter: name for name, parameter in trained.items()}
    return {
        f"{path}.{own}": names[parameter]
        for path, part in module.named_modules(prefix="module")
        for own, parameter in part.named_parameters(recurse=False, remove_duplicate=False)
        if parameter in names
    }


def _with_parameters(module: nn.Module, x: Tensor) -> nn.Module:
    """The module itself, whose trained parameters are now copies of those in a vector."""
    trained = [p for p in module.parameters() if p.requires_grad]
    with torch.no_grad():
        for p, part in zip(trained, x.split([p.numel() for p in trained]), strict=True):
            p.copy_(part.view_as(p))
    return module


def in_training(module: nn.Module) -> nn.Module:
    """In training mode, with parts in evaluation mode if it is given so."""
    return module if module.training else module.train()


def _require_scalar(loss: object) -> None:
    shape = tuple(loss.shape) if isinstance(loss, Tensor) else None
    found = f"a {type(loss).__name__.lower()}" + (f" of shape {shape}" if shape else "")
    require(shape == (), "loss", found, "the mean over a batch", 'e.g. with reduction="mean"')
