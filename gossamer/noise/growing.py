"""Noise that grows with the gradient."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gossamer.errors import refuse
from gossamer.interval import NONNEGATIVE, POSITIVE
from gossamer.noise.noise import Noise, NormMoment, set_within


@dataclass(frozen=True, repr=False)
class Growing(Noise):
    r"""The noise of `law` times \(a + b\|∇f_i(x_i)\|\); made by `Noise.growing`.

    Here a = `floor` and b = `factor`; with a = 0 the noise is purely relative and vanishes where
    the gradient does. The norm is that of the gradient to which the noise is added; on a problem
    with mini-batches, this gradient is itself stochastic. On ½‖x − c_i‖² it is the distance to c_i.

    `sample` and the moments are those of the law, as if a + b‖∇f_i(x_i)‖ were 1. The theorems
    assume one σ that bounds the noise everywhere; here there is none, so that `plan` refuses it.
    """

    law: Noise
    factor: float
    floor: float = 1.0
    tail_index: float = field(init=False)

    def __post_init__(self) -> None:
        set_within(self, "factor", POSITIVE)
        set_within(self, "floor", NONNEGATIVE)
        object.__setattr__(self, "tail_index", self.law.tail_index)

    def sample(
        self,
        shape: Sequence[int],
        *,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
    ) -> Tensor:
        """As the law."""
        return self.law.sample(shape, generator=generator, dtype=dtype)

    def apply(self, grad: Tensor, sample: Tensor) -> Tensor:
        """`grad` + (a + b‖`grad`‖) · `sample`."""
        norm = torch.linalg.vector_norm(grad, dim=-1, keepdim=True)
        return self.law.apply(grad, (self.floor + self.factor * norm) * sample)

    def has_moment(self, p: float) -> bool:
        """As the law."""
        return self.law.has_moment(p)

    def finite_moment(self, p: float) -> float:
        """As the law."""
        return self.law.moment(p)

    def norm_moment(self, p: float, scales: Tensor) -> NormMoment:
        """There is none that holds at every point."""
        need = "one with E‖ξ‖^p ≤ σ^p wherever the gradient is taken"
        way_out = "give p and sigma for the gradients you expect"
        refuse("noise", f"{self}, which grows with the gradient", need, way_out)

    @property
    def data(self) -> dict[str, list[float]]:
        """As the law."""
        return self.law.data

    def __repr__(self) -> str:
        return f"{self.law!r}.growing(factor={self.factor!r}, floor={self.floor!r})"
