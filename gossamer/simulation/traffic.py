"""The messages of runs, counted apart from the runs.

How much is sent when depends on the network, on the seed and on how many numbers a step mixes, but
not on these numbers: it is counted once for each seed, whatever the hyper-parameters.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, Local
from gossamer.algorithms.local import STREAM
from gossamer.networks import Channel, Network
from gossamer.networks.chance import Coins
from gossamer.simulation.stack import Stack
from gossamer.simulation.step import is_ours
from gossamer.simulation.taken import require_taken

STEPS_COMPARED = 102
"""Steps before which it is seen whether a method always mixes as much: periods up to 100."""

NUMBERS_COMPARED = 10**8
"""Elements of all these steps: fewer are taken where there are many parameters."""

ELEMENTS_AT_ONCE = 2**20
"""Elements of the largest tensor built in counting: steps × numbers of a round × seeds."""


@dataclass(frozen=True)
class Traffic:
    """What runs with these seeds send.

    Args:
        network: over which.
        seeds: each once.
        widths: how many numbers each mix of a step carries, in turn.
        dtype: of the messages.
    """

    network: Network
    seeds: Sequence[int]
    widths: Sequence[int]
    dtype: torch.dtype

    @cached_property
    def channel(self) -> Channel:
        """How the runs talk."""
        return self.network.channel(self.seeds, self.dtype, "cpu")

    def blocks(self, end: int) -> Iterator[range]:
        """The steps 0, …, end − 1, as many at once as are handy."""
        one_step = self.network.numbers_per_round * len(self.seeds)
        size = max(1, ELEMENTS_AT_ONCE // one_step)
        return (range(begin, min(begin + size, end)) for begin in range(0, end, size))

    def sent(self, steps: range) -> list[Tensor]:
        """Bytes of each node in each mix: for every mix `(steps, nodes, seeds)`, or 1 for seeds."""
        count = {dim: self._sent(steps, dim) for dim in dict.fromkeys(self.widths)}
        return [count[dim] for dim in self.widths]

    def _sent(self, steps: range, dim: int) -> Tensor:
        return self.channel.traffic(steps, dim, self.dtype.itemsize)

    def totals_at(self, times: Sequence[int]) -> dict[str, Tensor]:
        """Messages and bytes that a node has sent before each of `times`, the mean over the nodes.

        Each `(times, seeds)` in float64; `times` rise from 0. Every mix sends messages of its own.
        """
        messages = self._total_at(times, self.channel.messages_sent)
        if self.channel.whole_messages:
            sent = messages * (sum(self.widths) * self.dtype.itemsize)
        else:
            sent = self._total_at(times, self._sent_in_all_mixes)
        totals = {"messages": messages * len(self.widths), "bytes": sent}
        return {name: total.double() / self.network.num_nodes for name, total in totals.items()}

    def _sent_in_all_mixes(self, steps: range) -> Tensor:
        silence = torch.zeros(len(steps), 1, 1, dtype=torch.int64)
        return sum(self.sent(steps), silence)

    def _total_at(self, times: Sequence[int], sent: Callable[[range], Tensor]) -> Tensor:
        """What all nodes have sent before each of `times`, `sent` giving that of some steps."""
        total = torch.zeros(1, len(self.seeds), dtype=torch.int64)
        sums, wanted = [total], torch.tensor(times)
        for steps in self.blocks(times[-1]):
            so_far = total + sent(steps).sum(1).cumsum(0)
            inside = wanted[(wanted > steps.start) & (wanted <= steps.stop)]
            sums.append(so_far[inside - steps.start - 1])
            total = so_far[-1:]
        return torch.cat(sums)


class Asked(NamedTuple):
    """What a step asks for."""

    widths: list[int]
    """How many numbers each of its mixes carries."""

    gradients: int
    """How many gradients it evaluates."""


def what_a_step_asks(stack: Stack, steps: int) -> Asked:
    """What step 1 asks for; a warning if others of these, of a method of the user's, differ."""
    asked = asked_in(stack, 1)
    if not is_ours(stack.algorithm):
        affordable = 2 + NUMBERS_COMPARED // stack.problem.dim
        compared = range(2, min(steps, STEPS_COMPARED, affordable))
        other = next((t for t in compared if asked_in(stack, t) != asked), None)
        if other is not None:
            warnings.warn(_counted_as_in_step_1(stack.algorithm, other), stacklevel=2)
    return asked


def _counted_as_in_step_1(algorithm: Algorithm[Any], other: int) -> str:
    return (
        f"step {other} of {type(algorithm).__name__} does not mix as much as step 1, or evaluates "
        "another number of gradients. What is spent is counted as if all steps were like step 1: "
        "gradients, messages, bytes and seconds are wrong. To mix in every k-th step only, let "
        "the method mix in every step, and take network.every(k)"
    )


def asked_in(stack: Stack, t: int) -> Asked:
    """Found by step t of two nodes in one run, which leads nowhere.

    A norm without `keepdim` would not change the shape of a single node.
    """
    gradients = 1

    def count(point: Tensor) -> Tensor:
        nonlocal gradients
        gradients += 1
        return torch.zeros_like(point)

    state = type(stack.state)(*(entry[:2, :1] for entry in stack.state))
    x, mix = stack.x[:2, :1], CountingMix()
    one_run = stack.algorithm.select(torch.zeros(1, dtype=torch.int64, device=x.device))
    nodes = torch.arange(len(x), device=x.device)
    coins = Coins.of(stack.seeds[:1], nodes, STREAM)
    local = Local(t, count, coins, stack.problem.parameter_shapes)
    asked = (local,) if one_run.asks_local else ()
    require_taken(one_run, one_run.step(t, x, torch.zeros_like(x), state, mix, *asked), x)
    return Asked(mix.widths, gradients)


@dataclass
class CountingMix:
    """Mixes nothing, and notes how many numbers it was given at each call."""

    widths: list[int] = field(default_factory=list)

    def pull(self, z: Tensor) -> Tensor:
        """z itself."""
        self.widths.append(z.shape[-1])
        return z

    def push(self, z: Tensor) -> Tensor:
        """z itself."""
        return self.pull(z)
