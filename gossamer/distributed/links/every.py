"""Links that are used now and then."""

from torch import Tensor

from gossamer.distributed.links.plain import Links
from gossamer.networks.channel import Call
from gossamer.networks.every import Every


class EveryLinks(Links):
    """`inner` in every k-th step; between, nothing is sent, and each node keeps what it has."""

    def __init__(self, network: Every, inner: Links) -> None:
        self._network, self._inner = network, inner

    def pull(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """z itself, or the inner links'."""
        return self._inner.pull(self._talk(call), z, memory) if self._talks(call) else z

    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """Likewise."""
        return self._inner.push(self._talk(call), z, memory) if self._talks(call) else z

    def _talks(self, call: Call) -> bool:
        return self._network.talks_at(call.t)

    def _talk(self, call: Call) -> Call:
        return call._replace(t=call.t // self._network.k)
