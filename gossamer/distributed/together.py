"""Collectives that come to the same end on all ranks, however many of them die on the way."""

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from gossamer.distributed.collectives import Interrupted
from gossamer.distributed.survivors import Word


class Together:
    """What the ranks of one run do together, counted, so that they know who has done what.

    When one rank has come to the end of a collective, all have begun it. So after a death some may
    hold its result while others wait for it in vain, and nobody is further behind: those who hold
    it hand it over. If nobody holds it, it is done again, by those who are left.

    Args:
        recover: is told why a collective failed, and goes on without the dead or raises.
        keeps: whether to keep the last result for others; not where a failure ends the run.

    >>> together = Together(recover=print, keeps=False)
    >>> together.do(lambda: torch.tensor([1.5]), torch.float32), together.acts
    (tensor([1.5000]), 1)
    """

    def __init__(self, recover: Callable[[str], None], keeps: bool) -> None:
        self._recover, self._keeps = recover, keeps
        self.acts = 0
        self._result = torch.empty(0)

    def do(self, act: Callable[[], Tensor], dtype: torch.dtype) -> Tensor:
        """What the collective `act` returns, a vector of this dtype, the same on all ranks."""
        taken = self.acts
        while self.acts == taken:
            try:
                self._end(act())
            except Interrupted as reason:
                self._recover(str(reason))
        result = self._result.view(dtype)
        if self._keeps:
            return result.clone()
        self._result = torch.empty(0)
        return result

    def hand_over(
        self,
        words: Mapping[int, Word],
        values_of: Callable[[int, Tensor], Tensor],
        device: torch.device,
    ) -> None:
        """Give the last result to those who lack it; a collective of all who said `words`.

        `values_of` tells all what a tensor holds on one rank.
        """
        most = max(word["acts"] for word in words.values())
        holders = [rank for rank, word in words.items() if word["acts"] == most]
        if len(holders) == len(words):
            return
        told = partial(values_of, min(holders))
        holds = self.acts == most
        content = self._result.cpu().contiguous() if holds else torch.empty(0)
        try:
            length = int(told(torch.tensor([content.nbytes])))
            empty = torch.zeros(length, dtype=torch.uint8)
            result = told(content.view(torch.uint8) if holds else empty)
        except Interrupted as reason:
            self._recover(str(reason))
        else:
            if not holds:
                self._end(result.to(device))

    def _end(self, result: Tensor) -> None:
        self.acts, self._result = self.acts + 1, result
