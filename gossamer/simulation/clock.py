"""How long a run would take on a network of real machines."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.interval import NONNEGATIVE, POSITIVE, within
from gossamer.networks.chance import stream_keys, uniform
from gossamer.networks.channel import Deliveries
from gossamer.simulation.traffic import Traffic


@dataclass(frozen=True)
class Clock:
    """A model of how many seconds a run would take on real machines; nothing is measured.

    Every node i has its own time T_i, which starts at 0. In every step it computes a gradient (two
    with GT-NSTORM), and then exchanges messages with its neighbours, once for every vector that the
    method averages (k times for every vector if the network is `accelerated(k)`).

    - The gradients of a step: T_i ← T_i + m g s_i (1 + r ε_i), with g = `gradient`,
      s_i = `slow[i]`, r = `stragglers` and m gradients. The random number ε_i is exponential with
      mean 1, and depends only on the seed, the step and the node.
    - An exchange: T_i ← max_j (T_j + l + b_j/B), with l = `latency` and B = `bandwidth`. The
      maximum is over node i itself and all nodes j that it hears from, and b_j is the number of
      bytes that node j sends in this exchange, to all its neighbours together.

    Nobody waits for a message that is lost. If node j sends nothing, its l + b_j/B is 0, so a step
    without messages takes only the time of its gradients. `PushSum` sends its weights in an
    exchange of their own, which costs a latency like any other.

    Args:
        latency: seconds that a message takes on top of the time to send its bytes.
        bandwidth: bytes that a node can send per second.
        gradient: seconds that a gradient takes.
        stragglers: the average random delay of a gradient, as a share of its time: with 0.5,
            gradients take half as long again on average. Which nodes are late changes from step to
            step, and their neighbours wait for them.
        slow: node → how many times as long its gradients always take (1 for all other nodes).

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
            within(name, getattr(self, name), NONNEGATIVE)
        within("bandwidth", self.bandwidth, POSITIVE, "1e9 are a billion bytes per second")
        if self.slow is not None:
            by_node = {
                int(node): within("slow", factor, POSITIVE, "e.g. slow={3: 10}")
                for node, factor in self.slow.items()
            }
            object.__setattr__(self, "slow", by_node)  # JSON has words for nodes

    def describe(self) -> dict[str, Any]:
        """The arguments of the clock, as plain JSON."""
        return asdict(self)

    def seconds_at(self, traffic: Traffic, times: Sequence[int], gradients: int = 1) -> Tensor:
        """For every number of steps in `times`, the seconds until all nodes have made them.

        The result has shape `(times, seeds)`.

        Args:
            traffic: what is sent in the steps.
            times: they must begin with 0 and rise.
            gradients: how many a node evaluates in a step.
        """
        nodes, seeds = traffic.network.num_nodes, traffic.seeds
        ready = torch.zeros(nodes, len(seeds), dtype=torch.float64)
        factors, exchanges = gradients * self._factors(nodes), traffic.channel.exchanges
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
        """Seconds of the gradients of every step, `(steps, nodes, seeds)`."""
        seconds = self.gradient * factors
        if self.stragglers == 0:
            return seconds.expand(len(steps), -1, -1)
        rounds = torch.arange(steps.start, steps.stop)[:, None, None]
        nodes = torch.arange(len(factors))[:, None]
        coins = uniform(stream_keys("stragglers", seeds), rounds, nodes)
        return seconds * (1 - self.stragglers * torch.log1p(-coins))

    def _sending(self, sent: Tensor) -> Tensor:
        """Seconds until messages of this many bytes have arrived; nothing takes none."""
        return torch.where(sent > 0, self.latency + sent / self.bandwidth, 0.0)


def exchanged(sent: Tensor, links: Deliveries) -> Tensor:
    """When each node has sent its messages and has those it hears, `(nodes, seeds)`.

    Args:
        sent: when the messages of each node have arrived, `(nodes, seeds)`.
        links: which of them do.
    """
    arrival = torch.where(links.arrived, sent[links.sender], -torch.inf)
    return sent.scatter_reduce(0, links.receiver[:, None].expand_as(arrival), arrival, "amax")
