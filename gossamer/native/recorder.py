"""A function of tensors as the list of operations that it performs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from gossamer.native.expressions import Unsupported

CREATORS = {
    getattr(torch.ops.aten, name).default
    for name in ("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full")
}
"""Operations whose result has no number of their operand."""

WAYS_OUT = {"tolist", "numpy", "__array__", "__dlpack__", "__repr__", "__format__"}
"""Methods of a tensor that hand its numbers to Python without an operation."""


@dataclass(eq=False, repr=False)  # each tells of all others
class Node:
    """A tensor of the function: an input, a constant, or what an operation makes of others."""

    shape: torch.Size
    kind: torch.dtype
    target: Any = None
    """The operation; None of inputs and constants."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    constant: Tensor | None = None
    """Its numbers, if they are the same in every call."""

    readers: list[Node] = field(default_factory=list)

    @property
    def operands(self) -> list[Node]:
        """The nodes among the arguments."""
        return [one for one in tree_leaves((self.args, self.kwargs)) if isinstance(one, Node)]

    @property
    def like(self) -> Tensor:
        """A tensor of its shape and kind, without numbers."""
        return torch.empty(self.shape, dtype=self.kind, device="meta")


@dataclass(frozen=True)
class Recording:
    """The operations of one call, in order."""

    inputs: Sequence[Node]
    operations: Sequence[Node]
    outputs: Sequence[Node]


def record_operations(
    function: Callable[..., Sequence[Tensor]], given: Sequence[Tensor]
) -> Recording:
    """What `function` does with tensors like these; nothing it does may depend on their numbers.

    Refused is what would be the same numbers in every step to come, though it is not in Python:
    numbers of a tensor that Python reads, e.g. for a branch, random ones, and a tensor from outside
    that is changed. Operations that change what the function has made are recorded as those that
    make a new one. (Torch's own `functionalize` would do that too, but imports a compiler, which
    takes seconds.)
    """
    given = [z.as_subclass(Given) for z in given]
    recorder = _Recorder(given)
    with recorder, _NoWayOut(recorder):
        results = function(*given)
    outputs = [recorder.node(z) for z in results]
    return Recording(recorder.inputs, _needed(recorder.operations, outputs), outputs)


class Given(Tensor):
    """An input, or what torch makes of one.

    A set or a dictionary, as in `t in {100, 200}`, tells tensors apart by their identity.
    """

    def __hash__(self) -> int:
        raise Unsupported("looking for a tensor in a set or a dictionary")


def _needed(operations: Sequence[Node], outputs: Sequence[Node]) -> list[Node]:
    """The operations on which an output depends, each with those of them that read it."""
    needed, found = {*outputs}, []
    for node in reversed(operations):
        if node in needed and node.constant is None:
            found.append(node)
            needed.update(node.operands)
            for one in node.operands:
                one.readers.append(node)
    return found[::-1]


class _Place(NamedTuple):
    """Where a tensor's numbers are: two tensors at one place have the same numbers."""

    storage: int
    offset: int
    shape: torch.Size
    stride: tuple[int, ...]
    kind: torch.dtype

    @classmethod
    def of(cls, z: Tensor) -> _Place:
        return cls(_storage(z), int(z.storage_offset()), z.shape, z.stride(), z.dtype)


def _storage(z: Tensor) -> int:
    if z.layout is not torch.strided:
        raise Unsupported(f"a tensor of layout {z.layout}")
    return z.untyped_storage().data_ptr()


STALE = Node(torch.Size(), torch.bool)
"""In place of a tensor whose numbers were changed through another."""


def _pure(func: Any) -> Any:
    """The operation that makes a new tensor, of one that changes its first operand."""
    name, _, overload = func.__name__.partition(".")
    changing = name.endswith("_") and hasattr(torch.ops.aten, name[:-1])
    if not changing or "out" in func._schema.overload_name:
        raise Unsupported(str(func))
    return getattr(getattr(torch.ops.aten, name[:-1]), overload)


class _Recorder(TorchDispatchMode):
    """Sees every operation.

    A tensor is known by its place, not by its Python object: automatic differentiation hands back
    what it has kept as new objects.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Not asked to: torch would import its compiler, which takes seconds, to keep it away."""
        return False

    def __init__(self, given: Sequence[Tensor]) -> None:
        super().__init__()
        self.operations: list[Node] = []
        self.nodes: dict[_Place, Node] = {}
        self.alive: list[Tensor] = []  # so that no other tensor gets the same place
        self.storages: set[int] = set()
        self.made: set[int] = set()  # those of what the function has made itself
        self.inputs = [self.know(z, Node(z.shape, z.dtype)) for z in given]
        self.given = {*self.storages}

    def know(self, tensor: Tensor, node: Node) -> Node:
        self.alive.append(tensor)
        self.storages.add(_storage(tensor))
        self.nodes[_Place.of(tensor)] = node
        return node

    def node(self, tensor: Tensor) -> Node:
        """Of a tensor; one that was there before is a constant."""
        place = _Place.of(tensor)
        if place not in self.nodes:
            if place.storage in self.made | self.given:
                raise Unsupported("a view of which no operation tells")
            self.know(tensor, Node(tensor.shape, tensor.dtype, constant=tensor))
        if self.nodes[place] is STALE:
            raise Unsupported("reading a view of what was changed in place")
        return self.nodes[place]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        as_nodes = tree_map(lambda z: self.node(z) if isinstance(z, Tensor) else z, (args, kwargs))
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise Unsupported(f"{func}, which is drawn at random")
        target = func
        if func._schema.is_mutable:
            target = _pure(func)
            self._change(args[0])
        result = func(*args, **kwargs)
        self._add_all(result, target, *as_nodes)
        return result

    def _change(self, changed: Tensor) -> None:
        """Whatever shares its numbers is not what it was."""
        storage = _storage(changed)
        if storage not in self.made:
            raise Unsupported("changing what the step has not made")
        for place, node in self.nodes.items():
            if place.storage == storage:
                self.nodes[place] = STALE
                node.constant = None if node.constant is None else node.constant.clone()

    def _add_all(
        self, result: Any, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """The node of a result, and those of its parts."""
        parts = result if isinstance(result, tuple | list) else [result]
        if not all(isinstance(part, Tensor) for part in parts):
            operands = Node(torch.Size(), torch.bool, target, args, kwargs).operands
            if not _fixed(operands):
                raise Unsupported(f"{target}, which gives Python a number of a tensor")
            return
        whole = self._add(result, target, args, kwargs)
        if not isinstance(result, Tensor):
            for k, part in enumerate(result):
                self._add(part, operator.getitem, (whole, k), {})

    def _add(self, result: Any, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Node:
        first = result if isinstance(result, Tensor) else result[0]
        node = Node(first.shape, first.dtype, target, args, kwargs)
        if isinstance(result, Tensor):
            self.made |= {_storage(result)} - self.storages
            node.constant = result if target in CREATORS or _fixed(node.operands) else None
            self.know(result, node)
        self.operations.append(node)
        return node


def _fixed(operands: Sequence[Node]) -> bool:
    return all(one.constant is not None for one in operands)


class _NoWayOut(TorchFunctionMode):
    """Refuses that Python reads the numbers of a tensor which differ from step to step."""

    def __init__(self, recorder: _Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in WAYS_OUT and not _fixed([self._recorder.node(args[0])]):
            raise Unsupported(f"{name}, which gives Python the numbers of a tensor")
        return func(*args, **(kwargs or {}))
