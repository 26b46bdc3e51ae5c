"""Train a small GPT on the characters of a text file. Each process has its own part of the text.

    pip install .
    torchrun --nproc-per-node 4 examples/gpt.py README.md

The script prints the loss of the average model on the last tenth of the text (nats per character).
"""

import sys
from pathlib import Path

import torch
from torch import nn

import gossamer as gs
from gossamer.distributed import DecentralizedOptimizer, MinibatchSampler, join
from gossamer.models import GPT

STEPS, CONTEXT = 100, 32


def windows(text: str) -> tuple[torch.Tensor, int]:
    """Overlapping windows of CONTEXT + 1 characters, and the number of different characters."""
    alphabet = sorted(set(text))
    tokens = torch.tensor([alphabet.index(character) for character in text])
    return tokens.unfold(0, CONTEXT + 1, CONTEXT // 4), len(alphabet)


def loss_of(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    logits = model(batch[:, :-1])
    return nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rank = join()
    data, vocabulary = windows(Path(sys.argv[1]).read_text())
    cut = len(data) * 9 // 10
    model = GPT(vocabulary, CONTEXT, width=32, heads=2, layers=1)
    method = gs.GTNSGDm(lr=0.1, momentum=0.8)
    optimizer = DecentralizedOptimizer(model.parameters(), method, network=gs.exponential)
    sampler = MinibatchSampler(cut, 8, num_nodes=optimizer.network.num_nodes, node=rank)

    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        loss_of(model, data[next(sampler)]).backward()
        optimizer.step()
        if step % 25 == 0:
            with torch.no_grad(), optimizer.averaged_parameters():
                loss = loss_of(model, data[cut:])
            if rank == 0:
                print(f"step {step}: {loss:.3f} nats per character", flush=True)


if __name__ == "__main__":
    main()
