"""What an operation on single numbers is in C."""

import math
from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten

KINDS = {torch.float32: "float", torch.float64: "double", torch.bool: "int"}
"""The precisions that are written in C; a condition is an integer."""

FUNCTIONS = ("exp", "expm1", "log", "log1p", "sin", "cos", "sinh", "cosh", "tanh")
"""Functions of one number that have the same name in torch and in C."""

Expression = Callable[..., str]
"""Operands as C text ↦ the result as C text; every operand is a name or a number."""


class Unsupported(Exception):
    """The graph has an operation that is not written in C."""


def number(value: float) -> str:
    """A Python number in C; KIND is the precision in which the operation is computed.

    >>> number(0.5), number(-math.inf)
    ('((KIND)0x1.0000000000000p-1)', '(-INFINITY)')
    """
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return f"((KIND){float(value).hex()})"


def _scaled(z: str, alpha: float) -> str:
    return z if alpha == 1 else f"{number(alpha)} * {z}"


def _add(a: str, b: str, *, alpha: float = 1) -> str:
    return f"{a} + {_scaled(b, alpha)}"


def _sub(a: str, b: str, *, alpha: float = 1) -> str:
    return f"{a} - {_scaled(b, alpha)}"


def _addcmul(a: str, b: str, c: str, *, value: float = 1) -> str:
    return f"{a} + {_scaled(b, value)} * {c}"


def _lerp(a: str, b: str, w: str) -> str:
    """From the nearer end, as torch does it."""
    return f"(fabs({w}) < 0.5f ? {a} + {w} * ({b} - {a}) : {b} - ({b} - {a}) * (1 - {w}))"


def _maximum(a: str, b: str) -> str:
    """NaN if either is: no comparison with it is true."""
    return f"({a} < {b} || {b} != {b} ? {b} : {a})"


def _minimum(a: str, b: str) -> str:
    return f"({a} > {b} || {b} != {b} ? {b} : {a})"


def _clamp(a: str, low: str | None = None, high: str | None = None, **named: str | None) -> str:
    """The upper bound counts where it is below the lower one."""
    low, high = named.get("min", low), named.get("max", high)
    a = a if low is None else _maximum(a, low)
    return a if high is None else _minimum(a, high)


def _nan_to_num(
    a: str, nan: str | None = None, posinf: str | None = None, neginf: str | None = None
) -> str:
    """Where torch's defaults are zero and the largest and smallest numbers."""
    nan, high, low = nan or "0", posinf or "LARGEST_KIND", neginf or "-LARGEST_KIND"
    return f"({a} != {a} ? {nan} : {a} == INFINITY ? {high} : {a} == -INFINITY ? {low} : {a})"


def _power(a: str, exponent: str) -> str:
    """As torch does it, which matters at the ends of what a precision holds, and below zero."""
    special = {
        number(0.5): f"sqrt({a})",
        number(2): f"{a} * {a}",
        number(3): f"{a} * {a} * {a}",
        number(-0.5): f"1 / sqrt({a})",
        number(-1): f"1 / {a}",
        number(-2): f"1 / ({a} * {a})",
    }
    return special.get(exponent, f"pow({a}, {exponent})")


def _sign(a: str) -> str:
    return f"({a} > 0) - ({a} < 0)"


def _function(name: str) -> Expression:
    return lambda a: f"{name}({a})"


def _infix(sign: str) -> Expression:
    return lambda a, b: f"{a} {sign} {b}"


EXPRESSIONS: dict[Any, Expression] = {
    aten.add.Tensor: _add,
    aten.sub.Tensor: _sub,
    aten.rsub.Scalar: lambda a, b, alpha=1: _sub(b, a, alpha=alpha),
    aten.add.Scalar: lambda a, b, alpha="1": f"{a} + {alpha} * {b}",
    aten.mul.Tensor: _infix("*"),
    aten.mul.Scalar: _infix("*"),
    aten.div.Tensor: _infix("/"),
    aten.div.Scalar: _infix("/"),
    aten.neg.default: lambda a: f"-{a}",
    aten.abs.default: lambda a: f"fabs({a})",
    aten.sign.default: _sign,
    aten.sgn.default: _sign,
    aten.sqrt.default: lambda a: f"sqrt({a})",
    aten.rsqrt.default: lambda a: f"1 / sqrt({a})",
    aten.reciprocal.default: lambda a: f"1 / {a}",
    **{getattr(aten, name).default: _function(name) for name in FUNCTIONS},
    aten.sigmoid.default: lambda a: f"1 / (1 + exp(-{a}))",
    aten.sigmoid_backward.default: lambda g, y: f"{g} * (1 - {y}) * {y}",
    aten.tanh_backward.default: lambda g, y: f"{g} * (1 - {y} * {y})",
    aten.pow.Tensor_Scalar: _power,
    aten.pow.Tensor_Tensor: _power,
    aten.addcmul.default: _addcmul,
    aten.lerp.Tensor: _lerp,
    aten.lerp.Scalar: _lerp,
    aten.clamp.default: _clamp,
    aten.clamp.Tensor: _clamp,
    aten.clamp_min.default: _clamp,
    aten.clamp_max.default: _minimum,
    aten.maximum.default: _maximum,
    aten.minimum.default: _minimum,
    aten.relu.default: lambda a: _maximum(a, number(0)),
    aten.threshold_backward.default: lambda g, a, low: f"({a} <= {low} ? 0 : {g})",
    aten.nan_to_num.default: _nan_to_num,
    aten.where.self: lambda c, a, b: f"({c} ? {a} : {b})",
    aten.masked_fill.Scalar: lambda a, c, value: f"({c} ? {value} : {a})",
    **{
        operation: _infix(sign)  # bitwise ones of integers are refused: no kind of C is theirs
        for operation, sign in (
            (aten.logical_and.default, "&&"),
            (aten.bitwise_and.Tensor, "&&"),
            (aten.logical_or.default, "||"),
            (aten.bitwise_or.Tensor, "||"),
        )
    },
    aten.logical_not.default: lambda a: f"!{a}",
    aten.bitwise_not.default: lambda a: f"!{a}",
    **{
        getattr(getattr(aten, name), kind): _infix(sign)
        for name, sign in {
            "gt": ">",
            "ge": ">=",
            "lt": "<",
            "le": "<=",
            "eq": "==",
            "ne": "!=",
        }.items()
        for kind in ("Scalar", "Tensor")
    },
    aten._to_copy.default: lambda a: a,
    aten.clone.default: lambda a: a,
}
"""Operation of torch → its expression."""
