"""What the links of a node remember, by name: to be saved, loaded and kept when parameters join."""

from collections.abc import Callable, Mapping

from torch import Tensor

from gossamer.networks.channel import LinkMemory


def named(memory: LinkMemory) -> dict[str, Tensor]:
    """By "<site>.<name>".

    >>> import torch
    >>> named(({}, {"in_flight.2": torch.ones(1)}))
    {'1.in_flight.2': tensor([1.])}
    """
    return {f"{site}.{name}": z for site, held in enumerate(memory) for name, z in held.items()}


def from_named(tensors: Mapping[str, Tensor], sites: int = 0) -> LinkMemory:
    """What `named` was given; it names no site that remembers nothing, so there may be more.

    >>> import torch
    >>> from_named({"1.in_flight.2": torch.ones(1)})
    ({}, {'in_flight.2': tensor([1.])})
    """
    parts = [(int(key.partition(".")[0]), key.partition(".")[2], z) for key, z in tensors.items()]
    count = max((site + 1 for site, _, _ in parts), default=0)
    everywhere = range(max(count, sites))
    return tuple({name: z for at, name, z in parts if at == site} for site in everywhere)


def has_copies(tensors: Mapping[str, Tensor]) -> bool:
    """Whether some of what `named` gave is a public copy."""
    return any(name.endswith(".copy") for name in tensors)


def in_flight(memory: LinkMemory, move: Callable[[Tensor], Tensor]) -> LinkMemory:
    """The totals in flight alone, each moved; links begin anew with the rest."""
    return tuple(
        {name: move(z) for name, z in held.items() if name.startswith("in_flight.")}
        for held in memory
    )
