"""The processes that are one node."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from gossamer.distributed.collectives import (
    all_of,
    device_of,
    gather,
    gather_bytes,
    rank_in,
    size_of,
)


class Crew:
    """The processes of one node, who act as one: what one of them decides, all decide.

    What they gather, all reduce in the same order, so that they have the same bits.

    Args:
        group: their process group; None for a node of one process, who talks to nobody.
        timeout: seconds that one of them may be silent.

    >>> alone = Crew()
    >>> alone.size, alone.position, alone.agree(False), alone.norm(torch.tensor([3.0, 4.0]))
    (1, 0, False, tensor(5.))
    """

    def __init__(self, group: dist.ProcessGroup | None = None, timeout: float = 60.0) -> None:
        self.group, self._timeout = group, timeout
        self.size, self.position = size_of(group), rank_in(group)

    def each(self, z: Tensor) -> list[Tensor]:
        """What every process holds where this one holds `z`, of the same shape; a collective."""
        if self.group is None:
            return [z]
        content = z.contiguous().view(-1).view(torch.uint8)  # of any precision
        found = all_of(content, self.group, self._timeout)
        return [each.view(z.dtype).view(z.shape) for each in found]

    def each_of(self, z: Tensor, widths: list[int]) -> list[Tensor]:
        """Likewise, where process j has `widths[j]` numbers along the last axis."""
        filled = torch.nn.functional.pad(z, (0, max(widths) - z.shape[-1]))
        return [part[..., :width] for part, width in zip(self.each(filled), widths, strict=True)]

    def gather(self, value: Any) -> list[Any]:
        """What every process says, as JSON knows it; a collective."""
        return gather(value, self.group, self._timeout)

    def gather_bytes(self, text: bytes) -> list[bytes]:
        """The bytes of every process; a collective."""
        return gather_bytes(text, self.group, self._timeout) if self.group else [text]

    def agree(self, said: bool) -> bool:
        """Whether all of them say so; a collective."""
        if self.group is None:
            return said
        vote = torch.tensor([said], device=device_of(self.group))
        return bool(torch.cat(self.each(vote)).all())

    def norm(self, z: Tensor) -> Tensor:
        """‖z‖ of a vector of which each process holds a part; a collective."""
        return torch.linalg.vector_norm(torch.stack(self.each(torch.linalg.vector_norm(z))))
