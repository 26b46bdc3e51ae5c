"""What is done number by number with long vectors, in C: one pass over memory, however much it is.

An operation of torch reads its operands from memory and writes its result there. Several that
follow each other are one loop here, in which what is between them stays in registers.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gossamer.native.elementwise import ONE, Body
from gossamer.native.expressions import KINDS, Unsupported
from gossamer.native.precisions import CONVERSIONS, NARROWER, TYPES, largest
from gossamer.native.recorder import Node
from gossamer.native.threads import in_threads, threads_for
from gossamer.native.values import Value, contiguous

LONG = 65536
"""Numbers of a vector that is worth a program: fewer stay in a core's cache."""

BLOCK = 64
"""Numbers of an inner loop; as many partial sums make up a sum."""

HEAD = f"""\
#pragma STDC FP_CONTRACT OFF /* what is computed again, in another pass, has the same bits */
#ifndef __clang__
#pragma GCC optimize("fp-contract=off")
#endif
#include <float.h>
#include <tgmath.h>
#define LARGEST_float FLT_MAX
#define LARGEST_double DBL_MAX
#define BLOCK {BLOCK}
{CONVERSIONS}"""

Vector = Tensor | Sequence[Tensor]
"""A vector, or the pieces of which it is made; also a single number."""


@dataclass
class Pass:
    """A loop that writes vectors and sums up squares.

    Args:
        number: of the pass among those of a program.
        known: the nodes whose numbers are in memory before it.
        made: what it writes.
        norms: whose ‖·‖ it finds.
        says: whether messages tell of the first vector that it writes: what they say of it, in less
            precision, can be written in the same loop.
    """

    number: int
    known: Sequence[Node]
    made: Sequence[Node] = ()
    norms: Sequence[Node] = ()
    says: bool = False
    values: dict[Node, Value] = field(init=False)
    """What is known, as arrays; read by `Body`."""

    text: str = field(init=False)
    reads: list[Node] = field(init=False)

    def __post_init__(self) -> None:
        self.values = {
            node: Value(f"a{k}", node.kind, contiguous(node.shape), lanes=False)
            for k, node in enumerate(self.known)
        }
        body: Any = Body(self)  # type: ignore[arg-type]  # asks for no more than values
        names = [body.inlined(node, node.shape) for node in (*self.made, *self.norms)]
        loaded = {value.name for one in body.statements for value in one.loads}
        self.reads = [node for node, value in self.values.items() if value.name in loaded]
        written = [f"o{k}[i] = {one.name};" for k, one in enumerate(names[: len(self.made)])]
        squares = [
            f"s{k}[j] += (double){one.name} * {one.name};"
            for k, one in enumerate(names[len(self.made) :])
        ]
        inner = [one.at(["i"], [0], at_once=True) for one in body.statements]
        self.text = self._function("", [*inner, *written, *squares])
        for narrow in NARROWER.get(self.made[0].kind, ()) if self.says else ():
            said = _said(names[0].name, self.made[0].kind, narrow)
            self.text += self._function(TYPES[narrow], [*inner, *written, *squares, said])

    def value(self, node: Node) -> Value:
        """Of a node that is known."""
        if node not in self.values:
            raise Unsupported(f"{node.target} within a pass")
        return self.values[node]

    def _function(self, said: str, inner: Sequence[str]) -> str:
        arrays = [
            f"const {KINDS[node.kind]} *{self.values[node].name} = p[{k}];"
            for k, node in enumerate(self.reads)
        ]
        arrays += [
            f"{KINDS[node.kind]} *o{k} = p[{len(self.reads) + k}];"
            for k, node in enumerate(self.made)
        ]
        arrays += [f"{said} *said = p[{len(self.reads) + len(self.made)}];"] * bool(said)
        sums = [f"double s{k}[BLOCK] = {{0}};" for k in range(len(self.norms))]
        ends = [f"for (int j = 0; j < BLOCK; j++) sums[{k}] += s{k}[j];" for k in range(len(sums))]
        return "\n".join([
            f"void pass{self.number}{said}(long begin, long end, void **p, double *sums)",
            "{",
            ONE,
            *arrays,
            *sums,
            "for (long at = begin; at < end; at += BLOCK) {",
            "const int size = end - at < BLOCK ? end - at : BLOCK;",
            "_Pragma(\"GCC ivdep\")",
            "for (int j = 0; j < size; j++) {",
            "const long i = at + j;",
            *inner,
            "}}",
            *ends,
            "}\n",
        ])  # fmt: skip

    def run(
        self,
        program: ctypes.CDLL,
        vectors: Mapping[Node, Vector],
        out: Sequence[Tensor],
        said: Tensor | None = None,
    ) -> list[float]:
        """Write `out`, which may be among what is read, and return the norms.

        With `said` also what a message says of the first of them, in less precision.
        """
        narrow = [] if said is None else [said]
        name = "".join(TYPES[z.dtype] for z in narrow)
        function = getattr(program, f"pass{self.number}{name}")
        read = [vectors[node] for node in self.reads]
        return [*map(math.sqrt, pass_over(function, [*read, *out, *narrow], len(self.norms)))]


def pass_over(
    function: Callable[..., None], vectors: Sequence[Vector], sums: int = 0
) -> list[float]:
    """Call `function(begin, end, memory of the vectors, sums)` for all parts of long vectors.

    Returns the `sums` to which it adds.
    """
    pieces = [*_pieces(vectors)]
    length = pieces[-1][0] + pieces[-1][1]
    found: dict[int, Any] = {}

    def take(first: int, last: int) -> None:
        own = found[first] = (ctypes.c_double * max(1, sums))()
        for begin, size, memory in pieces:
            low, high = max(first - begin, 0), min(last - begin, size)
            if low < high:
                function(ctypes.c_long(low), ctypes.c_long(high), memory, own)

    in_threads(take, length, threads_for(length))
    return [sum(found[first][k] for first in sorted(found)) for k in range(sums)]


def _said(name: str, kind: torch.dtype, narrow: torch.dtype) -> str:
    most = f"({KINDS[kind]}){largest(narrow, kind)!r}"
    return f"said[i] = {TYPES[narrow]}_of_{KINDS[kind]}(AT_MOST({most}, {name}));"


def _pieces(vectors: Sequence[Vector]) -> Iterator[tuple[int, int, Any]]:
    """Of every piece of the vector that is in pieces, if one is: begin, length, memory of all."""
    whole = [z for z in vectors if isinstance(z, Tensor)]
    cut = [z for z in vectors if not isinstance(z, Tensor)]
    begin = 0
    for number, piece in enumerate(cut[0] if cut else [max(whole, key=Tensor.numel)]):
        places = [_memory(z, number, begin) for z in vectors]
        yield begin, len(piece), (ctypes.c_void_p * len(places))(*places)
        begin += len(piece)


def _memory(vector: Vector, number: int, begin: int) -> int:
    """Where a piece begins; a single number is the same for all."""
    if not isinstance(vector, Tensor):
        return vector[number].data_ptr()
    return vector.data_ptr() + (begin * vector.element_size() if vector.numel() > 1 else 0)
