"""Every rank starts from rank 0's parameters, those added later and frozen ones included."""

import torch
from processes import on_ranks
from torch import Tensor, nn

from gossamer.algorithms import GTNSGDm
from gossamer.distributed import DecentralizedOptimizer
from gossamer.networks import ring


def start(rank: int) -> dict[str, Tensor]:
    torch.manual_seed(rank)
    body, head = nn.Linear(2, 2), nn.Linear(2, 2)
    frozen = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last).requires_grad_(False)
    late = nn.Linear(2, 1).requires_grad_(False)
    params = [*frozen.parameters(), *body.parameters()]
    optimizer = DecentralizedOptimizer(params, GTNSGDm(lr=0.1, momentum=0.8), ring)
    started = {"body": body.weight.detach().clone(), "frozen": frozen.weight.detach().clone()}
    body(torch.randn(2)).sum().backward()
    optimizer.step()
    optimizer.add_param_group({"params": [*head.parameters(), *late.parameters()]})
    return started | {"head": head.weight.detach(), "late": late.weight.detach()}


def test_all_start_equal():
    first, *others = on_ranks(start, size=3)
    for name, values in first.items():
        assert all(torch.equal(other[name], values) for other in others), name
