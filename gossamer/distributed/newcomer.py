"""A rank that comes to a run which has begun without it."""

import os
from collections.abc import Callable

from gossamer.distributed.company import patient_store
from gossamer.distributed.door import knock
from gossamer.distributed.survivors import Survivors
from gossamer.errors import require
from gossamer.networks import Network


class Newcomer:
    """This rank, which waits outside of the run until the others let it in.

    Args:
        network: of all nodes, or a function of how many there are.
        timeout: seconds that a rank may be silent.
        on_peer_failure: must be "drop"; where nobody can leave, nobody can come.
        min_nodes: how many it takes to go on; by default more than half of all.
    """

    def __init__(
        self,
        network: Network | Callable[[int], Network],
        timeout: float,
        on_peer_failure: str,
        min_nodes: int | None,
    ) -> None:
        number = int(os.environ["RANK"])
        late = f"{on_peer_failure} on rank {number}, without which the run has begun"
        way_out = "start all ranks anew"
        require(on_peer_failure == "drop", "on_peer_failure", late, '"drop"', way_out)
        self.entry = knock(patient_store(timeout), number, timeout)
        """What the others tell of the run."""
        began = range(self.entry["began"])
        self.survivors = Survivors(patient_store(timeout), network, began, timeout, min_nodes)
        """All who take part now."""
        self.words = self.survivors.enter(self.entry, number)
        """What is known of each of them, by rank."""
