"""Coins that are a pure function: the number of given integers, whoever asks for it, and when."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from gossamer.seeding import SeedGroups, stream_seed

DIGITS = {torch.float64: 53, torch.float32: 24}
"""Random bits that a number in [0, 1) of each precision has room for."""

STRIDE = 0x9E3779B97F4A7C15 - 2**64
"""SplitMix64's stride, the golden ratio of 2⁶⁴, as the int64 with the same bits."""

MOST_SITES = 2**16
"""More than the quantities that any method mixes in a step."""

MOST_AHEAD = 32
"""Most steps whose coins a stack draws at once."""

MOST_HELD = 2**16
"""Most numbers that it draws at once, where that is more than one step."""


def uniform(*keys: Tensor | int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Numbers in [0, 1), one for each element of the integer `keys` broadcast together.

    They are the top bits of `hashed(*keys)`: the same on every device, alone and in a stack, in
    any order. A string becomes a key by `gossamer.seeding.stream_seed`.

    >>> uniform(7, torch.arange(3))
    tensor([0.9154, 0.3945, 0.3079], dtype=torch.float64)
    >>> uniform(7, 2)
    tensor(0.3079, dtype=torch.float64)
    """
    return _fraction(hashed(*keys), dtype)


def hashed(*keys: Tensor | int) -> Tensor:
    """64 random bits, as int64, for each element of the integer `keys` broadcast together.

    h ← finalizer(h + (key + 1)·stride), from h = 0, key by key: the numbers of the last key
    0, 1, … are SplitMix64 seeded with the hash of the keys before it.

    >>> hashed(0) == 0xE220A8397B1DCDAF - 2**64  # the first number of SplitMix64 from seed 0
    tensor(True)
    """
    state = torch.zeros((), dtype=torch.int64)
    for key in keys:
        state = _absorbed(state, key)
    return state


def stream_keys(purpose: str, seeds: Iterable[int]) -> Tensor:
    """A key for each seed, any integers, that streams of other purposes do not share; `(S,)`.

    >>> stream_keys("coins", [0, 2**64]).unique().numel()
    2
    """
    return torch.tensor([stream_seed(purpose, seed) for seed in seeds], dtype=torch.int64)


@dataclass(frozen=True, eq=False)
class Coins:
    """Random numbers (*coins*) of all nodes in a stack of runs, or of one node in one run.

    They are a function of the seed, the node, the step and the quantity that is mixed. Runs with
    the same seed have the same coins, which are drawn only once, `(nodes, distinct seeds, width)`;
    `deal` copies them to the runs, `(nodes, runs, width)`. For a single node, e.g. in a process of
    its own, a draw is `(width,)`, with bit for bit the numbers that the node gets in a stack.

    >>> stack, alone = Coins.of([5, 6, 5], torch.arange(4)), Coins.of(6, 3)
    >>> stack.at(9, 0).uniform(2).shape, stack.deal(stack.at(9, 0).uniform(2)).shape
    (torch.Size([4, 2, 2]), torch.Size([4, 3, 2]))
    >>> torch.equal(stack.at(9, 0).uniform(2)[3, 1], alone.at(9, 0).uniform(2))
    True

    Args:
        key: 64 random bits of each node and distinct seed, `(nodes, distinct seeds)`; `()` for a
            single node.
        moment: the step and the number of the quantity, combined in one integer.
        rows: for each node and run the index of its key in `key.flatten()`, `(nodes · runs,)`;
            None if all runs have different seeds.
        runs: number of runs.
        held: numbers that a stack has drawn ahead for later steps.
    """

    key: Tensor
    moment: int = 0
    rows: Tensor | None = None
    runs: int = 1
    held: dict[tuple[Any, ...], tuple[int, Tensor]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, seeds: int | Sequence[int], nodes: int | Tensor, purpose: str = "compression"
    ) -> "Coins":
        """The coins of these nodes in runs with these seeds, or of one node in one run.

        They are on the device of `nodes`; a single node on a GPU is given as a scalar tensor.
        Coins for different purposes are independent.
        """
        nodes = torch.as_tensor(nodes)
        if isinstance(seeds, int):
            return cls(hashed(stream_seed(purpose, seeds), nodes))
        groups = SeedGroups.of(seeds, nodes.device)
        key = hashed(stream_keys(purpose, groups.distinct).to(nodes.device), nodes[:, None])
        if len(groups.distinct) == len(seeds):
            return cls(key, 0, None, len(seeds))
        first = torch.arange(len(nodes), device=nodes.device)[:, None] * len(groups.distinct)
        return cls(key, 0, (first + groups.place).flatten(), len(seeds))

    def at(self, t: int, site: int) -> "Coins":
        """The coins for step `t` and the quantity number `site`, independent of all other coins."""
        return replace(self, moment=t * MOST_SITES + site)

    def uniform(self, width: int, dtype: torch.dtype = torch.float64) -> Tensor:
        """`width` numbers in [0, 1) for each node and distinct seed.

        They must not be changed in place. A stack draws the numbers of several steps together.
        """
        t, site = divmod(self.moment, MOST_SITES)
        room = MOST_HELD // (self.key.numel() * width) if self.key.ndim else 1
        ahead = max(1, min(MOST_AHEAD, room))
        first, name = t - t % ahead, (site, width, dtype)
        if self.held.get(name, (-1,))[0] != first:
            moments = MOST_SITES * torch.arange(first, first + ahead) + site
            self.held[name] = (first, self._draw(moments, width, dtype))
        return self.held[name][1][t - first]

    def numbers(self, t: int, site: int, width: int, dtype: torch.dtype) -> Tensor:
        """`width` numbers for each node and run, drawn for step `t` and the quantity `site`."""
        now = self.at(t, site)
        return now.deal(now.uniform(width, dtype))

    def _draw(self, moments: Tensor, width: int, dtype: torch.dtype) -> Tensor:
        """`(moments, nodes, distinct seeds, width)`."""
        device = self.key.device
        now = _absorbed(self.key, moments.view(-1, *[1] * self.key.ndim).to(device))
        return _fraction(_absorbed(now[..., None], torch.arange(width, device=device)), dtype)

    def deal(self, drawn: Tensor) -> Tensor:
        """Copies the numbers of each distinct seed to its runs: `(nodes, runs, width)`."""
        if self.rows is None:
            return drawn
        width = drawn.shape[-1]
        return drawn.reshape(-1, width).index_select(0, self.rows).view(-1, self.runs, width)


def _absorbed(state: Tensor, key: Tensor | int) -> Tensor:
    """The hash of all keys so far and of this one."""
    if isinstance(key, Tensor):
        return _finalized(state + (key.to(torch.int64) + 1) * STRIDE)
    wrapped = ((key + 1) * STRIDE + 2**63) % 2**64 - 2**63
    return _finalized(state + wrapped)


def _finalized(bits: Tensor) -> Tensor:
    """SplitMix64's finalizer, a bijection of 64 bits; int64 products wrap as they should."""
    bits = (bits ^ _shifted(bits, 30)) * (0xBF58476D1CE4E5B9 - 2**64)
    bits = (bits ^ _shifted(bits, 27)) * (0x94D049BB133111EB - 2**64)
    return bits ^ _shifted(bits, 31)


def _shifted(bits: Tensor, places: int) -> Tensor:
    """Bits moved to the right; int64 repeats the sign, so what comes in is cleared."""
    return (bits >> places) & (2 ** (64 - places) - 1)


def _fraction(bits: Tensor, dtype: torch.dtype) -> Tensor:
    """The top bits as a number in [0, 1)."""
    digits = DIGITS[dtype]
    return _shifted(bits, 64 - digits).to(dtype) * 2.0**-digits
