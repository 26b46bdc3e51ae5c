"""The graph of one run's step as C, for R runs side by side.

Every value that differs between runs is an array whose last axis are the runs, R of them: what a
step does is then the same instruction for all R, and all its arrays stay in a core's cache. Views
cost nothing: they are another way to count. An operation on single numbers that is read once, by
another one of the same shape, is done in the loop of that one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gossamer.native.elementwise import Body, Statement
from gossamer.native.expressions import EXPRESSIONS, KINDS, Unsupported, number
from gossamer.native.joins import joined, padded, scattered, stacked
from gossamer.native.products import product
from gossamer.native.recorder import Node, Recording
from gossamer.native.reductions import mean, norm, total
from gossamer.native.values import Value, contiguous, loop_over

aten = torch.ops.aten

VIEWS = {
    aten.view.default,
    aten._unsafe_view.default,
    aten.unsqueeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.permute.default,
    aten.transpose.int,
    aten.t.default,
    aten.expand.default,
    aten.slice.Tensor,
    aten.select.int,
    aten.alias.default,
    aten.detach.default,
    aten.split_with_sizes.default,
    aten.unbind.int,
    operator.getitem,
}
"""Operations that only count in another way."""

REDUCTIONS: dict[Any, Callable[[Emitter, Node], Value]] = {
    aten.linalg_vector_norm.default: norm,
    aten.sum.dim_IntList: total,
    aten.mean.dim: mean,
}
"""Operations that sum up numbers of a loop of theirs."""

WRITERS: dict[Any, Callable[[Emitter, Node], Value]] = {
    **REDUCTIONS,
    aten.mm.default: product,
    aten.bmm.default: product,
    aten.addmm.default: product,
    aten.baddbmm.default: product,
    aten.cat.default: joined,
    aten.stack.default: stacked,
    aten.constant_pad_nd.default: padded,
    aten.slice_backward.default: scattered,
}
"""Operations that write an array of their own."""


DATA_BYTES = 2**21
"""Most bytes of what every step reads, e.g. the data of a problem.

Every block of R runs reads all of it, where a product as it is written reads it once for all runs.
Least squares took 0.5 to 0.9 of the time with up to 1.9 MB, 1.3 times with 2.6, 2.6 with 10.
"""


@dataclass
class Emitter:
    """Writes the statements of a graph, operation by operation.

    Args:
        recording: of the step of one run.
        inputs: names of its inputs, and whether they differ between runs.
        outputs: names of its outputs, all of which do.
        kind: of x: R numbers of it fill a register.
    """

    recording: Recording
    inputs: Sequence[tuple[str, bool]]
    outputs: Sequence[str]
    kind: torch.dtype
    lines: list[str] = field(default_factory=list)
    arrays: list[tuple[str, str, int, bool]] = field(default_factory=list)
    """Name, C type, numbers and lanes of every array that the step needs for itself."""

    constants: list[tuple[str, Tensor]] = field(default_factory=list)
    values: dict[Node, Any] = field(default_factory=dict)
    """Node → its `Value`, or several."""

    def __post_init__(self) -> None:
        for node, (name, lanes) in zip(self.recording.inputs, self.inputs, strict=True):
            self.values[node] = Value(name, node.kind, contiguous(node.shape), lanes)
        for node in self.recording.operations:
            self._operation(node)
        for name, node in zip(self.outputs, self.recording.outputs, strict=True):
            into = Value(name, node.kind, contiguous(node.shape), lanes=True)
            self.copy(self.value(node), into)

    def value(self, node: Node) -> Value:
        """Of a node as an array; what is the same in every step is handed over once."""
        if node not in self.values and node.constant is not None:
            self.values[node] = self._hand_over(node.constant)
        elif node not in self.values:
            self.values[node] = self._elementwise(node)
        found: Value = self.values[node]
        return found

    def _hand_over(self, constant: Tensor) -> Value:
        if constant.nbytes + sum(z.nbytes for _, z in self.constants) > DATA_BYTES:
            raise Unsupported("more data than a core's cache holds")
        name, given = f"c{len(self.constants)}", as_floats(constant)
        self.constants.append((name, given))
        return Value(name, given.dtype, contiguous(given.shape), lanes=False)

    def new(self, node: Node, lanes: bool) -> Value:
        """An array for the result of a node."""
        if node.kind not in KINDS:
            raise Unsupported(f"numbers of kind {node.kind}")
        made = Value(f"b{len(self.arrays)}", node.kind, contiguous(node.shape), lanes)
        self.arrays.append((made.name, KINDS[node.kind], math.prod(node.shape), lanes))
        return made

    def copy(self, value: Value, into: Value) -> None:
        """The numbers of an array in another one."""
        body = Body(self)
        self._loop(body, body.load(value), into)

    def fill(self, into: Value, value: float) -> None:
        """The same number everywhere."""
        kind = KINDS[into.kind]
        self._loop(Body(self), Statement(number(value).replace("KIND", kind), kind, ""), into)

    def _operation(self, node: Node) -> None:
        if node.target in VIEWS:
            self.values[node] = self._view(node)
        elif node.target in WRITERS:
            self.values[node] = WRITERS[node.target](self, node)
        elif node.target not in EXPRESSIONS or node.kind not in KINDS:
            raise Unsupported(f"{node.target} that gives {node.kind}")
        elif not _inside_its_reader(node):
            self.values[node] = self._elementwise(node)

    def _view(self, node: Node) -> Any:
        source, *rest = node.args
        if node.target is operator.getitem:
            return self.values[source][rest[0]]
        value = self.value(source)
        target: Callable[..., Any] = node.target
        try:
            counted = target(value.layout, *rest, **node.kwargs)
        except RuntimeError:  # no way to count: in a new order
            old, value = value, self.new(source, value.lanes)
            self.copy(old, value)
            counted = target(value.layout, *rest, **node.kwargs)
        if isinstance(counted, Tensor):
            return value.seen_as(counted)
        return [value.seen_as(part) for part in counted]

    def _elementwise(self, node: Node) -> Value:
        """A loop over the numbers of a node, and of all that is done inside it."""
        body = Body(self)
        result = body.expression(node)
        made = self.new(node, body.lanes)
        self._loop(body, result, made)
        return made

    def _loop(self, body: Body, result: Statement, into: Value) -> None:
        """All numbers of `into`, one by one."""
        shape = into.shape
        at_once = body.counts_at_once(shape) and into.fills_array
        sizes = [math.prod(shape)] if at_once else list(shape)
        indices = [f"i{k}" for k in range(len(sizes))]
        place = into.at_once(indices[0]) if at_once else into.at(indices, shape)
        statements = " ".join(s.at(indices, sizes, at_once) for s in body.statements)
        self.lines += [loop_over(i, size) for i, size in zip(indices, sizes, strict=True)]
        lanes = loop_over("r", "R") if into.lanes else ""
        self.lines.append(f"{lanes}{{ {statements} {place} = {result.name}; }}")


def as_floats(constant: Tensor) -> Tensor:
    """The numbers of a constant in a precision that C reads, none of them changed."""
    if constant.dtype in (torch.float32, torch.float64):
        return constant.contiguous()
    given = constant.double().contiguous()
    if constant.is_complex() or not torch.equal(given.to(constant.dtype), constant):
        raise Unsupported(f"a constant of kind {constant.dtype}")
    return given


def _inside_its_reader(node: Node) -> bool:
    """Whether a node is read once, by an operation that loops over the same numbers."""
    if len(node.readers) != 1:
        return False
    (reader,) = node.readers
    in_a_loop = reader.target in EXPRESSIONS and reader.shape == node.shape
    return in_a_loop or reader.target in REDUCTIONS
