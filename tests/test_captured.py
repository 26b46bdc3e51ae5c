"""Functions captured as CUDA graphs: the same results, whatever is given and drawn."""

import gc
import pickle

import pytest
import torch
from torch import Tensor

from gossamer.captured import AS_WRITTEN, Captured, side_by_side

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
CALLS = AS_WRITTEN + 3


def halved(z: Tensor) -> Tensor:
    return z / 2


def test_on_a_cpu_the_function_is_called_as_it_is_written():
    captured = Captured(halved)
    for k in range(CALLS):
        assert float(captured(torch.tensor(2.0 * k))) == k
    assert not captured.replays


def test_another_process_captures_for_itself():
    assert pickle.loads(pickle.dumps(Captured(halved))).function is halved


def test_jobs_side_by_side_are_all_done():
    done: list[int] = []
    side_by_side((lambda k=k: done.append(k) for k in range(20)), torch.device("cpu"))
    assert done == list(range(20))


@cuda
def test_replays_are_the_function():
    captured = Captured(lambda x, y: (x @ y, x + y))
    for k in range(CALLS):
        x, y = torch.randn(2, 5, 5, dtype=torch.float64, device="cuda")
        for found, expected in zip(captured(x, y), (x @ y, x + y), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
        assert captured.replays == (k >= AS_WRITTEN)
    captured(x[:3, :3], y[:3, :3])  # other shapes are another graph
    assert not captured.replays


@cuda
def test_what_cannot_be_captured_goes_on_as_it_is_written():
    captured = Captured(lambda z: torch.rand_like(z) * float(z.sum()))
    for _ in range(CALLS):
        assert captured(torch.ones(3, device="cuda")).shape == (3,)
    assert captured.refusal is not None
    torch.rand(3, device="cuda")  # the generator is left as if nothing had been captured
    assert float(Captured(halved)(torch.ones((), device="cuda"))) == 0.5


@cuda
def test_nothing_is_collected_during_a_capture():
    """Python could meet a graph among the garbage, and CUDA frees none during a capture."""
    collects = []

    def noted(z: Tensor) -> Tensor:
        collects.append(gc.isenabled())
        return z / 2

    captured = Captured(noted)
    for _ in range(CALLS):
        captured(torch.ones((), device="cuda"))
    assert collects == [True] * AS_WRITTEN + [False]
    assert gc.isenabled()


@cuda
def test_replays_draw_on():
    def drawn(z: Tensor) -> Tensor:
        return z + torch.rand_like(z) + torch.rand(3, device="cuda", generator=own)

    own = torch.Generator("cuda").manual_seed(7)
    captured, found = Captured(drawn, generators=[own]), []
    torch.cuda.manual_seed(1)
    found = [captured(torch.zeros(3, device="cuda")).clone() for _ in range(CALLS)]
    assert captured.replays
    own.manual_seed(7)
    torch.cuda.manual_seed(1)
    for one in found:
        assert torch.equal(one, drawn(torch.zeros(3, device="cuda")))


@cuda
def test_branches_of_a_graph_are_joined():
    def powers(z: Tensor) -> Tensor:
        out = torch.empty(20, *z.shape, device="cuda")
        side_by_side((lambda k=k: out[k].copy_(z**k) for k in range(20)), z.device)
        return out

    captured, z = Captured(powers), torch.rand(1000, device="cuda")
    for _ in range(CALLS):
        torch.testing.assert_close(captured(z), torch.stack([z**k for k in range(20)]))
    assert captured.replays
