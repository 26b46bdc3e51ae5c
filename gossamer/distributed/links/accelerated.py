"""Links that are used several times per mix."""

from collections.abc import Callable

from torch import Tensor

from gossamer.distributed.links.plain import Links
from gossamer.networks.accelerated import Accelerated
from gossamer.networks.channel import Call


class AcceleratedLinks(Links):
    """z_{s+1} = ω_{s+1} W z_s + (1 − ω_{s+1}) z_{s−1}, k exchanges of `inner`."""

    def __init__(self, network: Accelerated, inner: Links) -> None:
        self._network, self._inner = network, inner

    def pull(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """z_k from z_0 = z."""
        call = call._replace(room=None, squares=None)  # z is read again, and the result changed
        return self._exchanges(lambda z: self._inner.pull(call, z, memory), z)

    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """Likewise: each exchange keeps the total."""
        call = call._replace(room=None, squares=None)
        return self._exchanges(lambda z: self._inner.push(call, z, memory), z)

    def _exchanges(self, mix: Callable[[Tensor], Tensor], z: Tensor) -> Tensor:
        before, now = z, mix(z)
        for omega in self._network.momenta[1:]:
            before, now = now, mix(now).mul_(omega).add_(before, alpha=1 - omega)
        return now
