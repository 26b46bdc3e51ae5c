"""What the processes of a group do together; None is the group of a process on its own."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch import Tensor

from gossamer.errors import InvalidInput, first_line, require

LONGEST = 1 << 24
"""Bytes that a rank may say in one `gather`: some kilobytes are usual."""


class Interrupted(RuntimeError):
    """What was done together did not come to its end: some rank is gone, or silent."""


def rank_in(group: dist.ProcessGroup | None) -> int:
    """Which of the group's processes this one is; −1 if it is none of them."""
    return dist.get_rank(group) if group else 0


def size_of(group: dist.ProcessGroup | None) -> int:
    """How many processes there are."""
    return dist.get_world_size(group) if group else 1


def gather(value: Any, group: dist.ProcessGroup | None, timeout: float | None = None) -> list[Any]:
    """`value` of every rank, by rank, as JSON knows it; a collective.

    What a peer sends is read as JSON, never unpickled: a pickle can run code.

    >>> gather({"step": 3}, group=None)
    [{'step': 3}]
    """
    text = json.dumps(value).encode()
    texts = gather_bytes(text, group, timeout) if group else [text]
    return [read_json(each, rank) for rank, each in enumerate(texts)]


def read_json(text: bytes, rank: int) -> Any:
    """What a rank said; refused if it is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        way_out = "start the same version of Gossamer, and nobody else, on all ranks"
        problem = f"rank {rank}: sent {text[:20]!r}…, which is no JSON; {way_out}"
        raise InvalidInput(problem) from None


def gather_bytes(
    text: bytes, group: dist.ProcessGroup, timeout: float | None = None
) -> list[bytes]:
    """The bytes of every rank, by rank: first how many, then all, filled up to the longest."""
    device = device_of(group)
    lengths = all_of(torch.tensor([len(text)], device=device), group, timeout)
    longest = int(max(lengths))
    fits = longest <= LONGEST and int(min(lengths)) >= 0
    require(fits, "message", f"{longest} bytes from a rank", f"at most {LONGEST}")
    padded = torch.tensor(list(text.ljust(longest)), dtype=torch.uint8, device=device)
    whole = [bytes(each.tolist()) for each in all_of(padded, group, timeout)]
    return [each[: int(length)] for each, length in zip(whole, lengths, strict=True)]


def all_of(mine: Tensor, group: dist.ProcessGroup, timeout: float | None = None) -> list[Tensor]:
    """What every rank holds, of the same shape on all, by rank; a collective."""
    theirs = [torch.zeros_like(mine) for _ in range(dist.get_world_size(group))]
    _finish(lambda: dist.all_gather(theirs, mine, group, async_op=True), timeout)
    return theirs


def device_of(group: dist.ProcessGroup) -> torch.device:
    """Where tensors must be that go through the group: on the CPU if gloo takes part."""
    gloo = "gloo" in str(dist.get_backend_config(group))
    return torch.device("cpu" if gloo else "cuda")


def total(tensor: Tensor, group: dist.ProcessGroup | None, timeout: float | None = None) -> Tensor:
    """Σ over the ranks, in place; a collective."""
    if group is not None:
        _finish(lambda: dist.all_reduce(tensor, group=group, async_op=True), timeout)
    return tensor


@dataclass(frozen=True)
class ByTorch:
    """What all ranks do together by torch's own collectives, over connections of its choice."""

    group: dist.ProcessGroup | None
    timeout: float

    def gather(self, value: Any) -> list[Any]:
        """`value` of every rank, by rank, as JSON knows it."""
        return gather(value, self.group, self.timeout)

    def total(self, tensor: Tensor) -> Tensor:
        """Σ over the ranks, in place."""
        return total(tensor, self.group, self.timeout)


@torch.no_grad()
def values_of(holder: bool, tensor: Tensor, total: Callable[[Tensor], Tensor]) -> Tensor:
    """The values that `tensor` has on the one rank that is the holder, as `(numbers,)`.

    `total` is a sum over the ranks: that of the holder's bytes and of zeros.

    >>> values_of(True, torch.tensor([[1.0, 2.0]]), total=lambda z: z)
    tensor([1., 2.])
    """
    values = tensor.detach().clone(memory_format=torch.contiguous_format).view(-1)
    content = values.view(torch.uint8)
    total(content if holder else content.zero_())
    return values


def connects_on_use() -> bool:
    """Whether gloo connects two ranks when they first talk, or else all from the start."""
    return os.environ.get("TORCH_GLOO_LAZY_INIT", "0") not in ("0", "")


_met: WeakKeyDictionary[dist.ProcessGroup, set[int]] = WeakKeyDictionary()


def met_in(group: dist.ProcessGroup) -> set[int]:
    """The ranks from which this one has had a message, so that they are surely connected."""
    return _met.setdefault(group, set())


def _finish(begin: Callable[[], Any], timeout: float | None) -> None:
    """Wait for a collective, at most `timeout` seconds, or as long as its group is willing to."""
    try:
        work = begin()
        work.wait() if timeout is None else work.wait(timedelta(seconds=timeout))
    except RuntimeError as reason:
        raise Interrupted(first_line(reason)) from None
