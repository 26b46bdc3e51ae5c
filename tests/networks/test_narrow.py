"""One pass on a GPU against the same operation by operation."""

from dataclasses import replace

import pytest
import torch

from gossamer.algorithms import descend, estimate_and_track
from gossamer.algorithms.operators import norm
from gossamer.networks import ring
from gossamer.networks.narrow import MOST_NODES, mixed
from gossamer.twin import Twin

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


@pytest.mark.parametrize("nodes", [1, 5, 8, 20, MOST_NODES])
@pytest.mark.parametrize("messages", [torch.float32, torch.float64])
def test_gpu_products_of_any_number_of_nodes(nodes: int, messages: torch.dtype):
    weights = torch.rand(nodes, nodes, dtype=torch.float64, device="cuda")
    z = torch.randn(nodes, 3, 4099, dtype=messages, device="cuda")
    for w in (weights, weights.to(messages)):
        expected = torch.einsum("ij,jrd->ird", w.double(), z.double())
        apart = 4 * nodes * torch.finfo(w.dtype).eps
        torch.testing.assert_close(mixed(w, z).double(), expected, rtol=apart, atol=apart)


def test_gpu_the_twin_is_the_rounded_result():
    x, direction = torch.randn(2, 8, 3, 5000, device="cuda")
    mix = ring(8).mixer(torch.float32, "cuda")
    twin = Twin(torch.empty(8 * 3, 5000, dtype=torch.bfloat16, device="cuda"))
    plain = mix.pull_move(x, torch.ones((), device="cuda"), direction)
    moved = replace(mix, twin=twin).pull_move(x, torch.ones((), device="cuda"), direction)
    assert plain is not None
    assert moved is not None
    assert twin.of is moved
    assert torch.equal(moved, plain)
    assert torch.equal(twin.copy, moved.flatten(0, 1).bfloat16())
