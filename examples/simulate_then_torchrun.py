"""Simulate a training run in one process, then run it on four processes and compare the results.

    python examples/simulate_then_torchrun.py                        # simulates and saves
    torchrun --nproc-per-node 4 examples/simulate_then_torchrun.py   # trains and compares

This way you can tune in the simulator, where a sweep takes seconds, and then start real processes.
"""

import os

import torch
from torch import nn

import gossamer as gs
from gossamer.data import BatchOrder
from gossamer.distributed import join

NODES, STEPS, BATCH, SEED = 4, 100, 8, 0
METHOD, NETWORK = gs.GTNSGDm(lr=0.05, momentum=0.8), gs.ring(NODES)


def make_model() -> nn.Module:
    torch.manual_seed(SEED)
    return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3)).double()


def node_data(node: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The data of one node. Each node has a different mean."""
    generator = torch.Generator().manual_seed(node)
    inputs = torch.randn(64, 5, generator=generator, dtype=torch.float64) + 0.5 * node
    return inputs, inputs[:, :3].argmax(1)


def simulate() -> None:
    data = [node_data(node) for node in range(NODES)]
    problem = gs.ModuleProblem(make_model(), nn.functional.cross_entropy, data, batch_size=BATCH)
    run = gs.simulate(METHOD, problem, NETWORK, steps=STEPS, seeds=SEED)
    torch.save(run.x[:, 0], "simulated.pt")  # (nodes, dim)
    print(f"simulated: loss {float(run.final('loss')):.6f} after {STEPS} steps")


def run_for_real() -> None:
    rank, model = join(), make_model()
    optimizer = gs.DecentralizedOptimizer(model.parameters(), METHOD, NETWORK)
    inputs, targets = node_data(rank)
    order = BatchOrder(len(inputs), BATCH, seed=SEED, node=rank)  # the simulator's batches
    while optimizer.steps < STEPS:
        chosen = order.at(optimizer.steps)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs[chosen]), targets[chosen]).backward()
        optimizer.step()
    gap = float((optimizer.x - torch.load("simulated.pt")[rank]).abs().max())
    assert gap < 1e-10, gap
    print(f"rank {rank}: largest difference from the simulation {gap:.0e}", flush=True)


if __name__ == "__main__":
    run_for_real() if "RANK" in os.environ else simulate()
