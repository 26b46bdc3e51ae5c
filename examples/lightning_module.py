"""Train a LightningModule. Each process has its own copy and talks only to its neighbours.

    pip install '.[integrations]'
    python examples/lightning_module.py     # or torchrun --nproc-per-node 4 examples/…

Lightning's own strategies average the gradients over all processes. `DecentralizedStrategy` does
not, so that nodes talk only to their neighbours. The script prints the accuracy of the average
model (about 25 s on 2 cores).
"""

import lightning
import torch
from lightning.pytorch.strategies import DDPStrategy
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import gossamer as gs


class DecentralizedStrategy(DDPStrategy):
    """Starts processes as DDP does, but does not average gradients."""

    def configure_ddp(self) -> None:
        """Leave the model as it is."""


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 4))

    def training_step(self, batch: list[Tensor]) -> Tensor:
        return nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        method = gs.GTNSGDm(lr=0.1, momentum=0.8)
        return gs.DecentralizedOptimizer(self.parameters(), method, network=gs.ring)


def clouds(count: int, seed: int) -> TensorDataset:
    """Four Gaussian clouds in the plane."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(4, (count,), generator=generator)
    centers = torch.tensor([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0], [0.0, -2.0]])
    return TensorDataset(centers[labels] + 0.5 * torch.randn(count, 2, generator=generator), labels)


def main() -> None:
    model = Classifier()
    trainer = lightning.Trainer(
        strategy=DecentralizedStrategy(), accelerator="cpu", devices=4, max_epochs=4,
        logger=False, enable_checkpointing=False, enable_progress_bar=False,
    )  # fmt: skip
    trainer.fit(model, DataLoader(clouds(2048, seed=0), batch_size=16))  # each rank loads its share
    optimizer = model.optimizers(use_pl_optimizer=False)
    inputs, labels = clouds(512, seed=1).tensors
    with torch.no_grad(), optimizer.averaged_parameters():
        accuracy = (model.layers(inputs).argmax(1) == labels).float().mean()
    if trainer.is_global_zero:
        steps = f"{optimizer.steps} steps on {trainer.world_size} processes"
        print(f"accuracy of the average model {accuracy:.3f} after {steps}")


if __name__ == "__main__":
    main()
