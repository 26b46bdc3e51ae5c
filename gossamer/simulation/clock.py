"""How long a run would take on a network of real machines."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from gossamer.errors import real, require
from gossamer.networks.chance import stream_keys, uniform
from gossamer.networks.channel import Deliveries
from gossamer.simulation.traffic import Traffic


@dataclass(frozen=True)
class Clock:
    """Seconds of a run by a model of its machines; nothing is measured.

    Each node has a time T_i of its own, 0 at the start. In every step it computes a gradient and
    then exchanges messages with its neighbours, once for each mix (k times where the network is
    `accelerated(k)`), one exchange after the other:

        T_i ← T_i + gradient · slow_i · (1 + stragglers · ε_i),   ε_i ~ Exp(1)
        T_i ← max (T_j + latency + b_j / bandwidth)   over j = i and all j that i hears from

    with b_j the bytes that node j sends in the exchange, to all its neighbours together. A message
    that is lost is not waited for, and where node j sends nothing it is ready at once, so that a
    silent step takes the time of its gradients. ε_i is a pure function of seed, step and node. The
    weight that `PushSum` sends is a mix of its own, and costs a latency as any other.

    Args:
        latency: seconds on the way of a message, however short.
        bandwidth: bytes that leave a node in a second.
        gradient: seconds of a gradient.
        stragglers: by how much gradients take longer at random, on average: 0.5 for half as long
            again. Different nodes are late in different steps, and neighbours wait for them.
        slow: node → how many times as long its gradients always take.

    >>> import gossamer as gs
    >>> clock = gs.Clock(latency=0.001, bandwidth=1e6, gradient=0.02)
    >>> run = gs.simulate(gs.DSGD(0.1), gs.Quadratic(8, 4), gs.ring(8), steps=100, clock=clock)
    >>> run.final("seconds")  # 100 times 0.02 + 0.001 + 2 · 4 · 8 / 1e6
    tensor([2.1064], dtype=torch.float64)
    """

    latency: float
    bandwidth: float
    gradient: float
    stragglers: float = 0.0
    slow: Mapping[int, float] | None = None

    def __post_init__(self) -> None:
        for name in ("latency", "gradient", "stragglers"):
            value, need = getattr(self, name), "a finite number, at least 0"
            require(0 <= real(name, value, need) < math.inf, name, value, need)
        need = "a finite number of bytes per second above 0"
        bandwidth = real("bandwidth", self.bandwidth, need)
        require(0 < bandwidth < math.inf, "bandwidth", self.bandwidth, need)
        if self.slow is not None:
            need, way_out = "finite factors above 0", "e.g. slow={3: 10}"
            numbers = [real("slow", factor, need, way_out) for factor in self.slow.values()]
            factors = all(0 < factor < math.inf for factor in numbers)
            require(factors, "slow", self.slow, need, way_out)
            by_node = {int(node): float(factor) for node, factor in self.slow.items()}
            object.__setattr__(self, "slow", by_node)  # JSON has words for nodes

    def describe(self) -> dict[str, Any]:
        """Its arguments, as plain JSON."""
        return asdict(self)

    def seconds_at(self, traffic: Traffic, times: Sequence[int]) -> Tensor:
        """When the last node has taken so many steps, for each of `times`, `(times, seeds)`.

        `times` rise from 0.
        """
        nodes, seeds = traffic.network.num_nodes, traffic.seeds
        ready = torch.zeros(nodes, len(seeds), dtype=torch.float64)
        factors, exchanges = self._factors(nodes), traffic.channel.exchanges
        last, wanted = [ready.amax(0)], set(times)
        for steps in traffic.blocks(times[-1]):
            computing = self._computing(steps, seeds, factors)
            sending = [self._sending(sent.double() / exchanges) for sent in traffic.sent(steps)]
            for row, t in enumerate(steps):
                links, ready = traffic.channel.deliveries(t), ready + computing[row]
                for mix in sending:
                    for _ in range(exchanges):
                        ready = exchanged(ready + mix[row], links)
                if t + 1 in wanted:
                    last.append(ready.amax(0))
        return torch.stack(last)

    def _factors(self, nodes: int) -> Tensor:
        """How many times as long each node computes, `(nodes, 1)`."""
        slow = self.slow or {}
        known = all(0 <= node < nodes for node in slow)
        require(known, "slow", list(slow), f"nodes among 0, …, {nodes - 1}")
        factors = torch.ones(nodes, 1, dtype=torch.float64)
        for node, factor in slow.items():
            factors[node] = factor
        return factors

    def _computing(self, steps: range, seeds: Sequence[int], factors: Tensor) -> Tensor:
        """Seconds of every gradient, `(steps, nodes, seeds)`."""
        seconds = self.gradient * factors
        if self.stragglers == 0:
            return seconds.expand(len(steps), -1, -1)
        rounds = torch.arange(steps.start, steps.stop)[:, None, None]
        nodes = torch.arange(len(factors))[:, None]
        coins = uniform(stream_keys("stragglers", seeds), rounds, nodes)
        return seconds * (1 - self.stragglers * torch.log1p(-coins))

    def _sending(self, sent: Tensor) -> Tensor:
        """Seconds until messages of so many bytes have arrived; nothing takes none."""
        return torch.where(sent > 0, self.latency + sent / self.bandwidth, 0.0)


def exchanged(sent: Tensor, links: Deliveries) -> Tensor:
    """When each node has sent its messages and has those it hears, `(nodes, seeds)`.

    Args:
        sent: when the messages of each node have arrived, `(nodes, seeds)`.
        links: which of them do.
    """
    arrival = torch.where(links.arrived, sent[links.sender], -torch.inf)
    return sent.scatter_reduce(0, links.receiver[:, None].expand_as(arrival), arrival, "amax")
