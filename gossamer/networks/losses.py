"""Which messages are lost: a pure function of seed, round and link."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.networks.chance import uniform
from gossamer.seeding import stream_seed

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
        object.__setattr__(self, "_blocks", {})

    def arrive(self, t: int) -> Tensor:
        """Whose messages of round t arrive, boolean `(S, E)`."""
        block, within = divmod(t, BLOCK_ROUNDS)
        blocks: dict[int, Tensor] = self._blocks  # type: ignore[attr-defined]
        if block not in blocks:
            drawn = self._draw(block)
            blocks.clear()
            blocks[block] = drawn
        return blocks[block][within]

    def _draw(self, block: int) -> Tensor:
        """A block of rounds, `(BLOCK_ROUNDS, S, E)`."""
        alive = self._coins("dead", block) >= self.probability
        if self.refresh == 1:
            return alive
        drawn = self._coins("refresh", block) < self.refresh
        if block == 0:
            drawn[0] = True
        last = torch.where(drawn, torch.arange(BLOCK_ROUNDS)[:, None, None], -1).cummax(0).values
        alive = alive.gather(0, last.clamp(min=0))
        if bool((last[0] < 0).any()):  # some links are what they were before
            alive = torch.where(last < 0, self._draw(block - 1)[-1], alive)
        return alive

    def _coins(self, purpose: str, block: int) -> Tensor:
        rounds = torch.arange(block * BLOCK_ROUNDS, (block + 1) * BLOCK_ROUNDS)[:, None, None]
        seeds = torch.tensor(list(self.seeds), dtype=torch.int64)[:, None]
        return uniform(stream_seed(purpose), seeds, rounds, self.links)
