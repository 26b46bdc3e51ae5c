"""Products of matrices, for R runs side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gossamer.native.expressions import KINDS, Unsupported
from gossamer.native.recorder import Node
from gossamer.native.values import Value, loop_over

if TYPE_CHECKING:
    from gossamer.native.emit import Emitter

SUMS = 8
"""Registers of a product that are summed up side by side, so that none waits for another."""


def product(emitter: Emitter, node: Node) -> Value:
    """A B, with a tensor added to it where the operation says so."""
    *added, left, right = node.args
    if node.kwargs:
        raise Unsupported(f"{node.target} with {node.kwargs}")
    a, b = emitter.value(left), emitter.value(right)
    start = emitter.value(added[0]) if added else None
    made = emitter.new(node, lanes=True)
    registers, rest = divmod(node.kind.itemsize, emitter.kind.itemsize)
    if rest or not (a.lanes or b.lanes):
        raise Unsupported("a product in less precision than x, or the same for all runs")
    emitter.lines += [loop_over(f"i{k}", size) for k, size in enumerate(node.shape[:-2])]
    emitter.lines += ["{", *Product(made, a, b, start, registers).lines(), "}"]
    return made


@dataclass(frozen=True)
class Product:
    """The matrices of a product, and what it is added to.

    Attributes:
        made: the result.
        a: the left factor.
        b: the right one.
        start: what is added, if anything.
        registers: how many hold R numbers of the result.
    """

    made: Value
    a: Value
    b: Value
    start: Value | None
    registers: int

    @property
    def batch(self) -> list[str]:
        """Indices before those of the matrices."""
        return [f"i{k}" for k in range(len(self.made.shape) - 2)]

    def lines(self) -> list[str]:
        """Where a factor is the same for all runs it meets whole registers of the other."""
        if self.a.lanes and self.b.lanes:
            return self.by_rows()
        return ["#if R > 1", *self.by_tiles(), "#else", *self.by_rows(), "#endif"]

    def by_rows(self) -> list[str]:
        """One row of the result at a time, of runs that are each for themselves."""
        rows, columns = self.made.shape[-2:]
        a, b, batch, kind = self.a, self.b, self.batch, KINDS[self.made.kind]
        cell, over_columns = [*batch, "row", "col"], loop_over("col", columns)
        begin = "0" if self.start is None else self.start.at(cell, self.made.shape)
        left, right = a.at([*batch, "row", "k"], a.shape), b.at([*batch, "k", "col"], b.shape)
        return [
            f"{loop_over('row', rows)}{loop_over('r', 'R')}{{ {kind} sum[{columns}];",
            f"{over_columns}sum[col] = {begin};",
            f"{loop_over('k', a.shape[-1])}{{ const {kind} f = {left};",
            f"{over_columns}sum[col] += f * {right}; }}",
            f"{over_columns}{self.made.at(cell, self.made.shape)} = sum[col]; }}",
        ]

    def by_tiles(self) -> list[str]:
        """Registers of R numbers times one number for all runs, a few sums side by side."""
        rows, columns = self.made.shape[-2:]
        own, own_size, size = ("col", columns, rows) if self.b.lanes else ("row", rows, columns)
        width = SUMS // self.registers
        lines = [f"{loop_over(own, own_size)}{{"]
        if size >= width:
            many = self._tile([f"(o + {q})" for q in range(width)])
            lines += [f"for (int o = 0; o <= {size - width}; o += {width}) {{", *many, "}"]
        if size % width:
            lines += self._tile([str(q) for q in range(size - size % width, size)])
        return [*lines, "}"]

    def _tile(self, outputs: list[str]) -> list[str]:
        """Some outputs at once: those of these rows, or columns, of what is the same for all."""
        made, batch, kind = self.made, self.batch, KINDS[self.made.kind]
        varying, place = (
            (self.b, [*batch, "k", "col"]) if self.b.lanes else (self.a, [*batch, "row", "k"])
        )
        cells = [[*batch, o, "col"] if self.b.lanes else [*batch, "row", o] for o in outputs]
        factors, parts = [self._factor(o) for o in outputs], range(self.registers)
        sums = [(q, part) for q in range(len(outputs)) for part in parts]
        read = [varying.register(place, varying.shape, part) for part in parts]
        return [
            "{",
            *(f"V_{kind} sum_{q}_{p} = {self._begin(cells[q], p)};" for q, p in sums),
            f"{loop_over('k', self.a.shape[-1])}{{",
            *(f"const V_{kind} u_{p} = {read[p]};" for p in parts),
            *(f"sum_{q}_{p} += {factors[q]} * u_{p};" for q, p in sums),
            "}",
            *(f"{made.register(cells[q], made.shape, p)} = sum_{q}_{p};" for q, p in sums),
            "}",
        ]

    def _begin(self, cell: list[str], part: int) -> str:
        return "{0}" if self.start is None else self.start.register(cell, self.made.shape, part)

    def _factor(self, output: str) -> str:
        """The number, the same for all runs, that goes with an output."""
        if self.b.lanes:
            return self.a.at([*self.batch, output, "k"], self.a.shape)
        return self.b.at([*self.batch, "k", output], self.b.shape)
