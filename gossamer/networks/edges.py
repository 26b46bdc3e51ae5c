"""The links of a network, one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from gossamer.networks.static import StaticNetwork


@dataclass(frozen=True, eq=False)
class Edges:
    """All links sender → receiver of τ rounds, sorted by receiver and sender, without self-loops.

    Args:
        num_nodes: n.
        receiver: of each link, `(E,)`.
        sender: of each link, `(E,)`.
        weights: r_ij of each link in each round, `(τ, E)`; 0 where it is not there.
        shares: c_ij likewise.
        kept: c_ii, what a node keeps of its total in each round, `(τ, n)`.
    """

    num_nodes: int
    receiver: Tensor
    sender: Tensor
    weights: Tensor
    shares: Tensor
    kept: Tensor

    @classmethod
    def of(cls, rounds: "Sequence[StaticNetwork]") -> "Edges":
        """The links of a network's rounds."""
        n = rounds[0].num_nodes
        places = torch.cat([one.matrix.row * n + one.matrix.col for one in rounds]).unique()
        places = places[places // n != places % n]
        receiver, sender = places // n, places % n
        nodes = torch.arange(n)
        return cls(
            n,
            receiver,
            sender,
            torch.stack([one.matrix.at(receiver, sender) for one in rounds]),
            torch.stack([one.push_matrix.at(receiver, sender) for one in rounds]),
            torch.stack([one.push_matrix.at(nodes, nodes) for one in rounds]),
        )

    def to(self, device: torch.device | str) -> "Edges":
        """The same links, on another device."""
        tensors = (self.receiver, self.sender, self.weights, self.shares, self.kept)
        return Edges(self.num_nodes, *(z.to(device) for z in tensors))

    def __len__(self) -> int:
        return len(self.sender)

    @property
    def period(self) -> int:
        """τ."""
        return len(self.weights)

    def active(self, t: int | Tensor) -> Tensor:
        """Which links are there in round t, boolean `(E,)`; for several t, `(rounds, E)`."""
        return self.weights[t % self.period] > 0

    @property
    def number(self) -> Tensor:
        """A number for each link, `(E,)`, the same on every process."""
        return self.receiver * self.num_nodes + self.sender

    @property
    def pair(self) -> Tensor:
        """A number for the two directions of each link, `(E,)`."""
        ends = torch.stack([self.receiver, self.sender])
        return ends.amax(0) * self.num_nodes + ends.amin(0)
