"""Going on without a dead node."""

import json
import time
from datetime import timedelta

import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store

from gossamer.distributed.failures import PeerFailure
from gossamer.distributed.secret import opened, require_secret, sealed
from gossamer.errors import InvalidInput, require
from gossamer.networks import Network, StaticNetwork
from gossamer.networks.modified import layers
from gossamer.user_line import warn_user

POLL_SECONDS = 0.02


class Survivors:
    """The ranks that are left, and how they agree on that.

    A rank whose exchange fails closes its connections, so that the failure reaches every rank, and
    posts its step in the rendezvous store. A rank that has not posted within twice the timeout is
    dead; the first proposal to enter the store decides for all. The survivors then form a new
    default process group, ranks renumbered in order, on the network `network.without(dead)`.

    They go on at the largest step any of them had reached. One that lags behind sits out its calls
    of `step()` until then, so that all still take their last step together.

    The store must outlive the dead rank: see docs/distributed.md for how to start one.
    """

    def __init__(self, network: Network, timeout: float) -> None:
        *_, links = layers(network)
        steady = isinstance(links, StaticNetwork) and links.symmetric
        way_out = 'use on_peer_failure="raise", or gs.ring, gs.complete, gs.torus, …'
        require(steady, "network", network.name, 'static with W = Wᵀ to be able to "drop"', way_out)
        launched = dist.is_initialized()
        require(launched, "process_group", None, 'several processes to be able to "drop"')
        part = f"{network.num_nodes} of {dist.get_world_size()} processes"
        everyone = network.num_nodes == dist.get_world_size()
        require(everyone, "process_group", part, 'all processes to be able to "drop"')
        self._store = dist.distributed_c10d._get_default_store()
        self._timeout = timeout
        self._rank, self._size = dist.get_rank(), dist.get_world_size()
        self.numbers = list(range(self._size))
        """Rank now → its number when the run began, which all messages use."""
        self._regroupings = 0

    def regroup(self, failure: PeerFailure, network: Network, step: int) -> tuple[Network, int]:
        """Form the new default group; returns the survivors' network and the step to go on at."""
        self._regroupings += 1
        failure = failure.numbered(self.numbers)
        store = PrefixStore(f"survivors_{self._regroupings}", self._store)
        try:
            steps = self._decide(store, step)
        except RuntimeError as error:
            raise _gave_up(failure, f"the rendezvous store is of no use: {error}") from error
        dead = sorted(set(range(self._size)) - set(steps))
        network = self._network_without(dead, network, failure)
        gone = [self.numbers[rank] for rank in dead]
        self.numbers = [self.numbers[rank] for rank in sorted(steps)]
        self._rank, self._size = sorted(steps).index(self._rank), len(steps)
        try:
            self._form_group(store)
        except RuntimeError as error:  # someone died meanwhile
            failure = PeerFailure(self._rank, [], failure.step, str(error))
            return self.regroup(failure, network, step)
        warn_user(f"step {step}: going on without rank(s) {gone}, on {network}")
        return network, max(steps.values())

    def _decide(self, store: Store, step: int) -> dict[int, int]:
        """Rank → step of every survivor, the same answer on all."""
        store.set(f"step_of_{self._rank}", sealed(self._about(self._rank), str(step)))
        deadline = time.monotonic() + 2 * self._timeout
        ranks = range(self._size)
        while time.monotonic() < deadline and not store.check(["decision"]):
            if all(store.check([f"step_of_{rank}"]) for rank in ranks):
                break
            time.sleep(POLL_SECONDS)
        posted = {r: store.get(f"step_of_{r}") for r in ranks if store.check([f"step_of_{r}"])}
        steps = {rank: opened(self._about(rank), text) for rank, text in posted.items()}
        proposal = json.dumps({rank: int(text) for rank, text in steps.items() if text})
        about = self._about("decision")
        decision = opened(about, store.compare_set("decision", "", sealed(about, proposal)))
        if decision is None:
            raise RuntimeError("what it says of the survivors was not written by one of them")
        return {int(rank): int(step) for rank, step in json.loads(decision).items()}

    def _about(self, what: object) -> str:
        return f"survivors_{self._regroupings}: {what}"

    def _network_without(self, dead: list[int], network: Network, failure: PeerFailure) -> Network:
        if self._rank in dead:
            raise _gave_up(failure, "this rank was silent too long, the others go on without it")
        for node in reversed(dead):
            try:
                network = network.without(node)
            except InvalidInput as reason:
                gone = [self.numbers[rank] for rank in dead]
                raise _gave_up(failure, f"cannot go on without {gone}: {reason}") from reason
        return network

    def _form_group(self, store: Store) -> None:
        dist.init_process_group(
            "gloo",
            store=PrefixStore("group", store),
            rank=self._rank,
            world_size=self._size,
            timeout=timedelta(seconds=self._timeout),
        )
        require_secret(dist.group.WORLD, self._timeout)


def _gave_up(failure: PeerFailure, reason: str) -> PeerFailure:
    return PeerFailure(failure.rank, failure.edges, failure.step, f"{failure.reason}; {reason}")
