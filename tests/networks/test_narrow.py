"""One pass on a GPU against the same operation by operation."""

import pytest
import torch

from gossamer.algorithms import descend, estimate_and_track
from gossamer.algorithms.operators import norm
from gossamer.networks import ring

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("nodes", "runs", "dim"), [(5, 1, 1000), (20, 3, 20), (8, 2, 4097)])
def test_gpu_one_pass(nodes: int, runs: int, dim: int, dtype: torch.dtype):
    torch.manual_seed(0)
    v, grad, x = torch.randn(3, nodes, runs, dim, dtype=dtype, device="cuda")
    y = 1e6 * torch.randn(nodes, runs, dim, dtype=torch.float64, device="cuda")
    momentum = torch.rand(runs, 1, dtype=dtype, device="cuda")
    mix, order = ring(nodes).mixer(dtype, "cuda"), "adapt-then-combine"
    at_once = mix.push_estimate(y, v, grad, momentum)
    moved = mix.pull_move(x, momentum, grad)
    assert at_once is not None
    assert moved is not None
    cpu = ring(nodes).mixer(dtype, "cpu")
    given = (z.cpu() for z in (v, y, grad, momentum))
    rtol = 4 * torch.finfo(dtype).eps
    tracked = estimate_and_track(*given, cpu, order)
    for found, expected in zip(at_once, (*tracked[:3], norm(tracked.d)), strict=True):
        torch.testing.assert_close(found.cpu(), expected, rtol=rtol, atol=rtol * 1e6)
    assert float((at_once[1].sum(0) - (y + at_once[0] - v).sum(0)).abs().max()) < 1e-7
    expected = descend(x.cpu(), momentum.cpu(), grad.cpu(), cpu, order)
    torch.testing.assert_close(moved.cpu(), expected, rtol=rtol, atol=8 * rtol)
