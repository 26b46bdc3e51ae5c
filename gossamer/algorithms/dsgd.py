"""DSGD: decentralized stochastic gradient descent."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gossamer.algorithms.admissible import StepSize
from gossamer.algorithms.algorithm import Algorithm, Stateless
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import minus


@dataclass(frozen=True)
class DSGD(Algorithm[Stateless]):
    """Decentralized stochastic gradient descent, the plain baseline.

    xᵗ⁺¹ = W (xᵗ − α gᵗ)                                    α = `lr`

    Under noise of bounded variance it converges up to a bias of order α, which comes from
    differences between the nodes. Under heavy tails a single large gradient can throw all nodes
    far off.

    Reference: Nedić and Ozdaglar (2009); Lian et al. (2017).

    >>> import torch
    >>> x, state = torch.tensor([[1.0], [3.0]]), Stateless()
    >>> DSGD(lr=0.5).step(0, x, grad=x, state=state, mix=lambda z: z.mean(0, keepdim=True) + 0 * z)
    (tensor([[1.], [1.]]), Stateless())
    """

    label: ClassVar[str] = "DSGD"

    lr: StepSize

    def init(self, x: Tensor) -> Stateless:
        """No state."""
        return Stateless()

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix
    ) -> tuple[Tensor, Stateless]:
        """Gradient step, then mix."""
        return mix.pull(minus(x, self.lr, grad)), state  # xᵗ⁺¹ = W (xᵗ − α gᵗ)
