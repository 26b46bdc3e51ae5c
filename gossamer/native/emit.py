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

from gossamer.native.expressions import EXPRESSIONS, KINDS, Unsupported, number
from gossamer.native.recorder import Node, Recording

aten = torch.ops.aten

VIEWS = {
    aten.view.default,
    aten._unsafe_view.default,
    aten.reshape.default,
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
    operator.getitem,
}
"""Operations that only count in another way."""

SUMS = 8
"""Registers of a product that are summed up side by side, so that none waits for another."""


@dataclass(frozen=True)
class Value:
    """A tensor of the step: where its numbers are.

    Attributes:
        name: of the C array.
        kind: of its numbers.
        layout: how they are counted, a tensor without content.
        lanes: whether every number is there R times, once for each run.
    """

    name: str
    kind: torch.dtype
    layout: Tensor
    lanes: bool

    @property
    def shape(self) -> torch.Size:
        """Of one run."""
        return self.layout.shape

    def at(self, indices: Sequence[str], shape: Sequence[int]) -> str:
        """Its number at these indices of a broadcast `shape`."""
        counted = self.layout.expand(list(shape))
        terms = [str(counted.storage_offset())]
        terms += [f"{s} * {i}" for s, i in zip(counted.stride(), indices, strict=True) if s != 0]
        place = " + ".join(terms)
        return f"{self.name}[({place}) * R + r]" if self.lanes else f"{self.name}[{place}]"


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
            self.values[node] = Value(name, node.kind, _contiguous(node.shape), lanes)
        for node in self.recording.operations:
            if node.constant is None:
                self._operation(node)
        for name, node in zip(self.outputs, self.recording.outputs, strict=True):
            into = Value(name, node.kind, _contiguous(node.shape), lanes=True)
            self._copy(self.value(node), into)

    # ------------------------------------------------------------------ operations

    def _operation(self, node: Node) -> None:
        if node.target in VIEWS:
            self.values[node] = self._view(node)
        elif node.target in WRITERS:
            self.values[node] = WRITERS[node.target](self, node)
        elif node.target not in EXPRESSIONS:
            raise Unsupported(str(node.target))
        elif not _inside_its_reader(node):
            self.values[node] = self._elementwise(node)

    def value(self, node: Node) -> Value:
        """Of a node as an array; what is the same in every step is handed over once."""
        if node not in self.values and node.constant is not None:
            name = f"c{len(self.constants)}"
            self.constants.append((name, node.constant.contiguous()))
            self.values[node] = Value(name, node.kind, _contiguous(node.shape), lanes=False)
        elif node not in self.values:
            self.values[node] = self._elementwise(node)
        found: Value = self.values[node]
        return found

    def new(self, node: Node, lanes: bool) -> Value:
        """An array for the result of a node."""
        if node.kind not in KINDS:
            raise Unsupported(f"numbers of kind {node.kind}")
        made = Value(f"b{len(self.arrays)}", node.kind, _contiguous(node.shape), lanes)
        self.arrays.append((made.name, KINDS[node.kind], math.prod(node.shape), lanes))
        return made

    def _view(self, node: Node) -> Any:
        source, *rest = node.args
        if node.target is operator.getitem:
            return self.values[source][rest[0]]
        value = self.value(source)
        target: Callable[..., Any] = node.target
        try:
            counted = target(value.layout, *rest, **node.kwargs)
        except RuntimeError:  # no way to count: in a new order
            value = self._copy(value, self.new(source, value.lanes))
            counted = target(value.layout, *rest, **node.kwargs)
        if isinstance(counted, Tensor):
            return Value(value.name, value.kind, counted, value.lanes)
        return [Value(value.name, value.kind, part, value.lanes) for part in counted]

    def _elementwise(self, node: Node, into: Value | None = None) -> Value:
        """A loop over the numbers of a node, and of all that is done inside it."""
        body = Body(self)
        result, shape = body.expression(node), node.shape
        written = into or self.new(node, body.lanes)
        self._loop(shape, body, f"{{0}} = {result};", written)
        return written

    def _copy(self, value: Value, into: Value) -> Value:
        body = Body(self)
        result = body.load(value)
        self._loop(value.shape, body, f"{{0}} = {result};", into)
        return into

    def _loop(self, shape: torch.Size, body: Body, last: str, into: Value) -> None:
        """All numbers of `into`, one by one."""
        flat = body.is_flat(shape) and into.layout.is_contiguous()
        sizes = [math.prod(shape)] if flat else list(shape)
        indices = [f"i{k}" for k in range(len(sizes))]
        self.lines += [_for(i, size) for i, size in zip(indices, sizes, strict=True)]
        place = into.at(indices, shape) if not flat else _flat(into)
        statements = [s.at(indices, sizes, flat) for s in body.statements]
        lanes = _for("r", "R") if into.lanes else ""
        self.lines.append(f"{lanes}{{ {' '.join([*statements, last.format(place)])} }}")

    # ------------------------------------------------------------------ products and sums

    def _product(self, node: Node) -> Value:
        """A B, with a tensor added to it where the operation says so."""
        *added, left, right = node.args
        if node.kwargs:
            raise Unsupported(f"{node.target} with {node.kwargs}")
        a, b = self.value(left), self.value(right)
        start = self.value(added[0]) if added else None
        made = self.new(node, lanes=True)
        if not (a.lanes or b.lanes):
            raise Unsupported("a product that is the same for all runs")
        batch = list(node.shape[:-2])
        self.lines += [_for(f"i{k}", size) for k, size in enumerate(batch)] + ["{"]
        if a.lanes and b.lanes:
            self._product_by_rows(made, a, b, start)
        else:
            self.lines.append("#if R > 1")
            self._product_by_tiles(made, a, b, start)
            self.lines.append("#else")
            self._product_by_rows(made, a, b, start)
            self.lines.append("#endif")
        self.lines.append("}")
        return made

    def _product_by_tiles(self, made: Value, a: Value, b: Value, start: Value | None) -> None:
        """Registers of R numbers times one number for all runs, a few sums side by side."""
        rows, columns = made.shape[-2:]
        own, own_size, size = ("col", columns, rows) if b.lanes else ("row", rows, columns)
        width = SUMS // self._registers(made)
        self.lines.append(f"{_for(own, own_size)}{{")
        if size >= width:
            self.lines.append(f"for (int o = 0; o <= {size - width}; o += {width}) {{")
            self._tile(made, a, b, start, [f"(o + {q})" for q in range(width)])
            self.lines.append("}")
        if size % width:
            self._tile(made, a, b, start, [str(q) for q in range(size - size % width, size)])
        self.lines.append("}")

    def _tile(
        self, made: Value, a: Value, b: Value, start: Value | None, outputs: list[str]
    ) -> None:
        """Some outputs at once: those of these rows, or columns, of what is the same for all."""
        batch = [f"i{k}" for k in range(len(made.shape) - 2)]
        kind, inner, parts = KINDS[made.kind], a.shape[-1], range(self._registers(made))
        cells = [[*batch, o, "col"] if b.lanes else [*batch, "row", o] for o in outputs]
        factor = [
            a.at([*batch, o, "k"], a.shape) if b.lanes else b.at([*batch, "k", o], b.shape)
            for o in outputs
        ]
        varying, place = (b, [*batch, "k", "col"]) if b.lanes else (a, [*batch, "row", "k"])
        sums = [(q, part) for q in range(len(outputs)) for part in parts]
        begins = {
            (q, part): "{0}" if start is None else _register(start, cells[q], made.shape, part)
            for q, part in sums
        }
        self.lines += [
            "{",
            *(f"V_{kind} sum_{q}_{part} = {begins[q, part]};" for q, part in sums),
            f"{_for('k', inner)}{{",
            *(f"const V_{kind} u_{p} = {_register(varying, place, None, p)};" for p in parts),
            *(f"sum_{q}_{part} += {factor[q]} * u_{part};" for q, part in sums),
            "}",
            *(f"{_register(made, cells[q], None, part)} = sum_{q}_{part};" for q, part in sums),
            "}",
        ]

    def _registers(self, value: Value) -> int:
        """How many hold R numbers of this kind."""
        return value.kind.itemsize // self.kind.itemsize

    def _product_by_rows(self, made: Value, a: Value, b: Value, start: Value | None) -> None:
        """One row of the result at a time, of runs that are each for themselves."""
        rows, columns = made.shape[-2:]
        inner, kind = a.shape[-1], KINDS[made.kind]
        batch = [f"i{k}" for k in range(len(made.shape) - 2)]
        cell = [*batch, "row", "col"]
        begin = "0" if start is None else start.at(cell, made.shape)
        left, right = a.at([*batch, "row", "k"], a.shape), b.at([*batch, "k", "col"], b.shape)
        self.lines += [
            f"{_for('row', rows)}{_for('r', 'R')}{{ {kind} sum[{columns}];",
            f"{_for('col', columns)}sum[col] = {begin};",
            f"{_for('k', inner)}{{ const {kind} f = {left};",
            f"{_for('col', columns)}sum[col] += f * {right}; }}",
            f"{_for('col', columns)}{made.at(cell, made.shape)} = sum[col]; }}",
        ]

    def _norm(self, node: Node) -> Value:
        """√Σ z² over the last axis."""
        source, order, axes, *_ = node.args
        if order != 2:
            raise Unsupported(f"a norm of order {order}")
        return self._reduced(node, source, axes, "sum[r] += {0} * {0};", "sqrt(sum[r])")

    def _sum(self, node: Node) -> Value:
        source, axes, *_ = node.args
        return self._reduced(node, source, axes, "sum[r] += {0};", "sum[r]")

    def _mean(self, node: Node) -> Value:
        source, axes, *_ = node.args
        shape = source.shape
        size = math.prod(shape[axis] for axis in axes)
        return self._reduced(node, source, axes, "sum[r] += {0};", f"sum[r] / {size}")

    def _reduced(self, node: Node, source: Any, axes: Any, add: str, end: str) -> Value:
        shape = source.shape
        axes = [axis % len(shape) for axis in axes]
        body = Body(self)
        term = body.inlined(source, shape)
        made, kind = self.new(node, lanes=True), KINDS[node.kind]
        kept = made.layout.view([1 if k in axes else size for k, size in enumerate(shape)])
        indices = [f"i{k}" for k in range(len(shape))]
        for k, size in enumerate(shape):
            if k not in axes:
                self.lines.append(_for(f"i{k}", size))
        self.lines.append(f"{{ {kind} sum[R] = {{0}};")
        self.lines += [_for(f"i{k}", shape[k]) for k in axes]
        statements = [s.at(indices, shape, flat=False) for s in body.statements]
        self.lines.append(f"{_for('r', 'R')}{{ {' '.join(statements)} {add.format(term)} }}")
        outer = ["0" if k in axes else i for k, i in enumerate(indices)]
        place = Value(made.name, made.kind, kept, lanes=True).at(outer, kept.shape)
        end = end.replace("KIND", kind)
        self.lines.append(f"{_for('r', 'R')} {place} = {end}; }}")
        return made

    def _padded(self, node: Node) -> Value:
        """With numbers added at the ends of the last axis."""
        source, (before, after, *more), *fill = node.args
        if more or before or any(fill):
            raise Unsupported(f"padding by {node.args[1]}")
        inner, made = self.value(source), self.new(node, lanes=True)
        zeros = Body(self)
        result = zeros.literal(made, 0.0)
        self._loop(made.shape, zeros, f"{{0}} = {result};", made)
        kept = made.layout.narrow(-1, 0, made.shape[-1] - after)
        self._copy(inner, Value(made.name, made.kind, kept, lanes=True))
        return made

    def _joined(self, node: Node) -> Value:
        """Tensors one after the other along an axis."""
        parts: Any = node.args[0]
        axis: Any = node.args[1] if len(node.args) > 1 else 0
        made, begin = self.new(node, lanes=True), 0
        for part in map(self.value, parts):
            length = part.shape[axis]
            place = made.layout.narrow(axis, begin, length)
            self._copy(part, Value(made.name, made.kind, place, lanes=True))
            begin += length
        return made


WRITERS: dict[Any, Callable[[Emitter, Any], Value]] = {
    aten.mm.default: Emitter._product,
    aten.bmm.default: Emitter._product,
    aten.addmm.default: Emitter._product,
    aten.baddbmm.default: Emitter._product,
    aten.linalg_vector_norm.default: Emitter._norm,
    aten.sum.dim_IntList: Emitter._sum,
    aten.mean.dim: Emitter._mean,
    aten.cat.default: Emitter._joined,
    aten.constant_pad_nd.default: Emitter._padded,
}


@dataclass(frozen=True)
class Statement:
    """`const kind name = text;` where `{}` in the text stands for the numbers of `loads`."""

    name: str
    kind: str
    text: str
    loads: tuple[Value, ...] = ()

    def at(self, indices: Sequence[str], shape: Sequence[int], flat: bool) -> str:
        """The statement inside a loop."""
        read = [_flat(one) if flat else one.at(indices, shape) for one in self.loads]
        text = self.text.format(*read).replace("KIND", self.kind)
        text = text.replace("LARGEST", f"LARGEST_{self.kind}")
        return f"const {self.kind} {self.name} = {text};"


@dataclass
class Body:
    """What is done for every number of a loop: statements in order."""

    emitter: Emitter
    statements: list[Statement] = field(default_factory=list)
    lanes: bool = False
    names: dict[Any, str] = field(default_factory=dict)

    def expression(self, node: Node) -> str:
        """The name of a node's number, after the statements that compute it."""
        shape, kwargs = node.shape, dict(node.kwargs)
        operands = [self._operand(one, shape) for one in node.args]
        for name in ("dtype", "layout", "device", "memory_format", "pin_memory", "non_blocking"):
            kwargs.pop(name, None)
        named = {
            k: self._operand(v, shape) if k in ("min", "max") else v for k, v in kwargs.items()
        }
        for k in ("nan", "posinf", "neginf"):
            if k in named:
                named[k] = self._operand(named[k], shape)
        text = EXPRESSIONS[node.target](*operands, **named)
        return self._state(Statement(f"v{len(self.statements)}", KINDS[node.kind], _raw(text)))

    def _operand(self, operand: Any, shape: torch.Size) -> str | None:
        if operand is None:
            return None
        if isinstance(operand, Node):
            return self.inlined(operand, shape)
        return number(operand)

    def inlined(self, node: Node, shape: torch.Size) -> str:
        """A node of this loop: computed here, or read from its array."""
        if node in self.names:
            return self.names[node]
        deferred = node not in self.emitter.values and node.constant is None
        if deferred and node.shape == shape:
            self.names[node] = self.expression(node)
        else:
            self.names[node] = self.load(self.emitter.value(node))
        return self.names[node]

    def load(self, value: Value) -> str:
        """The name of the number that is read from an array."""
        self.lanes = self.lanes or value.lanes
        name = f"v{len(self.statements)}"
        return self._state(Statement(name, KINDS[value.kind], "{}", (value,)))

    def literal(self, like: Value, value: float) -> str:
        """A number of the kind of an array."""
        return self._state(Statement(f"v{len(self.statements)}", KINDS[like.kind], number(value)))

    def _state(self, statement: Statement) -> str:
        self.statements.append(statement)
        return statement.name

    def is_flat(self, shape: torch.Size) -> bool:
        """Whether one index counts all its arrays, but for single numbers."""
        loads = [value.layout for statement in self.statements for value in statement.loads]
        whole = [z for z in loads if z.numel() != 1 or z.storage_offset() != 0]
        return all(z.numel() == math.prod(shape) and z.is_contiguous() for z in whole) and all(
            z.storage_offset() == 0 for z in whole
        )


def _flat(value: Value) -> str:
    place = "0" if value.layout.numel() == 1 else "i0"
    return f"{value.name}[{place} * R + r]" if value.lanes else f"{value.name}[{place}]"


def _register(value: Value, place: Sequence[str], shape: torch.Size | None, part: int) -> str:
    """A register of the R numbers of the runs, or one number for all of them."""
    kind, text = KINDS[value.kind], value.at(place, shape or value.shape)
    if value.lanes:
        return f"((V_{kind} *)&{text.replace('R + r', 'R')})[{part}]"
    return f"{text} + (V_{kind}){{0}}"


def _raw(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _for(index: str, size: int | str) -> str:
    whole = '_Pragma("GCC unroll 1") ' if index == "r" else ""  # one instruction for all runs
    return f"{whole}for (int {index} = 0; {index} < {size}; {index}++) "


def _inside_its_reader(node: Node) -> bool:
    """Whether a node is read once, by an operation that loops over the same numbers."""
    if len(node.readers) != 1:
        return False
    (reader,) = node.readers
    if reader.target in EXPRESSIONS:
        return reader.shape == node.shape
    return reader.target in (aten.linalg_vector_norm.default, aten.sum.dim_IntList, aten.mean.dim)


def _contiguous(shape: Sequence[int]) -> Tensor:
    return torch.empty(tuple(shape), device="meta")
