"""What is done for every single number of a loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from gossamer.native.expressions import EXPRESSIONS, KINDS, number
from gossamer.native.recorder import Node
from gossamer.native.values import Value

if TYPE_CHECKING:
    from gossamer.native.emit import Emitter

HOW_IT_IS_HELD = {"dtype", "layout", "device", "memory_format", "pin_memory", "non_blocking"}
"""Arguments that say nothing of the numbers: the kind is that of the result."""

ONE = 'float one = 1; __asm__("" : "+m"(one));'
"""1, which a compiler cannot know: gcc 12 takes two doubles, to float and back, for what they were.

What was rounded in one place and not in another made sums over the nodes drift.
"""

OPERANDS = {"min", "max", "nan", "posinf", "neginf"}
"""Arguments with a name that stand in an expression as the others do."""


@dataclass(frozen=True)
class Statement:
    """`const kind name = text;` where `{}` in the text stands for the number of `loads`."""

    name: str
    kind: str
    text: str
    loads: tuple[Value, ...] = ()

    def at(self, indices: Sequence[str], shape: Sequence[int], at_once: bool) -> str:
        """The statement inside a loop."""
        places = [z.at_once(indices[0]) if at_once else z.at(indices, shape) for z in self.loads]
        return f"const {self.kind} {self.name} = {self.text.format(*places)};"

    def in_kind(self, kind: str) -> str:
        """Its number in some precision."""
        if self.kind == kind:
            return self.name
        rounded = " * one" if (self.kind, kind) == ("double", "float") else ""
        return f"(({kind}){self.name}{rounded})"


@dataclass
class Body:
    """What is done for every number of a loop: statements in order."""

    emitter: Emitter
    statements: list[Statement] = field(default_factory=list)
    lanes: bool = False
    known: dict[Node, Statement] = field(default_factory=dict)

    def expression(self, node: Node) -> Statement:
        """A node's number, after the statements that compute it."""
        kind, shape = KINDS[computed_in(node)], node.shape
        operands = [self.operand(one, shape, kind) for one in node.args]
        named = {k: v for k, v in node.kwargs.items() if k not in HOW_IT_IS_HELD}
        named |= {k: self.operand(named[k], shape, kind) for k in OPERANDS & named.keys()}
        text = EXPRESSIONS[node.target](*operands, **named).replace("KIND", kind)
        if node.kind is torch.bool:
            text = f"({text}) != 0"
        return self._state(KINDS[node.kind], text)

    def operand(self, operand: Any, shape: torch.Size, kind: str) -> str | None:
        """What stands for an argument of an operation that is computed in a precision."""
        if isinstance(operand, Node):
            return self.inlined(operand, shape).in_kind(kind)
        return None if operand is None else number(operand)

    def inlined(self, node: Node, shape: torch.Size) -> Statement:
        """A node of this loop: computed here, or read from its array."""
        if node not in self.known:
            deferred = node not in self.emitter.values and node.constant is None
            here = deferred and node.shape == shape
            made = self.expression(node) if here else self.load(self.emitter.value(node))
            self.known[node] = made
        return self.known[node]

    def load(self, value: Value) -> Statement:
        """The number that is read from an array."""
        self.lanes = self.lanes or value.lanes
        return self._state(KINDS[value.kind], "{}", value)

    def _state(self, kind: str, text: str, *loads: Value) -> Statement:
        made = Statement(f"v{len(self.statements)}", kind, text, loads)
        self.statements.append(made)
        return made

    def counts_at_once(self, shape: torch.Size) -> bool:
        """Whether one index counts all its arrays, but for single numbers."""
        loads = [value for statement in self.statements for value in statement.loads]
        return all(z.fills_array and z.layout.numel() in (1, math.prod(shape)) for z in loads)


def computed_in(node: Node) -> torch.dtype:
    """The precision of an operation: that of its result or, where that is a condition, of what it
    compares.
    """
    if node.kind is not torch.bool:
        return node.kind
    first, *others = [one.like if isinstance(one, Node) else one for one in node.args]
    kind = torch.result_type(first, others[0]) if others else first.dtype
    return kind if kind in (torch.float32, torch.float64) else torch.float64
