"""Who of the processes of a node holds which of its numbers."""

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from gossamer.distributed.inside.crew import Crew


class Layout:
    """Of every parameter, as a row of numbers, process j holds the j-th run of consecutive ones.

    A process's vector is what it holds of the first parameter, then of the second, and so on.

    Args:
        shapes: of the whole parameters.
        counts: of each process, how many numbers it holds of every parameter.
        crew: the processes.

    >>> layout = Layout([torch.Size([3]), torch.Size([2])], [[3, 2]], Crew())
    >>> layout.whole(torch.arange(5))
    tensor([0, 1, 2, 3, 4])
    """

    def __init__(
        self, shapes: Sequence[torch.Size], counts: Sequence[Sequence[int]], crew: Crew
    ) -> None:
        self.shapes, self.counts, self.crew = list(shapes), [list(row) for row in counts], crew

    @property
    def own(self) -> list[int]:
        """How many numbers of every parameter are this process's."""
        return self.counts[self.crew.position]

    def span(self, parameter: int, process: int) -> slice:
        """Which numbers of a parameter are a process's."""
        ends = [0, *accumulate(row[parameter] for row in self.counts)]
        return slice(ends[process], ends[process + 1])

    def own_span(self, parameter: int) -> slice:
        """Which are this process's."""
        return self.span(parameter, self.crew.position)

    def whole(self, z: Tensor) -> Tensor:
        """The node's vector, of which `z` is this process's, by parameters; a collective."""
        parts = self.crew.each_of(z, [sum(row) for row in self.counts])
        pieces = [part.split(row) for part, row in zip(parts, self.counts, strict=True)]
        return torch.cat([piece for parameter in zip(*pieces, strict=True) for piece in parameter])

    def part(self, whole: Tensor) -> Tensor:
        """This process's numbers of the node's vector."""
        pieces = whole.split([shape.numel() for shape in self.shapes])
        return torch.cat([piece[self.own_span(k)] for k, piece in enumerate(pieces)])


def in_runs(length: int, processes: int) -> list[int]:
    """The lengths of the runs into which torch divides a row, the first ones longest.

    >>> in_runs(7, 3), in_runs(1, 2)
    ([3, 3, 1], [1, 0])
    """
    longest = -(-length // processes)
    return [max(0, min(longest, length - j * longest)) for j in range(processes)]
