"""Networks that exchange several times per step, weighted to average as fast as can be."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from gossamer.errors import require, whole
from gossamer.networks.channel import Channel, PlainChannel
from gossamer.networks.mixer import Mixer, product
from gossamer.networks.modified import Modified, layers
from gossamer.networks.static import StaticNetwork


@dataclass(frozen=True, repr=False)
class Accelerated(Modified):
    """A network that mixes by k exchanges: z ↦ P_k(W) z with P_k(W) = T_k(W/λ) / T_k(1/λ).

    T_k is the k-th Chebyshev polynomial. Of all polynomials P of degree k with P(1) = 1, P_k has
    the smallest maximum of |P| on [−λ, λ]. A mix leaves at most a share 1/T_k(1/λ) of the
    disagreement, whereas k plain rounds leave up to λᵏ.

    Reference: Arioli and Scott, "Chebyshev acceleration of iterative refinement", 2014; Scaman et
    al., "Optimal algorithms for smooth and strongly convex distributed optimization", 2017.
    """

    k: int
    place: ClassVar[int] = 2

    def __post_init__(self) -> None:
        whole("k", self.k, 1)
        fixed = isinstance(self.inner, StaticNetwork) and self.inner.symmetric
        need = "the same W = Wᵀ in every exchange, without loss or compression"
        way_out = "accelerate an undirected network, e.g. ring(20).accelerated(3)"
        *faults, _ = layers(self.inner)
        if faults:
            calls = [f".{type(fault).__name__.lower()}(…)" for fault in reversed(faults)]
            way_out = f"leave out {' and '.join(calls)}"
        require(fixed, "accelerated", self.inner.name, need, way_out)

    @property
    def call(self) -> str:
        """The Python call that makes this modification, e.g. "accelerated(3)"."""
        return f"accelerated({self.k})"

    @property
    def departure(self) -> str:
        """Nothing: P_k(W) stays the same, and its rows and columns sum to 1."""
        return ""

    def _lam(self) -> float:
        lam = self.inner.lam
        return 0.0 if lam == 0 else 1 / math.cosh(min(700.0, self.k * math.acosh(1 / lam)))

    @cached_property
    def momenta(self) -> tuple[float, ...]:
        """The ω of the exchanges z_{s+1} = ω_{s+1} W z_s + (1 − ω_{s+1}) z_{s−1}, s = 0, …, k − 1.

        ω₁ = 1 and ω_{s+1} = 2 T_s(1/λ) / (λ T_{s+1}(1/λ)). They are computed recursively, by
        ω₂ = 2/(2 − λ²) and then ω_{s+1} = 1/(1 − λ²ω_s/4).
        """
        omegas = [1.0]
        for s in range(1, self.k):
            square = self.inner.lam**2
            omegas.append(2 / (2 - square) if s == 1 else 1 / (1 - square * omegas[-1] / 4))
        return tuple(omegas)

    @cached_property
    def weights(self) -> Tensor:
        """P_k(W), a dense (n, n) float64 tensor with rows and columns that sum to 1."""
        assert isinstance(self.inner, StaticNetwork)
        W = self.inner.weights
        before, now = torch.eye(len(W), dtype=W.dtype), W
        for omega in self.momenta[1:]:
            before, now = now, omega * (W @ now) + (1 - omega) * before
        return now

    def channel(
        self, seeds: Sequence[int], dtype: torch.dtype, device: torch.device | str
    ) -> Channel:
        """A channel that mixes by one product with P_k(W), or k products with W if it is sparse."""
        if self.k == 1:
            return self.inner.channel(seeds, dtype, device)
        assert isinstance(self.inner, StaticNetwork)
        plain = self.inner.mixer(dtype, device)
        if plain.pulls.layout == torch.sparse_csr:
            exchanges = ChebyshevMixer(plain.pulls, plain.pushes, plain.exact, self.momenta)
            return AcceleratedChannel(self, exchanges)
        narrow, exact = (self.weights.to(device, kind) for kind in (dtype, torch.float64))
        return AcceleratedChannel(self, Mixer(narrow, narrow, exact))


@dataclass(frozen=True, eq=False)
class ChebyshevMixer(Mixer):
    """z ↦ P_k(W) z by k products with W.

    Args:
        momenta: ω₁, …, ω_k.
    """

    momenta: tuple[float, ...]

    def product(self, weights: Tensor, z: Tensor) -> Tensor:
        """z_{s+1} = ω_{s+1} W z_s + (1 − ω_{s+1}) z_{s−1}."""
        before, now = z.to(weights.dtype), product(weights, z)
        for omega in self.momenta[1:]:
            before, now = now, torch.lerp(before, product(weights, now), omega)
        return now


class AcceleratedChannel(PlainChannel):
    """P_k(W), which costs k exchanges over the links of W."""

    def __init__(self, network: Accelerated, mixer: Mixer) -> None:
        assert isinstance(network.inner, StaticNetwork)
        super().__init__([mixer], network.inner)
        self.exchanges = network.k

    def messages_sent(self, steps: range) -> Tensor:
        """One to every out-neighbour, k times."""
        return self.exchanges * super().messages_sent(steps)
