"""The injected noise of many seeds, each its own stream whatever else is stacked."""

from collections.abc import Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from gossamer.captured import Captured, side_by_side
from gossamer.noise import Noise
from gossamer.seeding import SeedGroups, stream

MAX_BLOCK_STEPS = 32
BLOCK_ELEMENTS = 2**18


class NoiseStream:
    """Noise of step t = 0, 1, … for every run, drawn ahead in blocks of steps.

    The block length depends on the problem's size alone and every seed has its own generator, so
    the noise of a seed is the same bits in a run alone and in any stack. Runs with the same seed
    get the same noise.
    """

    def __init__(
        self,
        noise: Noise,
        seeds: Sequence[int],
        num_nodes: int,
        dim: int,
        dtype: torch.dtype,
        device: torch.device | str,
        begin: int = 0,
        generators: Mapping[int, Tensor] | None = None,
    ) -> None:
        """Beginning at step `begin`, where another stream's `generators(begin)` were taken."""
        self._noise, self._device = noise, device
        self._shape = (block_steps(num_nodes, dim), num_nodes, dim)
        self._seeds = list(dict.fromkeys(seeds))
        self._generators = [stream("noise", seed, device=device) for seed in self._seeds]
        if generators is not None:
            for seed, generator in zip(self._seeds, self._generators, strict=True):
                generator.set_state(generators[seed])
        drawn = partial(_sampled, noise, self._shape, self._generators, dtype)
        self._draw = Captured(drawn, self._generators)
        self._block = torch.empty(0)
        self._steps: Sequence[Tensor] = ()
        self._drawn = begin - begin % self._shape[0]
        self._before: Sequence[Tensor] = ()
        self.serve(seeds)

    def serve(self, seeds: Sequence[int]) -> None:
        """From now on give run r the noise of `seeds[r]`, some of those of the beginning."""
        self._groups = SeedGroups.of(seeds, self._device, among=self._seeds)

    def add(self, grad: Tensor, t: int) -> Tensor:
        """`grad`, `(nodes, runs, dim)`, with the noise of step `t`."""
        return self.added(grad, self.at(t))

    def added(self, grad: Tensor, drawn: Tensor) -> Tensor:
        """`grad`, `(nodes, runs, dim)`, with noise that was drawn for every distinct seed."""
        noisy = self._noise.apply(*self._groups.align(grad, drawn))
        return noisy if noisy.shape == grad.shape else noisy.view(grad.shape)

    def at(self, t: int) -> Tensor:
        """Noise of step `t`, `(nodes, distinct seeds, dim)`; steps are asked for in order."""
        length = self._shape[0]
        while t >= self._drawn:
            self._before = [generator.get_state() for generator in self._generators]
            self._block = self._draw()
            self._steps = self._block.unbind()
            self._drawn += length
        return self._steps[t % length]

    def between(self, t: int, end: int) -> tuple[Tensor, Tensor]:
        """Noise of the steps from `t` on and before `end`, all of one block, and whose is whose.

        `(steps, nodes, distinct seeds, dim)` and, for every run, which of the seeds it has.
        """
        self.at(t)
        first = t % self._shape[0]
        return self._block[first : first + end - t], self._groups.place

    def generators(self, t: int) -> dict[int, Tensor]:
        """Seed → the state of its generator before the block of step `t`, the next to be asked."""
        inside = t < self._drawn
        now = self._before if inside else [one.get_state() for one in self._generators]
        return dict(zip(self._seeds, now, strict=True))


def _sampled(
    noise: Noise,
    shape: Sequence[int],
    generators: Sequence[torch.Generator],
    dtype: torch.dtype,
) -> Tensor:
    """A block of noise, `(steps, nodes, seeds, dim)`, drawn for all seeds side by side."""
    steps, nodes, dim = shape
    device = generators[0].device
    block = torch.empty((steps, nodes, len(generators), dim), dtype=dtype, device=device)

    def draw(place: Tensor, generator: torch.Generator) -> None:
        place.copy_(noise.sample(shape, generator=generator, dtype=dtype))

    each = zip(block.unbind(2), generators, strict=True)
    side_by_side((partial(draw, *one) for one in each), block.device)
    return block


def block_steps(num_nodes: int, dim: int) -> int:
    """Steps drawn at once: a function of the problem's size alone.

    >>> block_steps(20, 20), block_steps(20, 10**6)
    (32, 1)
    """
    return max(1, min(MAX_BLOCK_STEPS, BLOCK_ELEMENTS // (num_nodes * dim)))
