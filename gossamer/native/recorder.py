"""A function of tensors as the list of operations that it performs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from gossamer.native.expressions import Unsupported

CREATORS = {
    getattr(torch.ops.aten, name).default
    for name in ("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full")
}
"""Operations whose result has no number of their operand."""


@dataclass(eq=False)
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

    Operations that change their operand are recorded as those that make a new one. (Torch's own
    `functionalize` would do that too, but imports a compiler, which takes seconds.)
    """
    recorder = _Recorder(given)
    with recorder:
        results = function(*given)
    outputs = [recorder.node(z) for z in results]
    return Recording(recorder.inputs, recorder.operations, outputs)


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
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Not asked to: torch would import its compiler, which takes seconds, to keep it away."""
        return False

    def __init__(self, given: Sequence[Tensor]) -> None:
        super().__init__()
        self.operations: list[Node] = []
        self.nodes: dict[int, Node] = {}
        self.alive: list[Tensor] = []  # so that no other tensor gets the same id
        self.inputs = [self.know(z, Node(z.shape, z.dtype)) for z in given]

    def know(self, tensor: Tensor, node: Node) -> Node:
        self.alive.append(tensor)
        self.nodes[id(tensor)] = node
        return node

    def forget_others(self, changed: Tensor) -> None:
        """Whatever shares its numbers is not what it was."""
        storage = changed.untyped_storage().data_ptr()
        for one in self.alive:
            if one is not changed and one.untyped_storage().data_ptr() == storage:
                self.nodes[id(one)] = STALE

    def node(self, tensor: Tensor) -> Node:
        """Of a tensor; one that was there before is a constant."""
        if self.nodes.get(id(tensor)) is STALE:
            raise Unsupported("reading a view of what was changed in place")
        if id(tensor) not in self.nodes:
            self.know(tensor, Node(tensor.shape, tensor.dtype, constant=tensor))
        return self.nodes[id(tensor)]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        as_nodes = tree_map(lambda z: self.node(z) if isinstance(z, Tensor) else z, (args, kwargs))
        result = func(*args, **kwargs)
        if func._schema.is_mutable:
            self.forget_others(args[0])
            func = _pure(func)
        whole = self.add(result, func, *as_nodes)
        if not isinstance(result, Tensor):
            for k, part in enumerate(result):
                self.add(part, operator.getitem, (whole, k), {})
        return result

    def add(self, result: Any, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Node:
        first = result if isinstance(result, Tensor) else result[0]
        node = Node(first.shape, first.dtype, target, args, kwargs)
        fixed = all(one.constant is not None for one in node.operands)
        if isinstance(result, Tensor):
            self.know(result, node)
            node.constant = result.clone() if fixed or target in CREATORS else None
        for one in node.operands:
            one.readers.append(node)
        self.operations.append(node)
        return node
