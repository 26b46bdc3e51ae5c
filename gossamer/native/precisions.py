"""Numbers in the precisions of messages, in C: how one is made of another, as torch does it."""

import torch

TYPES = {torch.float32: "float", torch.float64: "double", torch.bfloat16: "bf16"}
"""The precisions that C reads and writes."""

NARROWER = {torch.float32: (torch.bfloat16,), torch.float64: (torch.float32, torch.bfloat16)}
"""Those in which messages say less."""

CONVERSIONS = """\
#include <stdint.h>
#include <string.h>

typedef uint16_t bf16;

static inline float float_of_float(float a) { return a; }
static inline double double_of_double(double a) { return a; }
static inline float float_of_bf16(bf16 a)
{
    const uint32_t bits = (uint32_t)a << 16;
    float z;
    memcpy(&z, &bits, 4);
    return z;
}
static inline bf16 bf16_of_float(float z) /* to the nearest, to the even one of two */
{
    uint32_t bits;
    memcpy(&bits, &z, 4);
    return z != z ? 0x7FC0 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}
static inline double double_of_float(double a) { return a; }
static inline float float_of_double(double a) { return a; }
static inline double double_of_bf16(bf16 a) { return float_of_bf16(a); }
static inline bf16 bf16_of_double(double z) { return bf16_of_float(z); }

#define AT_MOST(most, z) ((z) > (most) ? (most) : (z) < -(most) ? -(most) : (z))
"""


def largest(message: torch.dtype, kind: torch.dtype) -> float:
    """The largest number that a message says of numbers of a kind."""
    return float(min(torch.finfo(message).max, torch.finfo(kind).max))
