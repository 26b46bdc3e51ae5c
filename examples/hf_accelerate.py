"""A training loop with Hugging Face Accelerate, in which each process has its own model.

    pip install '.[integrations]'
    torchrun --nproc-per-node 4 examples/hf_accelerate.py     # or accelerate launch

`accelerator.prepare(model)` would wrap the model in DDP, which averages the gradients over all
processes. `prepare_model(model, evaluation_mode=True)` only moves the model to its device. The
script prints the accuracy of the average model (about 15 s on 2 cores).
"""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import gossamer as gs


def clouds(count: int, seed: int) -> TensorDataset:
    """Four Gaussian clouds in the plane."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(4, (count,), generator=generator)
    centers = torch.tensor([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0], [0.0, -2.0]])
    return TensorDataset(centers[labels] + 0.5 * torch.randn(count, 2, generator=generator), labels)


def main() -> None:
    accelerator = Accelerator(cpu=True)
    model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 4))
    model = accelerator.prepare_model(model, evaluation_mode=True)  # on its device, without DDP
    method = gs.GTNSGDm(lr=0.1, momentum=0.8)
    decentralized = gs.DecentralizedOptimizer(model.parameters(), method, network=gs.ring)
    loader = DataLoader(clouds(2048, seed=0), batch_size=16, shuffle=True)
    optimizer, loader = accelerator.prepare(decentralized, loader)  # each rank loads its share
    for _ in range(4):
        for inputs, labels in loader:
            optimizer.zero_grad()
            accelerator.backward(nn.functional.cross_entropy(model(inputs), labels))
            optimizer.step()
    inputs, labels = clouds(512, seed=1).tensors
    with torch.no_grad(), decentralized.averaged_parameters():
        accuracy = (model(inputs).argmax(1) == labels).float().mean()
    steps = f"{decentralized.steps} steps on {accelerator.num_processes} processes"
    accelerator.print(f"accuracy of the average model {accuracy:.3f} after {steps}")


if __name__ == "__main__":
    main()
