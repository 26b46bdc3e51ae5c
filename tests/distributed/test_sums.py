"""Messages rounded and summed up in one pass of C: to the bits of torch's many passes."""

import pytest
import torch
from torch import Tensor

import gossamer as gs
from gossamer.distributed import NeighborExchange
from gossamer.distributed.links import plain, sums
from gossamer.native import build

LENGTH = 2 * sums.LONG + 13
WEIGHTS = [0.3, 1 / 3, 11 / 30]
PRECISIONS = [
    (torch.float32, torch.float32),
    (torch.float32, torch.bfloat16),
    (torch.float64, torch.float32),
    (torch.float64, torch.float64),
    (torch.float64, torch.bfloat16),
]
"""Of what a node has, and of its messages."""

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="this machine has no C compiler")


def drawn(seed: int, kind: torch.dtype) -> Tensor:
    """Numbers of all sizes, some of them special."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(LENGTH, generator=generator, dtype=torch.float64)
    z *= 10.0 ** torch.randint(-12, 12, (LENGTH,), generator=generator)
    z[:6] = torch.tensor([0.0, -0.0, 3.4e38, -1e300, torch.inf, torch.nan])
    return z.to(kind)


@pytest.fixture
def by_torch(monkeypatch):
    """A function of `sums` as it is where vectors are short."""

    def call(function, *given) -> Tensor:
        with monkeypatch.context() as patch:
            patch.setattr(sums, "LONG", LENGTH + 1)
            return function(*given)

    return call


def require_same(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(("own", "sent"), PRECISIONS, ids=str)
def test_the_bits_of_torch(by_torch, own: torch.dtype, sent: torch.dtype):
    z, first, last = drawn(0, own), drawn(1, sent), drawn(2, sent)
    assert sums._in_c("mixed", z, first), "nothing is compared"
    message = sums.rounded(z, torch.empty_like(first))
    require_same(message, by_torch(sums.rounded, z, torch.empty_like(first)))
    message = z if own == sent else message
    given = (WEIGHTS, [first, message, last], z, message)
    expected = by_torch(sums.mixed, *given, torch.empty_like(z))
    require_same(sums.mixed(*given, torch.empty_like(z)), expected)
    assert sums.mixed(*given, z) is z
    require_same(z, expected)


def test_in_several_threads(monkeypatch):
    z, told = drawn(0, torch.float64), [drawn(k, torch.float32) for k in (1, 2)]
    given = ([0.5, 0.5], told, z, told[0])
    alone = sums.mixed(*given, torch.empty_like(z))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    require_same(sums.mixed(*given, torch.empty_like(z)), alone)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_squares_of_a_sum(monkeypatch, threads: int):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    z, squares = torch.linspace(-1, 2, LENGTH), []
    sums.mixed([0.5, 0.5], [z, z], z, z, torch.empty_like(z), squares)
    assert squares == pytest.approx([float(z.double().square().sum())], rel=1e-6)


@pytest.mark.parametrize("place", [sums.placed_beside, sums.placed_by_swap])
@pytest.mark.parametrize("wrong", [1.0, torch.inf, torch.nan])
def test_only_what_is_finite_is_placed(place, wrong: float):
    z, x, squares = torch.linspace(-1, 2, LENGTH), torch.zeros(LENGTH), []
    told = [torch.ones(LENGTH, dtype=torch.bfloat16) for _ in range(2)]
    told[1][7] = wrong
    terms = sums.Terms([0.5, 0.5], told, z, told[0])
    expected = sums.mixed(*terms, torch.empty_like(z))
    found = place(terms, x, squares)
    require_same(found, expected)
    finite = wrong == 1.0
    assert (found is x) == finite
    assert finite or not x.any()
    assert squares == pytest.approx([float(expected.double().square().sum())], nan_ok=True)


@pytest.mark.parametrize("parts", [1, 2])
def test_a_norm_is_known_if_that_of_every_part_is(monkeypatch, parts: int):
    """The last part is too short for C."""
    z = torch.ones(sums.LONG + 10)
    monkeypatch.setattr(plain, "PART", len(z) if parts == 1 else sums.LONG)
    talk = NeighborExchange(gs.ring(1), 0, z, group=None).talk(0)
    norm = talk.norm(talk.pull(z))
    assert norm == pytest.approx(float(z.norm())) if parts == 1 else norm is None


@pytest.mark.parametrize("kind", [torch.float16, torch.float64])
def test_messages_in_precisions_that_c_does_not_write(kind: torch.dtype):
    z = torch.ones(sums.LONG)
    talk = NeighborExchange(gs.ring(1), 0, z, None, kind).talk(0)
    room = talk.room(len(z), z.dtype)
    assert room.said is None
    require_same(talk.pull(room.made.copy_(z), room), z)
