"""On real processes too, a wild gradient leaves no bias, and models in bfloat16 are trained."""

import pytest
import torch
from processes import on_ranks
from torch import Tensor, nn

from gossamer.algorithms import GTDSGD, Algorithm, GTNSGDm
from gossamer.distributed import DecentralizedOptimizer
from gossamer.networks import ring
from gossamer.problems import Quadratic

NODES = 3
PROBLEM = Quadratic(NODES, 5, seed=0, condition=2.0).to(torch.float32)
METHODS = [GTDSGD(lr=1.1), GTNSGDm(lr=0.03, momentum=0.2)]
STEPS = 50


def train(rank: int, method: Algorithm, spike: float, dtype: torch.dtype) -> nn.Parameter:
    parameter = nn.Parameter(torch.zeros(5, dtype=dtype))
    optimizer = DecentralizedOptimizer([parameter], method, ring)
    for t in range(STEPS):
        everywhere = parameter.detach().float().expand(NODES, 1, 5)
        grad = PROBLEM.local_grad(everywhere)[rank, 0]
        parameter.grad = (grad + spike * (rank == 0 and t == 5)).to(dtype)
        optimizer.step()
    return parameter


def errors(rank: int, dtype: torch.dtype, spikes: tuple[float, ...]) -> list[list[float]]:
    """Per method and spike, how far this node ends from the optimum."""
    ends = [[train(rank, method, spike, dtype) for spike in spikes] for method in METHODS]
    return [[float((x - PROBLEM.optimum).norm()) for x in row] for row in ends]


def load_and_compare(rank: int) -> list[bool]:
    parameter = nn.Parameter(torch.zeros(5))
    optimizer = DecentralizedOptimizer([parameter], GTNSGDm(0.1, 0.5), ring)
    parameter.grad = torch.full((5,), 1e8) if rank == 0 else torch.full((5,), 0.3)
    optimizer.step()
    parameter.grad = torch.full((5,), 0.7)
    optimizer.step()
    before = optimizer.algorithm_state.y.clone()
    optimizer.load_state_dict(optimizer.state_dict())
    y = optimizer.algorithm_state.y
    lossy = not torch.equal(before, before.float().double())
    return [y.dtype == torch.float64, torch.equal(y, before), lossy]


def everything(rank: int) -> dict[str, list]:
    return {
        "wild": errors(rank, torch.float32, (0.0, 1e8)),
        "bfloat16": errors(rank, torch.bfloat16, (0.0,)),
        "loaded": load_and_compare(rank),
    }


@pytest.fixture(scope="module")
def found() -> list[dict[str, list]]:
    return on_ranks(everything, size=NODES)


def test_a_wild_gradient_leaves_no_bias_in_float32(found):
    for plain, *spiked in torch.tensor([one["wild"] for one in found]).mean(0).tolist():
        assert max(spiked) <= 10 * plain + 1e-6


def test_a_model_in_bfloat16_is_not_biased(found):
    assert torch.tensor([one["bfloat16"] for one in found]).max() < 0.03


def test_a_total_is_loaded_with_all_its_digits(found):
    """torch rounds what a state dict holds to the precision of the parameters."""
    for kept, same, lossy in (one["loaded"] for one in found):
        assert kept
        assert same
        assert lossy, "rounding would not show"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_x_is_kept_in_float32_at_least(dtype: torch.dtype):
    parameter = nn.Parameter(torch.ones(3, dtype=dtype))
    optimizer = DecentralizedOptimizer([parameter], GTDSGD(lr=1e-4), ring)
    for _ in range(100):
        parameter.grad = torch.ones_like(parameter)
        optimizer.step()
    expected: Tensor = torch.full((3,), 0.99)
    torch.testing.assert_close(optimizer.x, expected, rtol=1e-5, atol=0)
    assert parameter.dtype == dtype
    assert torch.equal(parameter.detach(), optimizer.x.to(dtype))
    with torch.no_grad():
        parameter.fill_(2.0)  # whoever writes the model moves x
    assert torch.equal(optimizer.x, torch.full((3,), 2.0))
