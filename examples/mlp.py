"""Train an MLP on scikit-learn's handwritten digits. Each process has its own share of them.

    pip install . scikit-learn
    torchrun --nproc-per-node 4 examples/mlp.py

Rank 0 prints "accuracy of the average model 0.9…" (about 10 s on 2 cores).
"""

import torch
from sklearn.datasets import load_digits
from torch import nn

import gossamer as gs
from gossamer.distributed import Checkpoints, DecentralizedOptimizer, MinibatchSampler, join

STEPS = 100


def main() -> None:
    rank = join()  # the number of this process
    images, labels = load_digits(return_X_y=True)
    inputs, targets = torch.tensor(images / 16).float(), torch.tensor(labels)
    train, test = slice(0, 1500), slice(1500, None)

    torch.manual_seed(0)  # the same initial weights in every run
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = DecentralizedOptimizer(
        model.named_parameters(), gs.GTNSGDm(lr=0.5, momentum=0.8), network=gs.ring
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS, eta_min=0.005)
    sampler = MinibatchSampler(1500, 32, num_nodes=optimizer.network.num_nodes, node=rank)
    extras = {"scheduler": scheduler, "sampler": sampler}
    checkpoints = Checkpoints("runs/mlp", optimizer, model, **extras)
    checkpoints.resume()

    while optimizer.steps < STEPS:
        chosen = next(sampler)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs[train][chosen]), targets[train][chosen]).backward()
        optimizer.step()  # talks to the neighbours
        scheduler.step()
        if optimizer.steps % 50 == 0:
            checkpoints.save()

    disagreement = optimizer.consensus_error()
    with torch.no_grad(), optimizer.averaged_parameters():
        accuracy = (model(inputs[test]).argmax(1) == targets[test]).float().mean()
    if rank == 0:
        print(f"accuracy of the average model {accuracy:.3f}, nodes disagree by {disagreement:.2g}")


if __name__ == "__main__":
    main()
