"""What is known when an exchange fails."""

import re
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import timedelta

import torch
import torch.distributed as dist

from gossamer.distributed.collectives import connects_on_use, met_in
from gossamer.distributed.hang_up import hanging_up

PROBE_TAG = 77
"""Of messages that nobody sends."""

MOMENT = timedelta(milliseconds=10)
CLOSED = re.compile(r"closed by peer|reset by peer|[Bb]roken pipe|refused")


class PeerFailure(RuntimeError):
    """Raised if a neighbour died or fell silent; the message names rank, failed links and step.

    Args:
        rank: the rank that noticed the failure.
        edges: the links that failed, as (sender, receiver); empty if a collective failed.
        step: the step in which the failure was noticed.
        reason: the cause of the failure, usually torch's message.
    """

    def __init__(self, rank: int, edges: Sequence[tuple[int, int]], step: int, reason: str) -> None:
        self.rank, self.edges, self.step, self.reason = rank, list(edges), step, reason
        links = ", ".join(f"{sender} → {receiver}" for sender, receiver in self.edges)
        where = f" on edge {links}" if links else ""
        super().__init__(
            f"rank {rank}, step {step}: exchange failed{where} ({reason}); a rank has died, "
            "fallen silent, taken fewer steps than the others (see `until_all_end`), or not made a "
            "call that all ranks must make, e.g. save()"
        )

    def numbered(self, numbers: Sequence[int]) -> "PeerFailure":
        """The same failure, with `numbers[r]` in place of every rank r.

        Ranks are renumbered when nodes are dropped. The argument `numbers` holds the original
        number of each rank.
        """
        edges = [(numbers[sender], numbers[receiver]) for sender, receiver in self.edges]
        return PeerFailure(numbers[self.rank], edges, self.step, self.reason)

    def silent(self, size: int) -> set[int]:
        """The ranks that were silent for too long; empty if the failure is not a timeout.

        They are the ranks at the other ends of `edges`, the failed links. If a collective timed
        out, there are no edges. Then all other ranks are returned, because any of them may have
        been silent.

        Args:
            size: the number of all ranks.

        >>> PeerFailure(1, [(2, 1)], 5, "Timed out waiting 3000ms for recv").silent(4)
        {2}
        >>> PeerFailure(1, [(2, 1)], 5, "Connection closed by peer").silent(4)
        set()
        """
        if "imed out" not in self.reason:
            return set()
        ends = {rank for edge in self.edges for rank in edge}
        return (ends or set(range(size))) - {self.rank}

    def __reduce__(self) -> tuple[type["PeerFailure"], tuple[object, ...]]:
        return type(self), (self.rank, self.edges, self.step, self.reason)


class Diverged(RuntimeError):
    """Raised on all ranks if a node's x is no longer finite; the message names node and step."""


def disconnect(group: dist.ProcessGroup | None, failure: BaseException) -> set[int]:
    """Close this rank's connections, so that all who wait for it fail now, not at their timeout.

    Returns the ranks that had closed theirs before. gloo closes all connections of a rank when a
    wait on one of them has timed out, and in any case when nobody refers to the group any more,
    which the frames of a failed exchange still do.
    """
    for error in (failure, failure.__context__):
        traceback.clear_frames(error.__traceback__ if error else None)
    if not dist.is_initialized():
        return set()
    left = group or dist.distributed_c10d._get_default_group()
    nccl = "nccl" in str(dist.get_backend_config(left))  # where ranks may wait for this
    with nullcontext() if nccl else hanging_up():
        closed = _closed_in(left)
        del left  # gloo closes its connections when nobody refers to the group any more
        dist.destroy_process_group(group)
    return closed


def _closed_in(group: dist.ProcessGroup) -> set[int]:
    """Who is found to have gone when asked for a message that nobody sends, for a moment."""
    closed: set[int] = set()
    if "gloo" not in str(dist.get_backend_config(group)):
        return closed
    everyone = set(range(dist.get_world_size(group))) - {dist.get_rank(group)}
    for peer in sorted(met_in(group) if connects_on_use() else everyone):
        try:
            nothing = torch.empty(1, dtype=torch.uint8)
            work = dist.irecv(nothing, group=group, group_src=peer, tag=PROBE_TAG)
            if work is not None:
                work.wait(MOMENT)
        except RuntimeError as reason:
            if CLOSED.search(str(reason)):
                closed.add(peer)
    return closed
