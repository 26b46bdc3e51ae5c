"""What the processes of a group do together; None is the group of a process on its own."""

import json
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from gossamer.errors import InvalidInput, require

LONGEST = 1 << 24
"""Bytes that a rank may say in one `gather`: some kilobytes are usual."""


def rank_in(group: dist.ProcessGroup | None) -> int:
    """Which of the group's processes this one is; −1 if it is none of them."""
    return dist.get_rank(group) if group else 0


def size_of(group: dist.ProcessGroup | None) -> int:
    """How many processes there are."""
    return dist.get_world_size(group) if group else 1


def gather(value: Any, group: dist.ProcessGroup | None) -> list[Any]:
    """`value` of every rank, by rank, as JSON knows it; a collective.

    What a peer sends is read as JSON, never unpickled: a pickle can run code.

    >>> gather({"step": 3}, group=None)
    [{'step': 3}]
    """
    text = json.dumps(value).encode()
    texts = gather_bytes(text, group) if group else [text]
    return [_read(each, rank) for rank, each in enumerate(texts)]


def _read(text: bytes, rank: int) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        way_out = "start the same version of Gossamer, and nobody else, on all ranks"
        problem = f"rank {rank}: sent {text[:20]!r}…, which is no JSON; {way_out}"
        raise InvalidInput(problem) from None


def gather_bytes(text: bytes, group: dist.ProcessGroup) -> list[bytes]:
    """The bytes of every rank, by rank: first how many, then all, filled up to the longest."""
    size, device = dist.get_world_size(group), device_of(group)
    lengths = list(torch.zeros(size, 1, dtype=torch.int64, device=device))
    dist.all_gather(lengths, torch.tensor([len(text)], device=device), group)
    longest = int(max(lengths))
    fits = longest <= LONGEST and int(min(lengths)) >= 0
    require(fits, "message", f"{longest} bytes from a rank", f"at most {LONGEST}")
    padded = torch.tensor(list(text.ljust(longest)), dtype=torch.uint8, device=device)
    texts = list(torch.zeros(size, longest, dtype=torch.uint8, device=device))
    dist.all_gather(texts, padded, group)
    whole = [bytes(each.tolist()) for each in texts]
    return [each[: int(length)] for each, length in zip(whole, lengths, strict=True)]


def device_of(group: dist.ProcessGroup) -> torch.device:
    """Where tensors must be that go through the group: on the CPU if gloo takes part."""
    gloo = "gloo" in str(dist.get_backend_config(group))
    return torch.device("cpu" if gloo else "cuda")


def total(tensor: Tensor, group: dist.ProcessGroup | None) -> Tensor:
    """Σ over the ranks, in place; a collective."""
    if group is not None:
        dist.all_reduce(tensor, group=group)
    return tensor


@torch.no_grad()
def take_from_rank_0(tensors: Sequence[Tensor], group: dist.ProcessGroup | None) -> None:
    """Give `tensors` the values they have on rank 0; a collective.

    The sum of rank 0's bytes and of zeros: gloo sums along a ring, while a broadcast of its own
    would connect ranks that may be no neighbours.
    """
    if group is None:
        return
    for tensor in tensors:
        values = tensor.detach().clone(memory_format=torch.contiguous_format)
        content = values.view(-1).view(torch.uint8)
        total(content if rank_in(group) == 0 else content.zero_(), group)
        tensor.copy_(values)
