"""The kernels' blocks fit into a GPU's shared memory at every size; no GPU is needed to know."""

import itertools

import pytest

from gossamer.models.fused import _bias_gelu as gelu
from gossamer.models.fused._add_norm import ELEMENTS, norm_grad_launch, norm_launch
from gossamer.models.fused.attention import LONGEST, attention_bytes
from gossamer.models.fused.feed import WIDEST, feed_bytes
from gossamer.models.fused.head import LOG_SUM, Blocks, hidden_blocks, weight_blocks
from gossamer.models.fused.launch import rows_at_a_time, shared_by
from gossamer.models.fused.project import project_bytes

H200, A100, RTX = 232_448, 166_912, 101_376
WIDTHS = [2**k for k in range(4, 12)]

COMPILED = {  # width, blocks, what Triton 3.6 allots on a Hopper GPU: hidden's pass, weight's pass
    (64, Blocks(64, 64, 4, 3)): (32_768, 33_280),
    (128, Blocks(64, 128, 4, 3)): (114_688, 115_712),
    (128, Blocks(64, 64, 4, 3)): (65_536, 66_048),
    (256, Blocks(64, 64, 4, 2)): (98_304, 98_560),
    (256, Blocks(64, 128, 4, 3)): (229_376, 230_400),
    (512, Blocks(64, 128, 4, 3)): (458_752, 459_776),
    (512, Blocks(64, 64, 8, 2)): (197_632, 196_864),
    (512, Blocks(64, 32, 8, 3)): (164_864, 164_096),
    (512, Blocks(64, 32, 8, 2)): (131_584, 131_200),
}
ATTENTION = {  # time, size, what it allots to the backward pass
    (64, 32): 24_576,
    (128, 32): 65_536,
    (128, 64): 98_304,
    (128, 128): 163_840,
    (128, 256): 294_912,
    (64, 512): 270_336,
    (16, 1024): 65_536,
}

FEED = {128: (98_304, 102_400), 64: (49_152, 53_248), 32: (24_576, 28_672)}  # forward, backward
PROJECT = {128: 49_408, 64: 16_384, 32: 6_144, 16: 2_560}


@pytest.mark.parametrize("limit", [H200, A100, RTX])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_heads_blocks_fit(width: int, limit: int):
    for blocks, own in ((hidden_blocks(width, limit), 0), (weight_blocks(width, limit), LOG_SUM)):
        if width <= 256 or (width == 512 and limit > RTX):
            assert blocks.bytes(width, own) <= limit
            sums_per_thread = blocks.tile * width / (32 * blocks.warps)
            assert sums_per_thread <= 128  # of 255 registers
        else:
            assert blocks is None


def test_two_programs_share_a_multiprocessor_where_that_is_fastest():
    for width in (16, 32, 64, 128):
        assert hidden_blocks(width, H200) == Blocks(64, 128, 4, 3)
        assert weight_blocks(width, H200) == Blocks(64, 64, 4, 3)
    assert hidden_blocks(256, H200) == weight_blocks(256, H200) == Blocks(64, 64, 4, 2)
    for width, limit in itertools.product((16, 32, 64, 128, 256), (H200, A100)):
        assert hidden_blocks(width, limit).bytes(width) <= shared_by(2, limit)
        assert weight_blocks(width, limit).bytes(width, LOG_SUM) <= shared_by(2, limit)


def test_the_bytes_of_the_head_bound_what_the_compiler_allots():
    for (width, blocks), (hidden, weight) in COMPILED.items():
        assert hidden <= blocks.bytes(width) <= 1.02 * hidden
        assert weight <= blocks.bytes(width, LOG_SUM) <= 1.02 * weight


def test_the_bytes_of_attention_bound_what_the_compiler_allots():
    for (time, size), allotted in ATTENTION.items():
        assert allotted <= attention_bytes(time, size)


def test_the_bytes_of_the_hidden_layers_branch_bound_what_the_compiler_allots():
    for width, allotted in FEED.items():
        assert max(allotted) <= feed_bytes(width) <= 1.02 * max(allotted)
    assert feed_bytes(WIDEST) <= A100


def test_the_bytes_of_the_last_product_bound_what_the_compiler_allots():
    for width, allotted in PROJECT.items():
        assert allotted <= project_bytes(width) <= 1.02 * allotted
    assert project_bytes(128) <= RTX


def test_attention_of_usual_heads_fits_and_that_of_the_widest_does_not():
    for time, size in itertools.product((16, 32, 64, LONGEST), (16, 32, 64, 128)):
        assert attention_bytes(time, size) <= H200
    assert attention_bytes(LONGEST, 32) <= RTX
    assert attention_bytes(LONGEST, 256) > H200


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_any_width_stay_in_registers(width: int):
    hidden = rows_at_a_time(4 * width, gelu.ROWS, gelu.ELEMENTS)
    for models, launch in itertools.product((8, 40), (norm_launch, norm_grad_launch)):
        rows, _, warps = launch(width, models)
        assert rows * width <= ELEMENTS * warps // 4
    assert hidden * 4 * width <= gelu.ELEMENTS
    if width <= 256:
        assert hidden == gelu.ROWS
