"""With a GPU: gloo through the CPU for ranks that share it, NCCL for a rank of its own."""

from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
from processes import Launched, on_ranks
from torch import nn

from gossamer.algorithms import GTNSGDm
from gossamer.distributed import DecentralizedOptimizer
from gossamer.networks import QSGD, Network, TopK, ring

NetworkMaker = Callable[[int], Network]

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def steps_on(rank: int, device: str, network: NetworkMaker = ring, steps: int = 10) -> torch.Tensor:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2)).double().to(device)
    optimizer = DecentralizedOptimizer(model.parameters(), GTNSGDm(lr=0.1, momentum=0.8), network)
    for t in range(steps):
        generator = torch.Generator().manual_seed(100 * rank + t)
        inputs = torch.randn(4, 5, generator=generator, dtype=torch.float64)
        optimizer.zero_grad()
        model(inputs.to(device)).square().mean().backward()
        optimizer.step()
    optimizer.consensus_error()
    with optimizer.averaged_parameters():
        pass
    return optimizer.x.cpu()


def bad_ring(nodes: int) -> Network:
    return ring(nodes).drops(0.3).compressed(TopK(0.2)).every(2)


def quantized_ring(nodes: int) -> Network:
    return ring(nodes).drops(0.3, both_ways=True).compressed(QSGD(4))


def steps_with_nccl(rank: int) -> torch.Tensor:
    dist.destroy_process_group()
    dist.init_process_group("nccl", "tcp://127.0.0.1:29417", world_size=1, rank=0)
    return steps_on(rank, "cuda")


@pytest.mark.parametrize("network", [ring, bad_ring, quantized_ring])
def test_ranks_that_share_a_gpu_take_the_steps_of_cpu_ranks(network: NetworkMaker):
    cuda, cpu = (on_ranks(steps_on, device, network) for device in ("cuda", "cpu"))
    for ours, theirs in zip(cuda, cpu, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_one_rank_with_nccl():
    ours, theirs = on_ranks(steps_with_nccl, size=1), on_ranks(steps_on, "cpu", size=1)
    torch.testing.assert_close(ours[0], theirs[0], rtol=0, atol=1e-12)


def test_launched_ranks_that_share_a_gpu_train_on_the_cpu():
    ours = Launched(steps_on, "cpu", size=2).results(deadline=60)
    theirs = on_ranks(steps_on, "cpu", size=2)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
