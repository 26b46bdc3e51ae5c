"""What is done number by number with long vectors, in C: one pass over memory, however much it is.

An operation of torch reads its operands from memory and writes its result there. Several that
follow each other are one loop here, in which what is between them stays in registers.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gossamer.native.elementwise import Body
from gossamer.native.expressions import KINDS, Unsupported
from gossamer.native.recorder import Node
from gossamer.native.threads import in_threads
from gossamer.native.values import Value, contiguous

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
"""


@dataclass
class Pass:
    """A loop that writes vectors and sums up squares.

    Args:
        number: of the pass among those of a program.
        known: the nodes whose numbers are in memory before it.
        made: what it writes.
        norms: whose ‖·‖ it finds.
    """

    number: int
    known: Sequence[Node]
    made: Sequence[Node] = ()
    norms: Sequence[Node] = ()
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
        self.text = self._function([*inner, *written, *squares])

    def value(self, node: Node) -> Value:
        """Of a node that is known."""
        if node not in self.values:
            raise Unsupported(f"{node.target} within a pass")
        return self.values[node]

    def _function(self, inner: Sequence[str]) -> str:
        arrays = [
            f"const {KINDS[node.kind]} *{self.values[node].name} = p[{k}];"
            for k, node in enumerate(self.reads)
        ]
        arrays += [
            f"{KINDS[node.kind]} *o{k} = p[{len(self.reads) + k}];"
            for k, node in enumerate(self.made)
        ]
        sums = [f"double s{k}[BLOCK] = {{0}};" for k in range(len(self.norms))]
        ends = [f"for (int j = 0; j < BLOCK; j++) sums[{k}] += s{k}[j];" for k in range(len(sums))]
        return "\n".join([
            f"void pass{self.number}(long begin, long end, void **p, double *sums)",
            "{",
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
            "}",
        ])  # fmt: skip

    def run(
        self, program: ctypes.CDLL, tensors: Mapping[Node, Tensor], out: Sequence[Tensor]
    ) -> list[float]:
        """Write `out`, which may be among what is read, and return the norms."""
        length = max(len(z.view(-1)) for z in (*(tensors[node] for node in self.reads), *out))
        places = [z.data_ptr() for z in (*(tensors[node] for node in self.reads), *out)]
        pointers, parts = (ctypes.c_void_p * len(places))(*places), []
        function: Callable[..., None] = getattr(program, f"pass{self.number}")

        def take(first: int, last: int) -> None:
            sums = (ctypes.c_double * max(1, len(self.norms)))()
            parts.append((first, sums))
            function(ctypes.c_long(first), ctypes.c_long(last), pointers, sums)

        in_threads(take, length)
        ordered = [sums for _, sums in sorted(parts, key=lambda part: part[0])]
        return [math.sqrt(sum(sums[k] for sums in ordered)) for k in range(len(self.norms))]


def empty(node: Node, length: int) -> Tensor:
    """Memory for a vector."""
    return torch.empty(length, dtype=node.kind)
