"""On every rank: the Trainer takes the very steps of a loop written by hand."""

import torch
from hf_trainer import DecentralizedTrainer, sentences
from torch.nn.parallel import DistributedDataParallel
from transformers import GPT2Config, GPT2LMHeadModel, TrainingArguments

import gossamer as gs
from gossamer.distributed import join


def make() -> tuple[torch.nn.Module, gs.DecentralizedOptimizer]:
    torch.manual_seed(0)
    sizes = {"vocab_size": 16, "n_positions": 12, "n_embd": 16, "n_layer": 1, "n_head": 2}
    dropout = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    model = GPT2LMHeadModel(GPT2Config(**sizes, **dropout, bos_token_id=0, eos_token_id=0))
    method = gs.GTNSGDm(lr=0.1, momentum=0.8)
    return model, gs.DecentralizedOptimizer(model.parameters(), method, gs.ring)


def by_hand(loader) -> torch.Tensor:
    model, optimizer = make()
    for batch in loader:
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    return optimizer.x


def main() -> None:
    rank = join()
    arguments = TrainingArguments(
        "runs/hf", num_train_epochs=1, per_device_train_batch_size=8, use_cpu=True, seed=0,
        max_grad_norm=0.0, lr_scheduler_type="constant", report_to="none", disable_tqdm=True,
    )  # fmt: skip
    model, optimizer = make()
    data = sentences(256, seed=0)
    trainer = DecentralizedTrainer(
        model, arguments, train_dataset=data, optimizers=(optimizer, None)
    )
    trainer.train()
    assert not isinstance(trainer.model_wrapped, DistributedDataParallel)

    torch.manual_seed(0)
    expected = by_hand(trainer.get_train_dataloader())
    torch.testing.assert_close(optimizer.x, expected, rtol=0, atol=1e-5)
    assert optimizer.consensus_error() > 1e-3  # DDP would have kept the ranks equal
    print(f"rank {rank} agrees after {optimizer.steps} steps", flush=True)


if __name__ == "__main__":
    main()
