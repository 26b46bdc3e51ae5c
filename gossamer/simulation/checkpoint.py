"""Where runs are: what a stack of them needs to go on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from gossamer.networks import LinkMemory

Content = tuple[Tensor, Any, LinkMemory]
"""Parameters, state of the method and memory of the links of stacked runs."""


class Checkpoint(NamedTuple):
    """Runs of one stack after `t` steps."""

    t: int

    x: Tensor
    """`(nodes, runs, dim)`."""

    state: Any
    """Of the method, a NamedTuple of tensors."""

    links: LinkMemory

    generators: Mapping[int, Tensor]
    """Seed → the state of the generator of its noise."""

    def content(self, device: torch.device | str) -> Content:
        """What the stack holds, on a device."""
        state = type(self.state)(*(field.to(device) for field in self.state))
        links = tuple({name: z.to(device) for name, z in site.items()} for site in self.links)
        return self.x.to(device), state, links

    def to(self, device: torch.device | str) -> Self:
        """The same on another device; generators' states always are on the CPU."""
        x, state, links = self.content(device)
        return self._replace(x=x, state=state, links=links)

    def select(self, runs: Tensor) -> Self:
        """The same for some of the runs, a mask or an index."""
        x, state, links = select_runs(runs.to(self.x.device), self[1:4])
        return self._replace(x=x, state=state, links=links)


def select_runs(runs: Tensor, content: Content) -> Content:
    """The content of some runs, a mask or an index."""
    x, state, links = content
    fields = type(state)(*(field[:, runs] for field in state))
    memory = tuple({name: z[:, runs] for name, z in site.items()} for site in links)
    return x[:, runs], fields, memory


def join_checkpoints(parts: Sequence[Checkpoint]) -> Checkpoint:
    """Checkpoints of different runs at one step as one."""
    first = parts[0]
    fields = zip(*(part.state for part in parts), strict=True)
    sites = zip(*(part.links for part in parts), strict=True)
    return Checkpoint(
        first.t,
        _beside(part.x for part in parts),
        type(first.state)(*(_beside(field) for field in fields)),
        tuple({name: _beside(one[name] for one in site) for name in site[0]} for site in sites),
        {seed: state for part in parts for seed, state in part.generators.items()},
    )


def _beside(tensors: Iterable[Tensor]) -> Tensor:
    return torch.cat(list(tensors), dim=1)
