"""Networks whose rounds repeat: nothing about them is random, and nothing is lost."""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from gossamer.errors import InvalidInput
from gossamer.networks.channel import Channel, PlainChannel
from gossamer.networks.contraction import graph_components, merged_classes
from gossamer.networks.edges import Edges
from gossamer.networks.network import Network
from gossamer.networks.spectrum import consensus_norm, period_product


class Periodic(Network):
    """A network given by the matrices of its rounds; a static network has period 1.

    `==` compares the matrices of all rounds, up to rounding.
    """

    @property
    def weights(self) -> Tensor:
        """W_{τ−1} … W_0 of one period (W itself when static), a new dense (n, n) float64 tensor.

        For an unbalanced network it is R, the matrix that mixes opinions.
        """
        return period_product([one.matrix for one in self.rounds])

    @property
    def why_no_lam(self) -> str:
        """Unbalanced networks average with two matrices, R and C, neither doubly stochastic."""
        return "" if self.balanced else "its weights are not doubly stochastic"

    def _lam(self) -> float:
        norm = consensus_norm([one.matrix for one in self.rounds])
        return norm ** (1 / self.period)

    def channel(
        self, seeds: Sequence[int], dtype: torch.dtype, device: torch.device | str
    ) -> Channel:
        """One product per mix, the same for all runs."""
        mixers = [one.mixer(dtype, device) for one in self.rounds]
        return PlainChannel(mixers, self)

    @cached_property
    def edges(self) -> Edges:
        """The links of all rounds, with their weights."""
        return Edges.of(self.rounds)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Periodic):
            return NotImplemented
        return self.period == other.period and all(
            mine.same_weights(theirs)
            for mine, theirs in zip(self.rounds, other.rounds, strict=True)
        )

    def __hash__(self) -> int:
        return hash((self.num_nodes, tuple(r.matrix.values.numel() for r in self.rounds)))


def require_contraction(network: Periodic) -> None:
    """Refuse a network with λ = 1: on it, disagreement would never vanish."""
    matrices = [r.matrix for r in network.rounds]
    classes = merged_classes(matrices).unique()
    if len(classes) == 1:
        return
    parts = graph_components(matrices).unique()
    if len(parts) > 1:
        raise InvalidInput(
            f"{network.name}: the graph falls into {len(parts)} parts (nodes {parts[0]} and "
            f"{parts[1]} are not connected), need a connected graph; add edges between the parts"
        )
    when = "a round" if network.period == 1 else f"a period of {network.period} rounds"
    raise InvalidInput(
        f"{network.name}: the graph is connected but λ = 1 ({when} does not average the values of "
        f"nodes {classes[0]} and {classes[1]}, so their disagreement need not become smaller), "
        "need λ < 1; give every node a weight on itself, e.g. by (W + I) / 2 with the identity I"
    )
