"""Train on two nodes, each with its parameters divided among two processes (FSDP).

    torchrun --nproc-per-node 4 examples/sharded_nodes.py

Each process holds and updates half of its node's parameters. It exchanges them with the process
that holds the same half in the other node.
"""

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import gossamer as gs
from gossamer.distributed import join

rank = join()
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("node", "shard"))

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3))
fully_shard(model, mesh=mesh["shard"])
optimizer = gs.DecentralizedOptimizer(
    model.parameters(), gs.GTNSGDm(lr=0.05, momentum=0.8), gs.ring, device_mesh=mesh
)

generator = torch.Generator().manual_seed(rank)  # each process has its own data
inputs = torch.randn(64, 5, generator=generator) + 0.5 * optimizer.rank
targets = inputs[:, :3].argmax(1)


def loss() -> torch.Tensor:
    return nn.functional.cross_entropy(model(inputs), targets)


while optimizer.steps < 100:
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()
with optimizer.averaged_parameters(), torch.no_grad():
    own = loss().item()
everyone = optimizer.gather(lambda: own)
print(f"rank {rank}, node {optimizer.rank}: {optimizer.x.numel()} of 147 parameters", flush=True)
if rank == 0:
    print(f"loss of the average model {sum(everyone) / 4:.3f}", flush=True)
