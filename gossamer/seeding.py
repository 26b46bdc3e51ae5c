"""Independent random streams: one seed and a purpose name one stream, whoever asks for it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

COLUMNS = 96
"""Products of many columns are given a multiple of this, filled up with zeros.

Libraries treat the last few columns in another way, and add up in another order.
"""


def stream_seed(purpose: str, *ids: int) -> int:
    """A 63-bit seed for the stream `purpose` of the integers `ids`.

    Streams of different purposes share nothing even when their ids agree, so the noise of seed 0
    and the data of seed 0 are independent. On a CPU torch's generator reads the low 32 bits only:
    two of k streams coincide with a probability of about k²/2³³, one in a million for k = 100.

    >>> stream_seed("noise", 0) == stream_seed("noise", 0)
    True
    >>> stream_seed("noise", 0) == stream_seed("data", 0)
    False
    """
    key = ":".join([purpose, *map(str, ids)])
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big") >> 1


def stream(purpose: str, *ids: int, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator on `device` at the start of the stream `purpose` of `ids`."""
    generator = torch.Generator(device=device)
    generator.manual_seed(stream_seed(purpose, *ids))
    return generator


@dataclass(frozen=True)
class SeedGroups:
    """Runs by their seed: what is drawn once per distinct seed is dealt out to all its runs.

    Attributes:
        distinct: the seeds that are drawn for, each once.
        place: which of them each run has, `(runs,)`.
        in_turn: whether the runs take the seeds in turn, so that no run has to be looked up.

    >>> groups = SeedGroups.of([7, 9, 7, 9])
    >>> groups.distinct, groups.place.tolist(), groups.in_turn
    ([7, 9], [0, 1, 0, 1], True)
    """

    distinct: list[int]
    place: Tensor
    in_turn: bool

    @classmethod
    def of(
        cls,
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
        among: Sequence[int] | None = None,
    ) -> "SeedGroups":
        """Of runs with these seeds; `among` are those that are drawn for, if more than these."""
        places = {seed: k for k, seed in enumerate(dict.fromkeys(among or seeds))}
        place = torch.tensor([places[seed] for seed in seeds], dtype=torch.int64)
        in_turn = torch.equal(place, torch.arange(len(seeds)) % max(1, len(places)))
        whole_turns = len(seeds) % max(1, len(places)) == 0
        return cls(list(places), place.to(device), in_turn and whole_turns)

    def align(self, z: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor]:
        """Both in shapes that broadcast, what was drawn for a seed beside each of its runs.

        Args:
            z: `(rows, runs, dim)`; the result of what is done with the two is viewed as this.
            drawn: `(rows, seeds, dim or 1)`.
        """
        if not self.in_turn:
            return z, drawn.index_select(1, self.place)
        rows, runs, dim = z.shape
        seeds = len(self.distinct)
        as_they_are = seeds in (1, runs)
        return (
            (z, drawn) if as_they_are else (z.view(rows, runs // seeds, seeds, dim), drawn[:, None])
        )

    def scale(self, z: Tensor, factors: Tensor) -> Tensor:
        """z, `(rows, runs, dim)`, times the factor of its row and seed, `(rows, seeds)`."""
        aligned, beside = self.align(z, factors[:, :, None])
        return (aligned * beside).view(z.shape)

    def product(self, matrices: Tensor | Sequence[Tensor], z: Tensor) -> Tensor:
        """M z over the leading axis of `(nodes, runs, dim)`, M that of the run's seed.

        Args:
            matrices: `(seeds, nodes, nodes)`, or a sparse one for every seed.
            z: `(nodes, runs, dim)`.
        """
        nodes, _, dim = z.shape
        if len(self.distinct) == 1:
            return torch.mm(matrices[0], z.reshape(nodes, -1)).view_as(z)
        seeds, per_seed = self._runs_of_seeds.shape
        columns = per_seed * dim
        by_seed = z.new_zeros(seeds, nodes, columns + -columns % COLUMNS)
        beside = by_seed[..., :columns].unflatten(-1, (per_seed, dim))  # (seeds, nodes, ·, dim)
        if self.in_turn:
            beside.copy_(z.view(nodes, per_seed, seeds, dim).permute(2, 0, 1, 3))
        else:
            beside.copy_(z[:, self._runs_of_seeds].transpose(0, 1))
        mixed = _products(matrices, by_seed)[..., :columns].unflatten(-1, (per_seed, dim))
        if self.in_turn:
            return mixed.permute(1, 2, 0, 3).reshape(z.shape)
        return mixed.transpose(0, 1).flatten(1, 2)[:, self._place_by_seed]

    @cached_property
    def _runs_of_seeds(self) -> Tensor:
        """The runs of each seed, `(seeds, most)`; where there are fewer, run 0 fills up."""
        place, seeds = self.place.cpu(), len(self.distinct)
        runs = [(place == k).nonzero().flatten() for k in range(seeds)]
        return pad_sequence(runs, batch_first=True).to(self.place.device)

    @cached_property
    def _place_by_seed(self) -> Tensor:
        """Where each run is in the flat `_runs_of_seeds`, `(runs,)`."""
        order = self.place.argsort(stable=True)
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(order), device=order.device)
        first = torch.searchsorted(self.place[order], self.place)
        return self.place * self._runs_of_seeds.shape[1] + rank - first


def _products(matrices: Tensor | Sequence[Tensor], z: Tensor) -> Tensor:
    """M_s z_s for every seed s."""
    if isinstance(matrices, Tensor):
        return torch.bmm(matrices, z)
    return torch.stack([torch.mm(matrix, own) for matrix, own in zip(matrices, z, strict=True)])
