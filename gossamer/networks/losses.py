"""Which messages are lost: a pure function of seed, round and link."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.networks.chance import stream_keys, uniform

BLOCK_ROUNDS = 32
"""Rounds drawn at once."""


@dataclass(frozen=True)
class Losses:
    """Coins of every link, for several seeds.

    In each round a link is redrawn with probability κ, and is then dead with probability p; else it
    stays what it was. That is the chain of Gilbert (1960) and Elliott (1963) with good rounds that
    lose nothing and bad ones that lose all: a share p of the rounds is bad, in bursts of
    1 / (κ (1 − p)) rounds on average. With κ = 1 all rounds are independent. Since the state of a
    link is the draw of its last refresh, no history is needed to tell it.

    Args:
        probability: p.
        refresh: κ.
        seeds: S of them.
        links: a number for each link, `(E,)`, the same whoever asks.
    """

    probability: float
    refresh: float
    seeds: Sequence[int]
    links: Tensor

    def __post_init__(self) -> None:
        object.__setattr__(self, "_held", (-1, None))

    def arrive(self, t: int) -> Tensor:
        """Whose messages of round t arrive, boolean `(S, E)`."""
        block, within = divmod(t, BLOCK_ROUNDS)
        held, rounds = self._held  # type: ignore[attr-defined]
        if held != block:
            rounds = self._draw(block, rounds[-1] if held == block - 1 >= 0 else None)
            object.__setattr__(self, "_held", (block, rounds))
        return rounds[within]

    def _draw(self, block: int, before: Tensor | None) -> Tensor:
        """A block of rounds, `(BLOCK_ROUNDS, S, E)`, after the state `before` if that is known."""
        alive = self._coins("dead", block) >= self.probability
        if self.refresh == 1:
            return alive
        last = self._last_refresh(block)
        before = self._state_before(block) if before is None else before
        return torch.where(last < 0, before, alive.gather(0, last.clamp(min=0)))

    def _state_before(self, block: int) -> Tensor:
        """What each link was at the end of the block before, back to its last refresh."""
        state = torch.zeros(len(self.seeds), len(self.links), dtype=torch.bool)
        unknown = torch.ones_like(state)
        while block > 0 and bool(unknown.any()):
            block -= 1
            last = self._last_refresh(block)[-1]
            alive = self._coins("dead", block).gather(0, last.clamp(min=0)[None])[0]
            state |= unknown & (last >= 0) & (alive >= self.probability)
            unknown &= last < 0
        return state

    def _last_refresh(self, block: int) -> Tensor:
        """For each round of a block the last one in it with a refresh, or −1 before the first."""
        drawn = self._coins("refresh", block) < self.refresh
        if block == 0:
            drawn[0] = True
        return torch.where(drawn, torch.arange(BLOCK_ROUNDS)[:, None, None], -1).cummax(0).values

    def _coins(self, purpose: str, block: int) -> Tensor:
        rounds = torch.arange(block * BLOCK_ROUNDS, (block + 1) * BLOCK_ROUNDS)[:, None, None]
        return uniform(stream_keys(purpose, self.seeds)[:, None], rounds, self.links)
