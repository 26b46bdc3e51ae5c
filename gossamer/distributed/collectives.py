"""What the processes of a group do together; None is the group of a process on its own."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def rank_in(group: dist.ProcessGroup | None) -> int:
    """Which of the group's processes this one is; −1 if it is none of them."""
    return dist.get_rank(group) if group else 0


def size_of(group: dist.ProcessGroup | None) -> int:
    """How many processes there are."""
    return dist.get_world_size(group) if group else 1


def gather(value: Any, group: dist.ProcessGroup | None) -> list[Any]:
    """`value` of every rank, by rank; a collective."""
    if group is None:
        return [value]
    values = [None] * dist.get_world_size(group)
    dist.all_gather_object(values, value, group)
    return values


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
