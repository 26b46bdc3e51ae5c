"""On every rank: Lightning's trainer takes the very steps of a loop written by hand."""

import lightning
import torch
from lightning_module import Classifier, DecentralizedStrategy, clouds
from torch import distributed as dist
from torch.utils.data import DataLoader


def by_hand(model: Classifier, loader: DataLoader) -> torch.Tensor:
    optimizer = model.configure_optimizers()
    for batch in loader:
        optimizer.zero_grad()
        model.training_step(batch).backward()
        optimizer.step()
    return optimizer.x


def main() -> None:
    torch.manual_seed(0)
    model, same, data = Classifier(), Classifier(), clouds(256, seed=0)
    trainer = lightning.Trainer(
        strategy=DecentralizedStrategy(), accelerator="cpu", devices=4, max_epochs=1,
        logger=False, enable_checkpointing=False, enable_progress_bar=False,
    )  # fmt: skip
    same.load_state_dict(model.state_dict())
    trainer.fit(model, DataLoader(data, batch_size=16))

    expected = by_hand(same, trainer.train_dataloader)
    optimizer = model.optimizers(use_pl_optimizer=False)
    assert torch.equal(optimizer.x, expected)
    assert optimizer.consensus_error() > 1e-3  # DDP would have kept the ranks equal
    print(f"rank {dist.get_rank()} agrees after {optimizer.steps} steps", flush=True)


if __name__ == "__main__":
    main()
