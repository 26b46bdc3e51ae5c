"""What a compressor is: a lossy message from which all compute the same public copy."""

from abc import ABC, abstractmethod
from dataclasses import astuple

import torch
from torch import Tensor

from gossamer.networks.chance import Coins


class Compressor(ABC):
    r"""A lossy message about z to those who hold its public copy ĥ.

    A node whose neighbours all hold the same copy ĥ of its last z sends a short message about
    z − ĥ; it and they move their copies to the same ĥ⁺ = Q(ĥ, z), and z is mixed by

    $$ĥ⁺ = Q(ĥ, z), \qquad z ← z + γ (M ĥ⁺ - ĥ⁺).$$

    What a message lost stays in z − ĥ⁺ and is in the next difference: nothing is lost for good.
    Copies follow z if Q is a contraction: E‖z − ĥ⁺‖² ≤ (1 − δ) ‖z − ĥ‖² with some δ > 0.

    A class of your own is a frozen dataclass with the five methods below, of which `encode` and
    `decode` give what `compress` gives, bit for bit. Tensors end in the parameter axis; ĥ and ĥ⁺
    have the precision of messages, z may have more digits. A copy is never changed in place.

    References: A. Koloskova, S. Stich, M. Jaggi, "Decentralized stochastic optimization and gossip
    algorithms with compressed communication", ICML 2019 (CHOCO-Gossip).
    """

    @abstractmethod
    def compress(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """ĥ⁺ of the dtype and shape of `copy`, `(nodes, runs, dim)` or `(dim,)`.

        Args:
            copy: ĥ.
            z: what is to be sent, of the same shape.
            coins: those of the senders for this step and this quantity.
        """

    @abstractmethod
    def encode(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """The message of one node, uint8, `(message_bytes,)`; `copy` and `z` are `(dim,)`."""

    @abstractmethod
    def decode(self, copy: Tensor, message: Tensor, coins: Coins) -> Tensor:
        """ĥ⁺ from a message, with the copy and the coins of its sender."""

    @abstractmethod
    def message_bytes(self, dim: int, dtype: torch.dtype) -> int:
        """Length of every message about `dim` coordinates whose copy has this dtype."""

    @abstractmethod
    def gamma(self, dim: int) -> float:
        """γ in (0, 1] that works on most networks.

        A smaller γ is safer; it is slower unless the step size is so small that mixing is not what
        the method waits for. Where a run diverges with compression only, halve both.
        """

    def __repr__(self) -> str:
        values = astuple(self)  # type: ignore[call-overload]
        plain = (value.item() if hasattr(value, "item") else value for value in values)  # numpy's
        return f"{type(self).__name__}({', '.join(map(repr, plain))})"
