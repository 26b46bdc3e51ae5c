"""GPT's GELU within kernels: y = x (1 + tanh u)/2 with u = √(2/π) (x + 0.044715 x³)."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from gossamer.triton_language import jit, tl


@jit
def gelu(x):
    """y, and the gate (1 + tanh u)/2."""
    u = x * (0.7978845608028654 + 0.03567740813630013 * x * x)
    gate = 0.5 + 0.5 * _tanh(u)
    return x * gate, gate


@jit
def gelu_with_slope(x):
    """y, and its derivative gate + 2 (y − y gate) u'."""
    y, gate = gelu(x)
    return y, gate + (y - y * gate) * (1.5957691216057308 + 0.21406444881780076 * x * x)


@jit
def _tanh(u):
    """In one instruction, to 2⁻¹¹: bfloat16 keeps eight bits."""
    return tl.inline_asm_elementwise(
        "tanh.approx.f32 $0, $1;", "=f,f", [u], dtype=tl.float32, is_pure=True, pack=1
    )
