"""Measure during training how heavy-tailed the gradient noise of a model is.

    python examples/diagnose_noise.py

The labels contain noise of infinite variance. The script prints the diagnosis and writes
diagnose_noise.png (about 10 s on 2 cores).
"""

import torch
from torch import nn

import gossamer as gs
from gossamer.tails import NoiseProbe, plot

STEPS = 400


def batches(count: int, seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Batches of 8 for y = Σ x + noise; the noise is Student-t with 1.5 degrees of freedom."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(8 * count, 8, generator=generator)
    outliers = gs.StudentT(df=1.5).sample((8 * count, 1), generator=generator).float()
    return list(
        zip(inputs.split(8), (inputs.sum(1, keepdim=True) + outliers).split(8), strict=True)
    )


def loss(model: nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    return nn.functional.mse_loss(model(batch[0]), batch[1])


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = gs.DecentralizedOptimizer(  # a single node; use torchrun for more
        model.parameters(), gs.GTNSGDm(lr=0.01, momentum=0.9), network=gs.ring
    )
    train = batches(STEPS, seed=0)
    probe = NoiseProbe(model, loss, batches(20_000, seed=1), samples=2500, every=STEPS // 4)
    for step, batch in enumerate(train):
        optimizer.zero_grad()
        loss(model, batch).backward()
        optimizer.step()
        probe(step)  # does not change the training

    diagnosis = probe.diagnose()
    print(diagnosis)
    plot(diagnosis).savefig("diagnose_noise.png")


if __name__ == "__main__":
    main()
