"""The injected noise of many seeds, each its own stream whatever else is stacked."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gossamer.noise import Noise
from gossamer.seeding import stream

MAX_BLOCK_STEPS = 32
BLOCK_ELEMENTS = 2**18


class NoiseStream:
    """Noise of step t = 0, 1, … for every seed, drawn ahead in blocks of steps.

    The block length depends on the problem's size alone and every seed has its own generator, so
    the noise of a seed is the same bits in a run alone and in any stack.
    """

    def __init__(
        self,
        noise: Noise,
        seeds: Sequence[int],
        num_nodes: int,
        dim: int,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        self._noise, self._dtype = noise, dtype
        self._shape = (block_steps(num_nodes, dim), num_nodes, dim)
        self._generators = [stream("noise", seed, device=device) for seed in seeds]
        self._block: Sequence[Tensor] = ()
        self._drawn = 0

    def at(self, t: int) -> Tensor:
        """Noise of step `t`, `(nodes, seeds, dim)`; steps are asked for in order."""
        length = self._shape[0]
        while t >= self._drawn:
            sample = [
                self._noise.sample(self._shape, generator=generator, dtype=self._dtype)
                for generator in self._generators
            ]
            self._block = torch.stack(sample, dim=2).unbind()  # steps × (nodes, seeds, dim)
            self._drawn += length
        return self._block[t % length]


def block_steps(num_nodes: int, dim: int) -> int:
    """Steps drawn at once: a function of the problem's size alone.

    >>> block_steps(20, 20), block_steps(20, 10**6)
    (32, 1)
    """
    return max(1, min(MAX_BLOCK_STEPS, BLOCK_ELEMENTS // (num_nodes * dim)))
