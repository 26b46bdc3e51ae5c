import itertools
import math

import numpy as np
import pytest
import torch

from gossamer.errors import InvalidInput
from gossamer.networks.chance import Coins
from gossamer.networks.compressors import COMPRESSORS, QSGD, Cast, RandK, Sign, TopK, blocks
from gossamer.networks.compressors.message import pack, packed_bytes, unpack
from gossamer.networks.compressors.places import kept
from gossamer.networks.compressors.rand_k import strides
from gossamer.spec import build

ALL = [
    TopK(0.1),
    TopK(0.5),
    TopK(1.0),
    TopK(0.001),
    RandK(0.1),
    RandK(1.0),
    QSGD(3),
    QSGD(4),
    QSGD(8),
    Sign(),
    Cast("bfloat16"),
    Cast("float16"),
    Cast("float8_e4m3fn"),
    Cast("float8_e5m2"),
]
DIMS = [1, 2, 7, 8, 20, 129, 1000]
PRECISIONS = [
    (torch.float32, torch.float32),
    (torch.float64, torch.float64),
    (torch.float32, torch.float64),
]
COINS = Coins.of(0, 0)

every = pytest.mark.parametrize("compressor", ALL, ids=repr)


def heavy_tailed(*shape: int, seed: int = 0) -> torch.Tensor:
    """Cauchy numbers in float64."""
    generator = torch.Generator().manual_seed(seed)
    return torch.empty(shape, dtype=torch.float64).cauchy_(generator=generator)


def pair(*shape: int, copy=torch.float64, z=torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    return heavy_tailed(*shape, seed=1).to(copy), heavy_tailed(*shape, seed=2).to(z)


def squares(x: torch.Tensor) -> torch.Tensor:
    return x.square().sum(-1)


@every
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize(("copy_dtype", "z_dtype"), PRECISIONS)
def test_message_gives_the_same_copy_bit_for_bit(compressor, dim, copy_dtype, z_dtype):
    copy, z = pair(dim, copy=copy_dtype, z=z_dtype)
    message = compressor.encode(copy, z, COINS)
    expected = compressor.compress(copy, z, COINS)
    assert message.dtype == torch.uint8
    assert message.shape == (compressor.message_bytes(dim, copy_dtype),)
    assert expected.dtype == copy_dtype
    assert torch.equal(compressor.decode(copy, message, COINS), expected)


@every
def test_message_within_a_longer_buffer_is_read(compressor):
    copy, z = pair(20)
    message = compressor.encode(copy, z, COINS)
    buffer = torch.cat([torch.zeros(3, dtype=torch.uint8), message])
    expected = compressor.compress(copy, z, COINS)
    assert torch.equal(compressor.decode(copy, buffer[3:], COINS), expected)


@every
@pytest.mark.parametrize("dim", [20, 300])
@pytest.mark.parametrize(("copy_dtype", "z_dtype"), PRECISIONS)
def test_stack_is_each_node_and_run_alone_bit_for_bit(compressor, dim, copy_dtype, z_dtype):
    seeds = [3, 8, 3, 3]
    copy, z = pair(3, 4, dim, copy=copy_dtype, z=z_dtype)
    together = compressor.compress(copy, z, Coins.of(seeds, torch.arange(3)).at(5, 1))
    for node, (run, seed) in itertools.product(range(3), enumerate(seeds)):
        alone = Coins.of(seed, node).at(5, 1)
        expected = compressor.compress(copy[node, run], z[node, run], alone)
        assert torch.equal(together[node, run], expected)


@every
def test_no_difference_gives_the_copy_back(compressor):
    copy = heavy_tailed(300).float()
    assert torch.equal(compressor.compress(copy, copy.double(), COINS), copy)


@every
def test_arguments_are_left_alone(compressor):
    copy, z = pair(300)
    before = copy.clone(), z.clone()
    message = compressor.encode(copy, z, COINS)
    compressor.decode(copy, message, COINS)
    compressor.compress(copy, z, COINS)
    assert torch.equal(copy, before[0])
    assert torch.equal(z, before[1])


@every
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_values_that_are_not_finite_do_not_crash(compressor, value):
    copy, z = pair(300)
    z[3] = value
    message = compressor.encode(copy, z, COINS)
    assert compressor.decode(copy, message, COINS).shape == (300,)
    assert compressor.compress(copy, z, COINS).shape == (300,)


@pytest.mark.parametrize("compressor", [QSGD(4), Sign(), Cast("float8_e4m3fn")], ids=repr)
@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_values_that_are_not_finite_stay_in_their_block(compressor, value):
    copy, z = pair(600)
    healthy = compressor.compress(copy, z, COINS)
    z[3] = value
    ill = compressor.compress(copy, z, COINS)
    assert not ill[3].isfinite()
    assert torch.equal(ill[256:], healthy[256:])


@every
def test_representation_builds_it(compressor):
    assert eval(repr(compressor), dict(COMPRESSORS)) == compressor
    assert build("compressor", repr(compressor), COMPRESSORS) == compressor


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("TopK(0)", r"share: got 0, need a number in \(0, 1\]; 0.1 sends a tenth"),
        ("RandK(1.5)", "share: got 1.5, need"),
        ("QSGD(0)", "bits: got 0, need an integer from 3 to 8; for fewer bits take Sign()"),
        ("QSGD(2)", "bits: got 2, need an integer from 3 to 8"),
        ("QSGD(3.5)", "bits: got 3.5, need an integer from 3 to 8"),
        ("QSGD(4.5)", "bits: got 4.5, need an integer"),
        ("Cast(bflot16)", "did you mean 'bfloat16'"),
    ],
)
def test_bad_arguments_are_refused(text, reason):
    with pytest.raises(InvalidInput, match=reason):
        build("compressor", text, COMPRESSORS)


@every
@pytest.mark.parametrize("dim", [1, 20, 3_000_000])
def test_gamma_is_a_share(compressor, dim):
    assert 0 < compressor.gamma(dim) <= 1


@pytest.mark.parametrize(
    ("compressor", "most"),
    [(TopK(0.05), 0.0813), (RandK(0.05), 0.05), (QSGD(4), 0.1329), (Sign(), 0.0391)],
    ids=repr,
)
def test_share_of_the_bytes_of_a_large_model(compressor, most):
    dim = 3_000_000
    assert compressor.message_bytes(dim, torch.float32) <= most * 4 * dim


# Which coordinates are kept


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.7, 1.0])
def test_topk_keeps_the_largest_differences(dim, share):
    copy, z = pair(5, dim)
    order = (z - copy).abs().sort(descending=True, stable=True).indices
    first = order[..., : kept(share, dim)]
    expected = copy.scatter(-1, first, z.gather(-1, first))
    assert torch.equal(TopK(share).compress(copy, z, COINS), expected)


@pytest.mark.parametrize("count", [3, 6])
def test_topk_keeps_the_first_of_equal_differences(count):
    z = torch.tensor([1.0, -2.0, 2.0, 2.0, -2.0, 2.0, 1.0, 3.0, 2.0, 0.0])
    kept_first = torch.tensor([7, *range(1, count)])
    expected = torch.zeros(10).index_copy(0, kept_first, z[kept_first])
    assert torch.equal(TopK(count / 10).compress(torch.zeros(10), z, COINS), expected)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_topk_sends_what_is_not_a_number_first(share):
    copy, z = pair(20)
    z[7] = math.nan
    assert TopK(share).compress(copy, z, COINS)[7].isnan()


@pytest.mark.parametrize("dim", [1, 2, 12, 97, 1000])
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_randk_keeps_k_different_coordinates(dim, share):
    coins = Coins.of(range(100), torch.arange(2))
    chosen = RandK(share).compress(torch.zeros(2, 100, dim), torch.ones(2, 100, dim), coins)
    assert torch.equal(chosen.sum(-1), torch.full((2, 100), float(kept(share, dim))))


@pytest.mark.parametrize("dim", [1, 2, 12, 97, 30030, 3_000_000])
def test_strides_have_no_factor_in_common_with_dim(dim):
    assert all(math.gcd(b, dim) == 1 for b in strides(dim, torch.device("cpu")).tolist())


def test_randk_keeps_each_coordinate_as_often():
    """Each is chosen in N independent runs with probability p: a binomial number."""
    N, dim = 20_000, 12
    p = kept(0.25, dim) / dim
    coins = Coins.of(range(N), torch.arange(1))
    chosen = RandK(0.25).compress(torch.zeros(1, N, dim), torch.ones(1, N, dim), coins)
    spread = (p * (1 - p) / N) ** 0.5
    assert (chosen.mean(1) - p).abs().max() < 5 * spread


# Contraction: E‖z − ĥ⁺‖² ≤ (1 − δ) ‖z − ĥ‖²


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_topk_contracts_by_its_share(share):
    copy, z = pair(200, 20)
    left = squares(z - TopK(share).compress(copy, z, COINS))
    assert (left <= (1 - kept(share, 20) / 20) * squares(z - copy)).all()


def test_topk_contracts_by_no_more_where_all_differ_alike():
    left = squares(1 - TopK(0.1).compress(torch.zeros(20), torch.ones(20), COINS))
    assert left == 18


def test_randk_contracts_by_its_share_in_the_mean():
    N, copy, z = 20_000, *pair(20)
    coins = Coins.of(range(N), torch.arange(1))
    left = squares(z - RandK(0.1).compress(copy.expand(1, N, 20), z.expand(1, N, 20), coins))
    expected = 0.9 * squares(z - copy)
    assert abs(left.mean() - expected) < 5 * left.std() / N**0.5


@pytest.mark.parametrize("dim", [1, 20, 256, 600])
def test_sign_contracts_each_block_by_the_square_of_its_mean_size(dim):
    copy, z = pair(50, dim)
    left = z - Sign().compress(copy, z, COINS)
    for before, after in zip((z - copy).split(32, -1), left.split(32, -1), strict=True):
        removed = before.abs().sum(-1) ** 2 / before.shape[-1]
        assert (squares(after) <= squares(before) - 8 / 9 * removed).all()


@pytest.mark.parametrize(
    ("dtype", "epsilon"),
    [
        ("bfloat16", 2**-8),
        ("float16", 2**-11),
        ("float8_e4m3fn", 2**-4),
        ("float8_e5m2", 2**-3),
    ],
)
def test_cast_leaves_its_rounding(dtype, epsilon):
    """A number is within ε of its own size, or within half the smallest subnormal number."""
    copy, z = pair(50, 600)
    left = (z - Cast(dtype).compress(copy, z, COINS)).abs()
    info = torch.finfo(getattr(torch, dtype))
    largest = torch.cat(
        [b.abs().amax(-1, keepdim=True).expand_as(b) for b in (z - copy).split(128, dim=-1)], -1
    )
    smallest = info.smallest_normal * info.eps / info.max * largest
    rounding = 1e-12 * (copy.abs() + z.abs())
    assert (left <= torch.maximum(epsilon * (z - copy).abs(), smallest / 2) + rounding).all()


@pytest.mark.parametrize("bits", [3, 4, 6])
def test_qsgd_is_right_in_the_mean(bits):
    N, copy, z = 20_000, *pair(20)
    coins = Coins.of(range(N), torch.arange(1))
    errors = QSGD(bits).compress(copy.expand(1, N, 20), z.expand(1, N, 20), coins) - z
    rounding = 1e-12 * (copy.abs() + z.abs())
    assert (errors.mean(1).abs() <= 5 * errors.std(1) / N**0.5 + rounding).all()


@pytest.mark.parametrize("bits", [3, 4, 5])
def test_qsgd_contracts_in_the_mean(bits):
    """Half-way between two levels either is as far, so that the bound is reached by every coin."""
    quantizer = QSGD(bits)
    size, top = quantizer.block, quantizer.top
    z = torch.full((2 * size,), 0.5, dtype=torch.float64)
    z[::size] = top
    left = squares(z - quantizer.compress(torch.zeros_like(z), z, COINS))
    torch.testing.assert_close(left.item(), 2 * (size - 1) / 4, rtol=1e-12, atol=0)
    assert (size - 1) / (4 * top**2) <= 2 / 3 < (2 * size - 1) / (4 * top**2)


def test_qsgd_contracts_heavy_tails_in_the_mean():
    N, copy, z = 2000, *pair(300)
    coins = Coins.of(range(N), torch.arange(1))
    stack = (1, N, 300)
    left = squares(z - QSGD(4).compress(copy.expand(stack), z.expand(stack), coins))
    bound = (QSGD(4).block - 1) / (4 * QSGD(4).top ** 2) * squares(z - copy)
    assert left.mean() + 5 * left.std() / N**0.5 < bound


def test_everything_kept_is_z_itself():
    copy, z = pair(300)
    assert torch.equal(TopK(1.0).compress(copy, z, COINS), z)
    assert torch.equal(RandK(1.0).compress(copy, z, COINS), z)


# With copies and γ


def push_weights(num_nodes: int) -> torch.Tensor:
    """C of a ring with ways back to node 0: its Perron weights differ by a factor of 128."""
    hears = torch.eye(num_nodes, dtype=torch.float64)
    hears += hears.roll(1, dims=0)
    hears[0, 2 : num_nodes - 1] = 1
    return hears / hears.sum(0)


@pytest.mark.parametrize(
    ("compressor", "steps"),
    [
        (TopK(0.1), 400),
        (RandK(0.25), 900),
        (QSGD(3), 150),
        (QSGD(4), 150),
        (Sign(), 2500),
        (Cast("float8_e5m2"), 150),
    ],
    ids=repr,
)
def test_totals_keep_their_sum_and_settle_with_the_default_gamma(compressor, steps):
    n, dim = 10, 40
    C = push_weights(n)
    settled = torch.linalg.matrix_power(C, 10_000)
    z = copy = heavy_tailed(n, dim)
    total, target = z.sum(0), settled @ z
    coins = Coins.of([0], torch.arange(n))
    for t in range(steps):
        z = z + compressor.gamma(dim) * (C @ copy - copy)
        copy = compressor.compress(copy[:, None], z[:, None], coins.at(t, 0))[:, 0]
    torch.testing.assert_close(z.sum(0), total, rtol=0, atol=1e-12 * total.abs().max().item())
    torch.testing.assert_close(z, target, rtol=0, atol=1e-8 * target.abs().max().item())


# Blocks and bytes


@pytest.mark.parametrize("dim", DIMS)
def test_bits_are_packed_as_numpy_packs_them(dim):
    bits = heavy_tailed(dim) > 0
    packed = pack(bits)
    assert packed.tolist() == np.packbits(bits.numpy(), bitorder="little").tolist()
    assert len(packed) == packed_bytes(dim)
    assert torch.equal(unpack(packed, dim), bits)


@pytest.mark.parametrize("dim", DIMS)
def test_blocks_hold_the_differences_and_zeros(dim):
    copy, z = pair(dim)
    differences = blocks.differences(copy, z, 128)
    assert torch.equal(differences, blocks.split(z - copy, 128))
    assert torch.equal(differences.flatten()[:dim], z - copy)
    assert not differences.flatten()[dim:].any()
