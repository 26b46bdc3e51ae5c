"""Sums over axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gossamer.native.elementwise import Body
from gossamer.native.expressions import KINDS, Unsupported
from gossamer.native.recorder import Node
from gossamer.native.values import Value, loop_over

if TYPE_CHECKING:
    from gossamer.native.emit import Emitter


def norm(emitter: Emitter, node: Node) -> Value:
    """√Σ z²; of a single number |z| as in torch, where its square may overflow."""
    _, order, *_ = node.args
    if order != 2:
        raise Unsupported(f"a norm of order {order}")
    axes: Any = node.args[2]
    if axes and _count(node, axes) == 1:
        return _reduced(emitter, node, axes, "fabs({0})", "sum[r]")
    return _reduced(emitter, node, axes, "{0} * {0}", "sqrt(sum[r])")


def total(emitter: Emitter, node: Node) -> Value:
    """Σ z."""
    return _reduced(emitter, node, node.args[1], "{0}", "sum[r]")


def mean(emitter: Emitter, node: Node) -> Value:
    """Σ z / m."""
    axes: Any = node.args[1]
    return _reduced(emitter, node, axes, "{0}", f"sum[r] / {_count(node, axes)}")


def _count(node: Node, axes: Sequence[int]) -> int:
    """How many numbers are summed up."""
    source: Any = node.args[0]
    return math.prod(source.shape[axis] for axis in axes)


def _reduced(emitter: Emitter, node: Node, given: Any, term: str, end: str) -> Value:
    """The sum of a term over the `given` axes, and what is made of it in the end."""
    source: Any = node.args[0]
    shape, kind, body = source.shape, KINDS.get(node.kind), Body(emitter)
    if not given or kind is None:
        raise Unsupported(f"{node.target} over {given} in {node.kind}")
    axes = [axis % len(shape) for axis in given]
    added = term.format(body.operand(source, shape, kind))
    made, indices = emitter.new(node, lanes=True), [f"i{k}" for k in range(len(shape))]
    statements = " ".join(s.at(indices, shape, at_once=False) for s in body.statements)
    kept = made.seen_as(made.layout.view([1 if k in axes else m for k, m in enumerate(shape)]))
    place = kept.at(["0" if k in axes else i for k, i in enumerate(indices)], kept.shape)
    emitter.lines += [
        *(loop_over(i, shape[k]) for k, i in enumerate(indices) if k not in axes),
        f"{{ {kind} sum[R] = {{0}};",
        *(loop_over(f"i{k}", shape[k]) for k in axes),
        f"{loop_over('r', 'R')}{{ {statements} sum[r] += {added}; }}",
        f"{loop_over('r', 'R')} {place} = {end}; }}",
    ]
    return made
