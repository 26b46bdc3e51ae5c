"""What the links of a node remember, by name: to be saved, loaded and kept when parameters join."""

from collections.abc import Callable, Mapping

from torch import Tensor

from gossamer.networks import LinkMemory


def named(memory: LinkMemory) -> dict[str, Tensor]:
    """By "<site>.<name>".

    >>> import torch
    >>> named(({}, {"in_flight.2": torch.ones(1)}))
    {'1.in_flight.2': tensor([1.])}
    """
    return {f"{site}.{name}": z for site, held in enumerate(memory) for name, z in held.items()}


def from_named(tensors: Mapping[str, Tensor]) -> LinkMemory:
    """What `named` was given.

    >>> import torch
    >>> from_named({"1.in_flight.2": torch.ones(1)})
    ({}, {'in_flight.2': tensor([1.])})
    """
    parts = [(int(key.partition(".")[0]), key.partition(".")[2], z) for key, z in tensors.items()]
    sites = range(max((site + 1 for site, _, _ in parts), default=0))
    return tuple({name: z for at, name, z in parts if at == site} for site in sites)


def has_copies(tensors: Mapping[str, Tensor]) -> bool:
    """Whether some of what `named` gave is a public copy."""
    return any(name.endswith(".copy") for name in tensors)


def in_flight(memory: LinkMemory, move: Callable[[Tensor], Tensor]) -> LinkMemory:
    """The totals in flight alone, each moved; links begin anew with the rest."""
    return tuple(
        {name: move(z) for name, z in held.items() if name.startswith("in_flight.")}
        for held in memory
    )
