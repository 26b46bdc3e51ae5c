"""What a compressor is: a lossy message from which all compute the same public copy."""

from abc import ABC, abstractmethod
from dataclasses import astuple

import torch
from torch import Tensor

from gossamer.networks.chance import Coins


class Compressor(ABC):
    r"""Says how a node sends a short, lossy message about a quantity z to its neighbours.

    The node and all its neighbours hold the same *public copy* ĥ, an approximation of z. The node
    sends a short message about z − ĥ, by which all of them move their copies to the same
    ĥ⁺ = Q(ĥ, z). Then it mixes, with M = R for opinions and M = C for totals:

    $$ĥ⁺ = Q(ĥ, z), \qquad z ← z + γ (M ĥ⁺ - ĥ⁺).$$

    What the message leaves out stays in z − ĥ⁺, so that later messages can send it. The copies
    follow z if Q is a *contraction*: E‖z − ĥ⁺‖² ≤ (1 − δ) ‖z − ĥ‖² with some δ > 0.

    A compressor of your own is a frozen dataclass that defines the five methods below. Decoding an
    encoded message must give the same ĥ⁺ as `compress`, bit for bit. The last axis of a tensor is
    that of the parameters; ĥ and ĥ⁺ have the precision of messages, z may have a higher one. No
    method may change a copy in place.

    References: A. Koloskova, S. Stich, M. Jaggi, "Decentralized stochastic optimization and gossip
    algorithms with compressed communication", ICML 2019 (CHOCO-Gossip).
    """

    @abstractmethod
    def compress(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """ĥ⁺, with the dtype and shape of `copy`: `(nodes, runs, dim)`, or `(dim,)`.

        Args:
            copy: ĥ.
            z: the quantity that is to be sent, with the same shape.
            coins: the senders' random numbers for this step and this quantity.
        """

    @abstractmethod
    def encode(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """The message of one node, uint8, `(message_bytes,)`; `copy` and `z` are `(dim,)`."""

    @abstractmethod
    def decode(self, copy: Tensor, message: Tensor, coins: Coins) -> Tensor:
        """ĥ⁺ from a message, the copy ĥ of its sender, and the sender's random numbers."""

    @abstractmethod
    def message_bytes(self, dim: int, dtype: torch.dtype) -> int:
        """The number of bytes in a message about `dim` coordinates, if copies have this dtype."""

    @abstractmethod
    def gamma(self, dim: int) -> float:
        """A value of γ in (0, 1] that works on most networks.

        A smaller γ is safer, but slower, unless the step size is so small that mixing does not
        limit the speed. If a run diverges only with compression, halve γ and the step size.
        """

    @property
    def words(self) -> str:
        """What a message holds, in words, e.g. "the signs of the changes"."""
        return repr(self)

    def __repr__(self) -> str:
        values = astuple(self)  # type: ignore[call-overload]
        plain = (value.item() if hasattr(value, "item") else value for value in values)  # numpy's
        return f"{type(self).__name__}({', '.join(map(repr, plain))})"
