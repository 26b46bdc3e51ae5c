"""What EXTRA and Exact Diffusion share: a correction that sums up the disagreement of the nodes."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.admissible import StepSize
from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.mixing import Mix


class CorrectedState(NamedTuple):
    """The correction y, whose sum over the nodes is 0."""

    y: Tensor


@dataclass(frozen=True)
class Corrected(Algorithm[CorrectedState]):
    """A method of W̄ = (I + W)/2 whose y adds up (I − W̄) z for what is mixed, z.

    At rest nobody disagrees, and yᵢ = −α ∇fᵢ: the nodes' gradients cancel in their sum, which is
    0 as that of the corrections is. It takes W = Wᵀ for I − W̄ to push disagreement down, and
    columns that sum to 1 in every round for Σ yᵢ to stay 0.

    W̄ has no negative eigenvalue whatever those of W are, so that any such network will do.
    """

    needs_symmetric: ClassVar[bool] = True

    lr: StepSize

    def init(self, x: Tensor) -> CorrectedState:
        """y⁰ = 0."""
        return CorrectedState(y=torch.zeros_like(x))


def half_mixed(mix: Mix, z: Tensor) -> Tensor:
    """W̄ z = (z + W z)/2.

    >>> from gossamer.algorithms import Both
    >>> half_mixed(Both(lambda z: 0 * z), torch.tensor([1.0, 3.0]))
    tensor([0.5000, 1.5000])
    """
    return torch.lerp(z, mix.pull(z), 0.5)
