"""What an operation on single numbers is in C."""

import math
from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten

KINDS = {torch.float32: "float", torch.float64: "double", torch.bool: "int"}
"""The precisions that are written in C; a condition is an integer."""

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


def _infix(sign: str) -> Expression:
    return lambda a, b: f"{a} {sign} {b}"


EXPRESSIONS: dict[Any, Expression] = {
    aten.add.Tensor: _add,
    aten.sub.Tensor: _sub,
    aten.rsub.Scalar: lambda a, b, alpha=1: _sub(b, a, alpha=alpha),
    aten.mul.Tensor: _infix("*"),
    aten.div.Tensor: _infix("/"),
    aten.neg.default: lambda a: f"-{a}",
    aten.abs.default: lambda a: f"fabs({a})",
    aten.sign.default: lambda a: f"({a} > 0) - ({a} < 0)",
    aten.sqrt.default: lambda a: f"sqrt({a})",
    aten.rsqrt.default: lambda a: f"1 / sqrt({a})",
    aten.reciprocal.default: lambda a: f"1 / {a}",
    aten.exp.default: lambda a: f"exp({a})",
    aten.sigmoid.default: lambda a: f"1 / (1 + exp(-{a}))",
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
    aten.nan_to_num.default: _nan_to_num,
    aten.where.self: lambda c, a, b: f"({c} ? {a} : {b})",
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
