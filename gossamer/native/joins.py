"""Tensors that are made of others, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from gossamer.native.expressions import Unsupported
from gossamer.native.recorder import Node
from gossamer.native.values import Value

if TYPE_CHECKING:
    from gossamer.native.emit import Emitter


def joined(emitter: Emitter, node: Node) -> Value:
    """Tensors one after the other along an axis."""
    parts: Any = node.args[0]
    axis: Any = node.args[1] if len(node.args) > 1 else 0
    made, begin = emitter.new(node, lanes=True), 0
    for part in map(emitter.value, parts):
        length = part.shape[axis]
        emitter.copy(part, made.seen_as(made.layout.narrow(axis, begin, length)))
        begin += length
    return made


def stacked(emitter: Emitter, node: Node) -> Value:
    """Tensors side by side along a new axis."""
    parts: Any = node.args[0]
    axis: Any = node.args[1] if len(node.args) > 1 else 0
    made = emitter.new(node, lanes=True)
    for k, part in enumerate(map(emitter.value, parts)):
        emitter.copy(part, made.seen_as(made.layout.select(axis, k)))
    return made


def scattered(emitter: Emitter, node: Node) -> Value:
    """A tensor as some of the coordinates along an axis, and zeros elsewhere."""
    source, _, *where = node.args
    made = emitter.new(node, lanes=True)
    emitter.fill(made, 0.0)
    target: Any = torch.ops.aten.slice.Tensor
    emitter.copy(emitter.value(source), made.seen_as(target(made.layout, *where)))
    return made


def padded(emitter: Emitter, node: Node) -> Value:
    """With zeros added at the end of the last axis."""
    source: Any = node.args[0]
    sides: Any = node.args[1]
    before, after, *more = sides
    if more or before or after < 0 or any(node.args[2:]):
        raise Unsupported(f"padding by {node.args[1:]}")
    inner, made = emitter.value(source), emitter.new(node, lanes=True)
    emitter.fill(made, 0.0)
    emitter.copy(inner, made.seen_as(made.layout.narrow(-1, 0, inner.shape[-1])))
    return made
