"""Noise that is louder at some nodes, or in some coordinates, than in others."""

import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.interval import NONNEGATIVE, within
from gossamer.noise.noise import Noise, NormMoment

AXES = {"per_node": -2, "per_coordinate": -1}
"""Which axis of samples the scales belong to."""

LONGEST = 20
"""More numbers than that are written down by a name that is their fingerprint."""


@dataclass(frozen=True, repr=False)
class Scaled(Noise):
    """The noise of `law` times b_ik at node i and in coordinate k; made by `Noise.scaled`.

    b_ik = `per_node[i]` · `per_coordinate[k]`, where a list that is not given counts as ones.

    Args:
        law: the noise before.
        per_node: a finite number ≥ 0 for every node, not all of them 0.
        per_coordinate: the same for every coordinate.
    """

    law: Noise
    per_node: Sequence[float] | Tensor | None = None
    per_coordinate: Sequence[float] | Tensor | None = None
    tail_index: float = field(init=False)

    def __post_init__(self) -> None:
        given = [name for name in AXES if getattr(self, name) is not None]
        require(len(given) > 0, "scaled", "no scales", "per_node=[…], per_coordinate=[…] or both")
        for name in given:
            object.__setattr__(self, name, as_scales(name, getattr(self, name)))
        object.__setattr__(self, "tail_index", self.law.tail_index)

    @cached_property
    def factors(self) -> Tensor:
        """b, `(nodes or 1, dim or 1)`."""
        of_nodes, of_coordinates = (
            torch.ones(1, dtype=torch.float64)
            if getattr(self, name) is None
            else torch.tensor(getattr(self, name), dtype=torch.float64)
            for name in AXES
        )
        return of_nodes[:, None] * of_coordinates

    def sample(
        self,
        shape: Sequence[int],
        *,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
    ) -> Tensor:
        """Draw a tensor of `shape`, `(…, nodes, dim)`."""
        self._require_fit(shape)
        sample = self.law.sample(shape, generator=generator, dtype=dtype)
        factors = self.factors.to(sample)
        return sample.mul_(factors[0] if len(shape) == 1 else factors)

    def has_moment(self, p: float) -> bool:
        """As the law."""
        return self.law.has_moment(p)

    def finite_moment(self, p: float) -> float:
        """E|X|^p of the loudest coordinate of the loudest node."""
        return float(self.factors.max()) ** p * self.law.moment(p)

    def norm_moment(self, p: float, scales: Tensor) -> NormMoment:
        """That of the law, with b among the scales."""
        self._require_fit(scales.shape)
        return self.law.norm_moment(p, scales * self.factors)

    def apply(self, grad: Tensor, sample: Tensor) -> Tensor:
        """As the law."""
        return self.law.apply(grad, sample)

    @property
    def data(self) -> dict[str, list[float]]:
        """The long lists, by their fingerprints."""
        lists = (list(values) for name in AXES if (values := getattr(self, name)) is not None)
        return self.law.data | {_shown(values): values for values in lists if len(values) > LONGEST}

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in AXES}
        arguments = [f"{name}={_shown(values)}" for name, values in given.items() if values]
        return f"{self.law!r}.scaled({', '.join(arguments)})"

    def _require_fit(self, shape: Sequence[int]) -> None:
        """Refuse noise for another number of nodes or coordinates than there are scales."""
        for name, axis in AXES.items():
            scales = getattr(self, name)
            size = shape[axis] if len(shape) >= -axis else 0
            fits = scales is None or len(scales) == size
            found = f"{len(scales or ())} scales for noise of shape {tuple(shape)}"
            require(fits, name, found, f"one for each of its {size} {name.removeprefix('per_')}s")


def as_scales(name: str, values: Iterable[float] | Tensor) -> tuple[float, ...]:
    """Finite numbers ≥ 0, not all of them 0, as floats.

    >>> as_scales("per_node", [1, -2])
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: per_node: got -2, need a number in [0, ∞)
    """
    listed = values.tolist() if isinstance(values, Tensor) else values
    require(isinstance(listed, Iterable), name, repr(values), "a list of numbers", "e.g. [1, 1, 5]")
    scales = tuple(within(name, value, NONNEGATIVE) for value in listed)
    require(any(scales), name, list(scales), "one that is positive", "no noise is noise=None")
    return scales


def _shown(values: Sequence[float]) -> str:
    """The list itself, or a name that is equal for equal lists, e.g. "scales_3f2a91c0"."""
    if len(values) <= LONGEST:
        return repr(list(values))
    digest = hashlib.sha256(struct.pack(f"<{len(values)}d", *values)).hexdigest()[:8]
    return f"scales_{digest}"
