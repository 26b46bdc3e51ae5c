"""3 × 3 convolutions of few channels on a GPU, y = w ∗ x with a border of zeros, in float32.

Their time goes into reading. A program walks down a strip of some images: a row of the input is
read once for the three rows of the output that it adds to, in three copies, each shifted by a
column, that are one operand of a product. Products are as exact as float32: each is the sum of
three on tensor cores; `torch.backends.cudnn.allow_tf32` asks for one, with three digits.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import NamedTuple

from torch import Tensor
from torch.backends import cudnn

from gossamer.triton_language import jit, padded, tl

MOST_CHANNELS = 16
"""Channels up to which the kernels are faster than cuDNN, on an H200 twice and more."""


class Strip(NamedTuple):
    """What a program walks down: so many pixels beside each other, and so many rows."""

    pixels: int
    rows: int
    warps: int


OUTPUTS, FILTERS = Strip(128, 8, 4), Strip(32, 16, 2)
"""Those of the outputs' and of the filters' programs; fastest on an H200."""


def convolved(x: Tensor, w: Tensor, back: bool = False) -> Tensor:
    """`conv2d(x, w, padding=1)`, or `back` from an output to the input: its transpose in x."""
    y = x.new_empty(len(x), w.shape[1 if back else 0], *x.shape[2:])
    grid, sizes, blocks = _launch(x, y, OUTPUTS)
    _convolve[grid](x, w, y, *sizes, *blocks, back, _precision(), num_warps=OUTPUTS.warps)
    return y


def filter_grad(grad: Tensor, x: Tensor) -> Tensor:
    """∂/∂w of ⟨grad, w ∗ x⟩."""
    grid, sizes, blocks = _launch(x, grad, FILTERS)
    sums = x.new_empty(*grid, grad.shape[1], x.shape[1], 3, 3)
    _correlate[grid](x, grad, sums, *sizes, *blocks, _precision(), num_warps=FILTERS.warps)
    return sums.sum((0, 1, 2))


def _launch(
    x: Tensor, y: Tensor, strip: Strip
) -> tuple[tuple[int, int, int], tuple[int, ...], tuple[int, ...]]:
    """The grid, the sizes, and how much of them a program holds at a time."""
    (count, ins, height, width), outs = x.shape, y.shape[1]
    columns, rows = min(padded(width), strip.pixels), min(padded(height), strip.rows)
    images = strip.pixels // columns
    grid = (-(-count // images), -(-height // rows), -(-width // columns))
    channels = max(4, padded(ins)), max(16, padded(outs))
    return grid, (count, height, width, ins, outs), (*channels, images, columns, rows)


def _precision() -> str:
    return "tf32" if cudnn.allow_tf32 else "tf32x3"


@jit
def _pixels(IMAGES: tl.constexpr, COLUMNS: tl.constexpr):
    """A program's images and columns, `[1, PIXELS]`."""
    pixel = tl.arange(0, IMAGES * COLUMNS)[None, :]
    image = tl.program_id(0).to(tl.int64) * IMAGES + pixel // COLUMNS
    return image, tl.program_id(2) * COLUMNS + pixel % COLUMNS


@jit
def _shifted(x, image, column, images, height, width, channels, IN: tl.constexpr):
    """Where x begins for every channel and shift, `[4 IN, PIXELS]`, and what of it is there."""
    row = tl.arange(0, 4 * IN)[:, None]
    channel, shift = row % IN, row // IN
    column += shift - 1
    there = (image < images) & (channel < channels) & (shift < 3)
    there &= (column >= 0) & (column < width)
    return x + (image * channels + channel) * (height * width) + column, there


@jit
def _convolve(
    x, w, y, images, height, width, ins, outs,
    IN: tl.constexpr, OUT: tl.constexpr,
    IMAGES: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr,
    BACK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    # x: (images, ins, height, width); y: (images, outs, height, width)
    # w: (outs, ins, 3, 3), or (ins, outs, 3, 3) on the way back, where it is turned around
    image, column = _pixels(IMAGES, COLUMNS)
    x, x_there = _shifted(x, image, column, images, height, width, ins, IN)
    out, k = tl.arange(0, OUT)[:, None], tl.arange(0, 4 * IN)[None, :]
    y += (image * outs + out) * (height * width) + column
    y_there = (image < images) & (out < outs) & (column < width)
    into, tap = k % IN, k // IN
    w_there = (out < outs) & (into < ins) & (tap < 3)
    w += (into * outs + out) * 9 + 8 - tap if BACK else (out * ins + into) * 9 + tap
    top = tl.load(w, mask=w_there, other=0.0)  # rows of the filter, [OUT, 4 IN]
    middle = tl.load(w - 3 if BACK else w + 3, mask=w_there, other=0.0)
    bottom = tl.load(w - 6 if BACK else w + 6, mask=w_there, other=0.0)
    above = tl.zeros([OUT, IMAGES * COLUMNS], tl.float32)  # what is known of the row above
    here = tl.zeros([OUT, IMAGES * COLUMNS], tl.float32)
    for step in tl.range(0, ROWS + 2):
        row = tl.program_id(1) * ROWS + step - 1
        inside = (row >= 0) & (row < height)
        value = tl.load(x + row * width, mask=x_there & inside, other=0.0)  # [4 IN, PIXELS]
        above = tl.dot(bottom, value, above, input_precision=PRECISION)
        known = (step > 1) & (row <= height)
        tl.store(y + (row - 1) * width, above, mask=y_there & known)
        above = tl.dot(middle, value, here, input_precision=PRECISION)
        here = tl.dot(top, value, input_precision=PRECISION)


@jit
def _correlate(
    x, grad, sums, images, height, width, ins, outs,
    IN: tl.constexpr, OUT: tl.constexpr,
    IMAGES: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    # x: (images, ins, height, width); grad: (images, outs, height, width)
    # sums: (programs, outs, ins, 3, 3)
    image, column = _pixels(IMAGES, COLUMNS)
    x, x_there = _shifted(x, image, column, images, height, width, ins, IN)
    out, k = tl.arange(0, OUT)[:, None], tl.arange(0, 4 * IN)[None, :]
    grad += (image * outs + out) * (height * width) + column
    there = (image < images) & (out < outs) & (column < width)
    top = tl.zeros([OUT, 4 * IN], tl.float32)  # rows of the filter
    middle = tl.zeros([OUT, 4 * IN], tl.float32)
    bottom = tl.zeros([OUT, 4 * IN], tl.float32)
    for step in tl.range(0, ROWS):
        row = tl.program_id(1) * ROWS + step
        value = tl.trans(tl.load(x + row * width, mask=x_there & (row < height), other=0.0))
        below = tl.load(grad + (row + 1) * width, mask=there & (row + 1 < height), other=0.0)
        here = tl.load(grad + row * width, mask=there & (row < height), other=0.0)
        over = (row > 0) & (row <= height)
        above = tl.load(grad + (row - 1) * width, mask=there & over, other=0.0)
        top = tl.dot(below, value, top, input_precision=PRECISION)
        middle = tl.dot(here, value, middle, input_precision=PRECISION)
        bottom = tl.dot(above, value, bottom, input_precision=PRECISION)
    program = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    program = (program * tl.num_programs(2) + tl.program_id(2)).to(tl.int64)
    into, tap = k % IN, k // IN
    sums += ((program * outs + out) * ins + into) * 9 + tap
    there = (out < outs) & (into < ins) & (tap < 3)
    tl.store(sums, top, mask=there)
    tl.store(sums + 3, middle, mask=there)
    tl.store(sums + 6, bottom, mask=there)
