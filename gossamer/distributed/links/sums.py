"""What a node does with messages, in one pass over memory: it rounds them, and sums them up.

Torch has no operation on numbers of two precisions that does not first make a copy of one of them:
a sum of messages in float32 to a total in float64 is then a dozen passes. In C it is one; where
there is no C compiler, and for short vectors, it is done by torch, to the same bits.
"""

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.operators import in_blocks
from gossamer.native.build import compiler, library
from gossamer.native.passes import LONG
from gossamer.native.precisions import CONVERSIONS, TYPES, largest
from gossamer.native.threads import in_threads, threads_for

SOURCE = (
    CONVERSIONS
    + """\
#define BLOCK 64 /* few enough that reading ahead is not disturbed */

#if defined __FMA__ || defined __ARM_FEATURE_FMA /* as torch does */
static inline float float_plus(float a, float b, float c) { return __builtin_fmaf(b, c, a); }
static inline double double_plus(double a, double b, double c) { return __builtin_fma(b, c, a); }
#else
static inline float float_plus(float a, float b, float c) { return a + b * c; }
static inline double double_plus(double a, double b, double c) { return a + b * c; }
#endif

#define FOR(i, size) for (long i = 0; i < (size); i++)

/* q = z rounded, at most `most` */
#define ROUNDED(Z, M) \\
void rounded_##Z##_##M(long begin, long end, double most, const Z *z, M *q, double *unused) \\
{ \\
    const Z high = most; \\
    for (long i = begin; i < end; i++) q[i] = M##_of_##Z(AT_MOST(high, z[i])); \\
}

/* mixed = sum of w[r] m[r], and z - q where q is given; squares = sum of mixed^2;
   mixed may be z, or not be wanted; what it was before goes to old, which may be z, too */
#define MIXED(Z, M) \\
static inline void block_##Z##_##M(long at, long size, long count, const double *w, const M **m, \\
                                   const Z *z, const M *q, Z *mixed, Z *old, double *squared) \\
{ \\
    Z sum[BLOCK]; \\
    const Z first = w[0]; \\
    FOR(i, size) sum[i] = first * Z##_of_##M(m[0][at + i]); \\
    for (long r = 1; r < count; r++) { \\
        const Z weight = w[r]; \\
        FOR(i, size) sum[i] = Z##_plus(sum[i], weight, Z##_of_##M(m[r][at + i])); \\
    } \\
    if (q) FOR(i, size) sum[i] += z[at + i] - Z##_of_##M(q[at + i]); \\
    FOR(i, size) squared[i] += (double)sum[i] * sum[i]; \\
    if (old) memcpy(old + at, mixed + at, size * sizeof(Z)); \\
    if (mixed) memcpy(mixed + at, sum, size * sizeof(Z)); \\
} \\
void mixed_##Z##_##M(long begin, long end, long count, const double *w, const M **m, \\
                     const Z *z, const M *q, Z *mixed, Z *old, double *squares) \\
{ \\
    double squared[BLOCK] = {0}; \\
    long at = begin; \\
    for (; at + BLOCK <= end; at += BLOCK) /* of a size that the compiler knows */ \\
        block_##Z##_##M(at, BLOCK, count, w, m, z, q, mixed, old, squared); \\
    block_##Z##_##M(at, end - at, count, w, m, z, q, mixed, old, squared); \\
    FOR(i, BLOCK) *squares += squared[i]; \\
}

#define BOTH(Z, M) ROUNDED(Z, M) MIXED(Z, M)
BOTH(float, float)
BOTH(float, bf16)
BOTH(double, float)
BOTH(double, double)
BOTH(double, bf16)
"""
)


class Terms(NamedTuple):
    """What `mixed` is given first."""

    weights: Sequence[float]
    told: Sequence[Tensor]
    own: Tensor
    message: Tensor


def rounded(z: Tensor, message: Tensor) -> Tensor:
    """`message` with the numbers of z in its precision, at most the largest that it has.

    >>> rounded(torch.tensor([1 / 3, 1e39]).double(), torch.empty(2))
    tensor([3.3333e-01, 3.4028e+38])
    """
    most = largest(message.dtype, z.dtype)
    in_c = _in_c("rounded", z, message)
    if in_c:
        in_c(ctypes.c_double(most), _place(z), _place(message))
        return message
    for said, meant in in_blocks(message, z):
        said.copy_(meant).clamp_(-most, most)
    return message


def mixed(
    weights: Sequence[float],
    told: Sequence[Tensor],
    z: Tensor,
    message: Tensor,
    out: Tensor,
    squares: list[float] | None = None,
) -> Tensor:
    """Σ w_r q_r, added in the order given, and what the own message lost of z: z − q.

    Args:
        weights: w.
        told: q, the messages.
        z: what this node has told of.
        message: in which it has done so; z itself where nothing was lost.
        out: where the result goes; may be z.
        squares: where its ‖·‖² is appended, NaN if it is not found in the same pass.

    >>> z = torch.tensor([1.0])
    >>> mixed([0.5, 0.25], [torch.tensor([2.0]), torch.tensor([4.0])], z, z, torch.empty(1))
    tensor([2.])
    """
    found = mixed_squares(weights, told, z, message, out)
    if found is not None:
        if squares is not None:
            squares.append(found)
        return out
    lost = message.dtype != z.dtype
    for own, said, total, *parts in in_blocks(z, message, out, *told):
        summed = weighted_sum(weights, [part.to(z) for part in parts])
        total.copy_(summed.add_(own - said) if lost else summed)
    if squares is not None:
        squares.append(math.nan)
    return out


def mixed_squares(
    weights: Sequence[float],
    told: Sequence[Tensor],
    z: Tensor,
    message: Tensor,
    out: Tensor | None = None,
    old: Tensor | None = None,
) -> float | None:
    """‖·‖² of what `mixed` makes, which goes to `out` in the same pass, if that is given.

    What `out` was before goes to `old`, which may be z. None, and nothing is written, where there
    is no C for it.
    """
    in_c = _in_c("mixed", z, message)
    if in_c is None:
        return None
    count, places = len(told), [q.data_ptr() for q in told]
    w, m = (ctypes.c_double * count)(*weights), (ctypes.c_void_p * count)(*places)
    lost = message.dtype != z.dtype
    own = _place(z), _place(message if lost else None)
    return in_c(ctypes.c_long(count), w, m, *own, _place(out), _place(old))


def placed_beside(terms: Terms, into: Tensor, squares: list[float] | None) -> Tensor:
    """`mixed`, in `into` if it is finite, which one pass finds out before another writes it.

    Else `into` stays as it is.
    """
    found = mixed_squares(*terms)
    finite = found is not None and math.isfinite(found)
    return mixed(*terms, into if finite else torch.empty_like(into), squares)


def placed_by_swap(terms: Terms, into: Tensor, squares: list[float] | None) -> Tensor:
    """Likewise in one pass: what was in `into` goes where z was, and back if that was wrong."""
    found = mixed_squares(*terms, into, terms.own)
    if found is None:
        return mixed(*terms, terms.own, squares)
    if squares is not None:
        squares.append(found)
    if math.isfinite(found):
        return into
    wrong = into.clone()
    into.copy_(terms.own)
    return wrong


def weighted_sum(weights: Sequence[float], values: Sequence[Tensor]) -> Tensor:
    """Σ w_r z_r, added in the order given.

    >>> weighted_sum([0.5, 0.25], [torch.tensor([2.0]), torch.tensor([4.0])])
    tensor([2.])
    """
    total = torch.mul(values[0], weights[0])
    for weight, value in zip(weights[1:], values[1:], strict=True):
        total.add_(value, alpha=weight)
    return total


def _in_c(name: str, z: Tensor, message: Tensor) -> Callable[..., float] | None:
    """A function of the C file without the range, its first two arguments, which threads share.

    Its last argument, to which each adds a number, is returned as their sum.
    """
    known = z.dtype in TYPES and message.dtype in TYPES and z.device.type == "cpu"
    if not known or len(z) < LONG or _program() is None:
        return None
    function = getattr(_program(), f"{name}_{TYPES[z.dtype]}_{TYPES[message.dtype]}", None)
    if function is None:
        return None

    def pass_over(*arguments: Any) -> float:
        found: dict[int, ctypes.c_double] = {}

        def take(first: int, last: int) -> None:
            number = found[first] = ctypes.c_double()
            place = ctypes.byref(number)
            function(ctypes.c_long(first), ctypes.c_long(last), *arguments, place)

        in_threads(take, len(z), threads_for(len(z)))
        return sum(found[first].value for first in sorted(found))

    return pass_over


@cache
def _program() -> ctypes.CDLL | None:
    return library(SOURCE) if compiler() else None


def _place(z: Tensor | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if z is None else z.data_ptr())
