"""Where the numbers of a step's tensors are, in C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.native.expressions import KINDS


@dataclass(frozen=True)
class Value:
    """A tensor of the step: where its numbers are.

    Attributes:
        name: of the C array.
        kind: of its numbers.
        layout: how they are counted, a tensor without content.
        lanes: whether every number is there R times, once for each run.
    """

    name: str
    kind: torch.dtype
    layout: Tensor
    lanes: bool

    @property
    def shape(self) -> torch.Size:
        """Of one run."""
        return self.layout.shape

    @property
    def fills_array(self) -> bool:
        """Whether its numbers lie one after the other, from the first of the array on."""
        return self.layout.is_contiguous() and self.layout.storage_offset() == 0

    def seen_as(self, layout: Tensor) -> Value:
        """The same array, counted in another way."""
        return Value(self.name, self.kind, layout, self.lanes)

    def at(self, indices: Sequence[str], shape: Sequence[int]) -> str:
        """Its number at these indices of a broadcast `shape`."""
        counted = self.layout.expand(list(shape))
        terms = [str(counted.storage_offset())]
        terms += [f"{s} * {i}" for s, i in zip(counted.stride(), indices, strict=True) if s != 0]
        return self._number(" + ".join(terms))

    def at_once(self, index: str) -> str:
        """Its number where one index counts all, or the only one that there is."""
        return self._number("0" if self.layout.numel() == 1 else index)

    def register(self, place: Sequence[str], shape: Sequence[int], part: int) -> str:
        """A register of the R numbers of the runs, or one number for all of them."""
        kind, text = KINDS[self.kind], self.at(place, shape)
        if self.lanes:
            return f"((V_{kind} *)&{text.replace('R + r', 'R')})[{part}]"
        return f"{text} + (V_{kind}){{0}}"

    def _number(self, place: str) -> str:
        return f"{self.name}[({place}) * R + r]" if self.lanes else f"{self.name}[{place}]"


def contiguous(shape: Sequence[int]) -> Tensor:
    """The layout of a new array."""
    return torch.empty(tuple(shape), device="meta")


def loop_over(index: str, size: int | str) -> str:
    """The head of a loop."""
    whole = '_Pragma("GCC unroll 1") ' if index == "r" else ""  # one instruction for all runs
    return f"{whole}for (int {index} = 0; {index} < {size}; {index}++) "
