"""Train a Hugging Face model with `transformers.Trainer`. Each process has its own copy and data.

    pip install '.[integrations]'
    torchrun --nproc-per-node 4 examples/hf_trainer.py

The Trainer wraps models in DDP, which would average the gradients over all processes.
`DecentralizedTrainer` does without DDP, so that nodes talk only to their neighbours. The script
prints the loss of the average model, before and after training (about 25 s on 2 cores).
"""

from functools import partial

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

import gossamer as gs
from gossamer.distributed import join


class DecentralizedTrainer(Trainer):
    """Every process keeps its own model; the average of all models is evaluated and saved."""

    def create_accelerator_and_postprocess(self):
        super().create_accelerator_and_postprocess()
        prepare = self.accelerator.prepare_model
        without_ddp = partial(prepare, evaluation_mode=True)
        self.accelerator.prepare_model = without_ddp

    def averaged_parameters(self):
        optimizer = getattr(self.optimizer, "optimizer", self.optimizer)  # train() wraps it
        return optimizer.averaged_parameters()

    def evaluate(self, *args, **kwargs):
        with self.averaged_parameters():
            return super().evaluate(*args, **kwargs)

    def save_model(self, *args, **kwargs):
        with self.averaged_parameters():
            super().save_model(*args, **kwargs)


def sentences(count: int, seed: int) -> list[dict[str, torch.Tensor]]:
    """Sequences that count upwards modulo 16 from a random start."""
    start = torch.randint(16, (count, 1), generator=torch.Generator().manual_seed(seed))
    tokens = (start + torch.arange(12)) % 16
    return [{"input_ids": row, "labels": row} for row in tokens]


def main() -> None:
    join()
    sizes = {"vocab_size": 16, "n_positions": 12, "n_embd": 32, "n_layer": 1, "n_head": 2}
    model = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
    method = gs.GTNSGDm(lr=0.2, momentum=0.8)
    optimizer = gs.DecentralizedOptimizer(model.parameters(), method, network=gs.ring)
    arguments = TrainingArguments(
        "runs/hf", max_steps=100, per_device_train_batch_size=8, use_cpu=True,
        max_grad_norm=0.0, lr_scheduler_type="cosine", report_to="none", disable_tqdm=True,
    )  # fmt: skip
    data, held_out = sentences(512, seed=0), sentences(64, seed=1)
    trainer = DecentralizedTrainer(
        model, arguments, train_dataset=data, eval_dataset=held_out, optimizers=(optimizer, None)
    )
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    after = trainer.evaluate()["eval_loss"]
    if optimizer.rank == 0:
        print(f"loss of the average model {before:.3f} → {after:.3f} after {optimizer.steps} steps")


if __name__ == "__main__":
    main()
