"""A traced program with fewer operations: constants as numbers, and factors applied last.

Every value of the program is seen as c · x with a number c and a tensor x. Products, quotients,
natural powers, sums and linear maps pass c on, so that what was one operation for every factor is
one at the end, or none where a sum takes a factor anyhow (`alpha`). A tensor of equal entries is a
number; what depends on fixed tensors only is computed once; and what nobody reads is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, fx

aten = torch.ops.aten

TRANSPOSE = [0, 2, 1]

LARGEST = 1e6
"""Factors beyond it, or below its inverse, are applied at once: they may be there for a range."""


def simplified(traced: fx.GraphModule) -> Callable[..., Tensor]:
    """The same program, up to rounding, with fewer operations."""
    simplifier = _Simplifier(traced)
    simplifier.graph.eliminate_dead_code()
    code = simplifier.graph.python_code("self")
    exec(code.src, code.globals)  # what fx writes for a module, without the cost of one
    return partial(code.globals["forward"], simplifier.held)


@dataclass(frozen=True)
class Scaled:
    """factor · tensor; without a tensor, a constant all of whose entries are the factor."""

    factor: float
    tensor: fx.Node | None
    shape: torch.Size

    @property
    def constant(self) -> bool:
        """Whether it is only a number."""
        return self.tensor is None


class _Simplifier:
    """Copies a traced graph, operation by operation, with every value as a `Scaled`."""

    def __init__(self, traced: fx.GraphModule) -> None:
        self.graph, self.traced, self.held = fx.Graph(), traced, SimpleNamespace()
        self.values: dict[fx.Node, Scaled] = {}
        self.calls: dict[object, fx.Node] = {}
        self.fixed: dict[fx.Node, Tensor] = {}
        for node in traced.graph.nodes:
            self.values[node] = self.value(node)

    def value(self, node: fx.Node) -> Scaled:
        """What stands for `node` in the new graph: by a rule where there is one, or a copy."""
        rule = RULES.get(node.target) if _one_kind(node) else None
        if rule is not None:
            operands = [self.values[one] if isinstance(one, fx.Node) else one for one in node.args]
            scaled = rule(Operation(self, node), *operands, **node.kwargs)
            if scaled is not None:
                return self.bounded(replace(scaled, shape=_shape(node)), node)
        copy = self.copied(node)
        return Scaled(1.0, copy, _shape(node))

    def copied(self, node: fx.Node) -> fx.Node:
        """The same operation on the same values."""
        if node.op == "get_attr":
            node.meta["val"] = getattr(self.traced, str(node.target))
            return self.fix(node.meta["val"])
        if node.op != "call_function":
            return self.graph.node_copy(node, self.applied)
        args, kwargs = fx.map_arg((node.args, node.kwargs), self.applied)
        return self.call(node.target, *args, **kwargs)

    def call(self, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
        """An operation of the new graph: once for the same arguments, now if these are fixed."""
        key = (target, repr(args), repr(kwargs))
        if key not in self.calls:
            node = self.graph.call_function(target, args, kwargs)
            if node.all_input_nodes and self.fixed.keys() >= set(node.all_input_nodes):
                self.graph.erase_node(node)
                args, kwargs = fx.map_arg((args, kwargs), self.fixed.__getitem__)
                node = self.fix(target(*args, **kwargs))
            self.calls[key] = node
        return self.calls[key]

    def fix(self, tensor: Tensor) -> fx.Node:
        """A tensor that the program holds."""
        name = f"_fixed_{len(self.fixed)}"
        setattr(self.held, name, tensor)
        node = self.graph.get_attr(name)
        self.fixed[node] = tensor
        return node

    def number(self, value: float, like: fx.Node) -> fx.Node:
        """A fixed tensor without axes: operations read it faster than a number."""
        key, meta = (value, like.meta["val"].dtype), like.meta["val"]
        if key not in self.calls:
            self.calls[key] = self.fix(torch.tensor(value, dtype=meta.dtype, device=meta.device))
        return self.calls[key]

    def applied(self, node: fx.Node) -> fx.Node:
        """The value of a traced node as a tensor of the new graph."""
        value = self.values[node]
        if value.tensor is None:
            return self.fix(self.fixed[self.number(value.factor, node)].expand(value.shape))
        if value.factor == 1:
            return value.tensor
        return self.call(aten.mul.Tensor, value.tensor, self.number(value.factor, node))

    def bounded(self, value: Scaled, node: fx.Node) -> Scaled:
        """With the factor applied where it is extreme, or where that costs nothing."""
        fixed = value.tensor in self.fixed
        if value.constant or (1 / LARGEST < abs(value.factor) < LARGEST and not fixed):
            return value
        self.values[node] = value
        return replace(value, factor=1.0, tensor=self.applied(node))


@dataclass(frozen=True)
class Operation:
    """An operation of the traced program, as the rules see it."""

    simplifier: _Simplifier
    node: fx.Node

    @property
    def shape(self) -> torch.Size:
        """Of its result."""
        return _shape(self.node)

    def number(self, value: float) -> fx.Node:
        """A tensor without axes, of its kind."""
        return self.simplifier.number(value, self.node)

    def transposed(self, tensor: fx.Node) -> fx.Node:
        """With its last two of three axes exchanged."""
        inputs: tuple[Any, ...] = tensor.args
        if tensor.target is aten.permute.default and inputs[1] == TRANSPOSE:
            inner: fx.Node = inputs[0]
            return inner
        return self.simplifier.call(aten.permute.default, tensor, TRANSPOSE)

    def scaled_if_fixed(
        self, factor: float, *tensors: fx.Node | None
    ) -> tuple[float, list[fx.Node | None]]:
        """A factor and the tensors of a product: within one of them where that costs nothing."""
        scaled = list(tensors)
        for place, tensor in enumerate(tensors):
            if factor != 1 and tensor in self.simplifier.fixed:
                number = self.number(factor)
                scaled[place] = self.simplifier.call(aten.mul.Tensor, tensor, number)
                factor = 1.0
        return factor, scaled

    def of(self, factor: float, *args: Any, target: Any = None, **kwargs: Any) -> Scaled:
        """factor · target(*args), by default the operation itself."""
        made = self.simplifier.call(target or self.node.target, *args, **kwargs)
        return Scaled(factor, made, self.shape)


def _as_number(operation: Operation, number: Any, *_: Any, **__: Any) -> Scaled | None:
    """A tensor made of one number."""
    given = isinstance(number, int | float)
    return Scaled(float(number), None, operation.shape) if given else None


def _zeros(operation: Operation, *_: Any, **__: Any) -> Scaled:
    return Scaled(0.0, None, operation.shape)


def _ones(operation: Operation, *_: Any, **__: Any) -> Scaled:
    return Scaled(1.0, None, operation.shape)


def _view(operation: Operation, x: Scaled, *rest: Any, **named: Any) -> Scaled:
    """The same entries in another shape."""
    return x if x.constant else operation.of(x.factor, x.tensor, *rest, **named)


def _reshape(operation: Operation, x: Scaled, *rest: Any, **named: Any) -> Scaled:
    """The same entries in another shape, or nothing at all."""
    return x if x.shape == operation.shape else _view(operation, x, *rest, **named)


def _permute(operation: Operation, x: Scaled, axes: list[int]) -> Scaled:
    """(xᵀ)ᵀ = x, and (x y)ᵀ = yᵀ xᵀ, which keeps what is large in the order of its axes."""
    if x.tensor is None or list(axes) != TRANSPOSE:
        return _view(operation, x, axes)
    read_elsewhere = len(operation.node.all_input_nodes[0].users) > 1
    if x.tensor.target is aten.bmm.default and not read_elsewhere:
        factors: tuple[Any, ...] = x.tensor.args
        left, right = (operation.transposed(one) for one in factors)
        return operation.of(x.factor, right, left, target=aten.bmm.default)
    return Scaled(x.factor, operation.transposed(x.tensor), operation.shape)


def _linear(operation: Operation, x: Scaled, *rest: Any, **named: Any) -> Scaled | None:
    """A(c x) = c A(x)."""
    return None if x.constant else operation.of(x.factor, x.tensor, *rest, **named)


def _bilinear(operation: Operation, x: Scaled, y: Scaled) -> Scaled | None:
    """(a x)(b y) = a b x y."""
    if x.constant or y.constant:
        return None
    factor, tensors = operation.scaled_if_fixed(x.factor * y.factor, x.tensor, y.tensor)
    return operation.of(factor, *tensors)


def _negative(operation: Operation, x: Scaled) -> Scaled:
    """−(c x) = (−c) x."""
    return replace(x, factor=-x.factor)


def _product(operation: Operation, left: Any, right: Any) -> Scaled | None:
    """(a x)(b y) = a b x y, where x or y may be constant."""
    x, y = _scaled(left), _scaled(right)
    if not (x.constant or y.constant):
        return _bilinear(operation, x, y)
    kept = y if x.constant else x
    same = kept.constant or kept.shape == operation.shape
    return replace(kept, factor=x.factor * y.factor) if same else None


def _quotient(operation: Operation, x: Scaled, right: Any) -> Scaled | None:
    """a x / (b y) = (a / b) x / y, where y may be constant."""
    y = _scaled(right)
    if y.factor == 0 or (x.constant and not y.constant):
        return None
    if not y.constant:
        return operation.of(x.factor / y.factor, x.tensor, y.tensor)
    same = x.constant or x.shape == operation.shape
    return replace(x, factor=x.factor / y.factor) if same else None


def _power(operation: Operation, x: Scaled, exponent: float) -> Scaled | None:
    """(c x)ᵏ = cᵏ xᵏ for a small natural k."""
    if x.constant or exponent not in (1, 2, 3, 4):
        return None
    factor = x.factor ** int(exponent)
    return x if exponent == 1 else operation.of(factor, x.tensor, int(exponent))


def _sum(operation: Operation, x: Scaled, right: Any, alpha: float = 1) -> Scaled | None:
    """a x + b y = a (x + (b/a) y); with a number s, s + a x."""
    y = _scaled(right)
    if x.constant:
        return None
    if not y.constant:
        return operation.of(x.factor, x.tensor, y.tensor, alpha=alpha * y.factor / x.factor)
    return _shifted(operation, x, alpha * y.factor) if x.shape == operation.shape else None


def _difference(operation: Operation, x: Scaled, right: Any, alpha: float = 1) -> Scaled | None:
    """a x − b y, likewise."""
    return _sum(operation, x, right, -alpha if _scaled(right).constant else alpha)


def _from_number(operation: Operation, x: Scaled, s: float, alpha: float = 1) -> Scaled | None:
    """s − α a x."""
    return None if x.constant else _shifted(operation, replace(x, factor=-alpha * x.factor), s)


def _shifted(operation: Operation, x: Scaled, s: float) -> Scaled:
    """s + a x in one operation."""
    return operation.of(1.0, operation.number(s), x.tensor, alpha=x.factor, target=aten.add.Tensor)


def _where(operation: Operation, condition: Scaled, x: Scaled, y: Scaled) -> Scaled | None:
    """c x where the condition holds, else 0."""
    if x.constant or not (y.constant and y.factor == 0):
        return None
    return operation.of(x.factor, condition.tensor, x.tensor, operation.number(0.0))


Rule = Callable[..., Scaled | None]
"""(operation, *operands) ↦ its value, or None where the algebra says nothing about these."""

RULES: dict[Any, Rule] = {
    aten._to_copy.default: _as_number,
    aten.scalar_tensor.default: _as_number,
    aten.zeros_like.default: _zeros,
    aten.ones_like.default: _ones,
    aten.neg.default: _negative,
    aten.mul.Tensor: _product,
    aten.mul.Scalar: _product,
    aten.div.Tensor: _quotient,
    aten.div.Scalar: _quotient,
    aten.add.Tensor: _sum,
    aten.sub.Tensor: _difference,
    aten.rsub.Scalar: _from_number,
    aten.pow.Tensor_Scalar: _power,
    aten.where.self: _where,
    aten.permute.default: _permute,
    **dict.fromkeys((aten.expand.default, aten.view.default, aten._unsafe_view.default), _reshape),
    **dict.fromkeys((aten.transpose.int, aten.select.int, aten.slice.Tensor), _view),
    **dict.fromkeys((aten.unsqueeze.default, aten.squeeze.dim), _view),
    **dict.fromkeys((aten.sum.dim_IntList, aten.mean.dim), _linear),
    **dict.fromkeys((aten.bmm.default, aten.mm.default, aten.mv.default), _bilinear),
}


def _scaled(operand: Scaled | float) -> Scaled:
    """An operand that may be a number."""
    return operand if isinstance(operand, Scaled) else Scaled(float(operand), None, torch.Size())


def _shape(node: fx.Node) -> torch.Size:
    shape: torch.Size = getattr(node.meta.get("val"), "shape", torch.Size())
    return shape


def _one_kind(node: fx.Node) -> bool:
    """Whether all operands, but conditions, are of the floating-point kind of the result."""
    kinds = {getattr(one.meta.get("val"), "dtype", None) for one in (node, *node.all_input_nodes)}
    kinds.discard(torch.bool)
    return len(kinds) == 1 and all(kind is not None and kind.is_floating_point for kind in kinds)
