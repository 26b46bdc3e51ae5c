"""Which few of all nodes' samples tell most about a module and its loss."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from gossamer.data.pairs import Pairs, TensorPairs

MOST = 64
"""Samples that are taken from all over the nodes, and classes of which one is taken."""

AT_MOST_NODES = 16
"""Nodes that these samples are of."""

Place = tuple[int, int]
"""A dataset and a row of it."""

Reduction = Callable[[Tensor, int], Tensor]


def spread(datasets: Sequence[Pairs]) -> list[Place]:
    """Evenly spaced samples of some datasets, also evenly spaced, the first and last included."""
    chosen = _spaced(len(datasets), AT_MOST_NODES).tolist()
    of_each = MOST // len(chosen)
    return [(k, row) for k in chosen for row in _spaced(len(datasets[k]), of_each).tolist()]


def _spaced(size: int, most: int) -> Tensor:
    return torch.linspace(0, size - 1, most).round().long().unique()


def classes(datasets: Sequence[Pairs]) -> list[Place]:
    """A sample of each of some classes, the smallest and the largest among them.

    There are classes where a target is one integer, and not a sequence of tokens.
    """
    target = datasets[0][torch.tensor([0])][1]
    numbers = _numbers(datasets, "targets", torch.amin) if target.numel() == 1 else None
    if numbers is None:
        return []
    known, which = numbers.unique(return_inverse=True)
    one_of = torch.empty_like(known, dtype=torch.int64)
    one_of[which] = torch.arange(len(which), device=which.device)
    chosen = _spaced(len(known), MOST)
    return _places(one_of[chosen.to(one_of.device)], datasets)


def extremes(datasets: Sequence[Pairs]) -> list[Place]:
    """Samples with the smallest and the largest integers that there are, if there are any."""
    found = []
    for part in ("inputs", "targets"):
        lowest, highest = (_numbers(datasets, part, by) for by in (torch.amin, torch.amax))
        if lowest is not None and highest is not None:
            found += _places(torch.stack([lowest.argmin(), highest.argmax()]), datasets)
    return found


def _numbers(datasets: Sequence[Pairs], part: str, reduce: Reduction) -> Tensor | None:
    """One integer of every sample of all datasets; None if they hold others, or no tensors."""
    held = [_signed(getattr(data, part)) for data in datasets if isinstance(data, TensorPairs)]
    real = any(z.is_floating_point() or z.is_complex() or z[0].numel() == 0 for z in held)
    if len(held) < len(datasets) or real:
        return None
    return torch.cat([z if z.ndim == 1 else reduce(z.flatten(1), 1) for z in held]).long()


def _signed(z: Tensor) -> Tensor:
    """As it is, but for kinds of integers that torch can hardly compare."""
    return z.long() if z.dtype in (torch.uint16, torch.uint32, torch.uint64) else z


def _places(rows: Tensor, datasets: Sequence[Pairs]) -> list[Place]:
    """Where rows of all datasets, one after the other, are."""
    rows, sizes = rows.cpu(), torch.tensor([len(data) for data in datasets])
    ends = sizes.cumsum(0)
    which = torch.searchsorted(ends, rows, right=True)
    return list(zip(which.tolist(), (rows - (ends - sizes)[which]).tolist(), strict=True))
