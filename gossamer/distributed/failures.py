"""What is known when an exchange fails."""

import gc
import traceback
from collections.abc import Sequence

import torch.distributed as dist


class PeerFailure(RuntimeError):
    """A neighbour died or fell silent: the message names this rank, the edges and the step."""

    def __init__(self, rank: int, edges: Sequence[tuple[int, int]], step: int, reason: str) -> None:
        self.rank, self.edges, self.step, self.reason = rank, list(edges), step, reason
        links = ", ".join(f"{sender} → {receiver}" for sender, receiver in self.edges)
        where = f" on edge {links}" if links else ""
        super().__init__(f"rank {rank}, step {step}: exchange failed{where} ({reason})")

    def numbered(self, numbers: Sequence[int]) -> "PeerFailure":
        """The same, with the number that each rank had when the run began."""
        edges = [(numbers[sender], numbers[receiver]) for sender, receiver in self.edges]
        return PeerFailure(numbers[self.rank], edges, self.step, self.reason)

    def __reduce__(self) -> tuple[type["PeerFailure"], tuple[object, ...]]:
        return type(self), (self.rank, self.edges, self.step, self.reason)


class Diverged(RuntimeError):
    """Some node's x is no longer finite: the message names the first one, and its step."""


def disconnect(group: dist.ProcessGroup | None, failure: BaseException) -> None:
    """Close this rank's connections, so that all who wait for it fail now, not at their timeout.

    gloo closes them when nobody refers to the group any more, and the frames of a failed exchange
    still do.
    """
    for error in (failure, failure.__context__):
        traceback.clear_frames(error.__traceback__ if error else None)
    dist.destroy_process_group(group)
    del group
    gc.collect()
