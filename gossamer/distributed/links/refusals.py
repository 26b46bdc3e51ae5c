"""What cannot be done on some networks, with the way out."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.distributed.checkpoint import NodeRecord
from gossamer.errors import require
from gossamer.networks import Network
from gossamer.networks.every import Every
from gossamer.networks.link_names import has_copies
from gossamer.networks.modified import layers
from gossamer.networks.periodic import Periodic


def require_one_rounding(network: Network, message_dtype: torch.dtype | None) -> None:
    """Refuse to round messages that are compressed."""
    once = message_dtype is None or not network.compresses
    way_out = 'leave it out; .compressed(gs.Cast("bfloat16")) sends bfloat16'
    found = f"{message_dtype} on {network.name}"
    require(once, "message_dtype", found, "None where messages are compressed", way_out)


def require_no_waiting(method: Algorithm[Any], network: Network) -> None:
    """Refuse not to wait where that would lead to the wrong point, or cannot be done.

    >>> from gossamer.algorithms import DSGD
    >>> from gossamer.networks import ring
    >>> require_no_waiting(DSGD(lr=0.1), ring(4))
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: wait: got False with DSGD, need True, or a method with a tracker,
    in which nodes that step more often do not count for more; use e.g. gs.GTDSGD or gs.GTNSGDm
    """
    tracks = method.tracker is not None and "push_weight" not in method.pushes
    need = "True, or a method with a tracker, in which nodes that step more often do not count for "
    way_out = "use e.g. gs.GTDSGD or gs.GTNSGDm"
    require(tracks, "wait", f"False with {type(method).label}", f"{need}more", way_out)
    plain = all(isinstance(one, Periodic | Every) for one in layers(network))
    need = "True, or links that are not random and messages that are whole"
    way_out = "leave its modifications out; message_dtype=torch.bfloat16 makes messages shorter"
    require(plain, "wait", f"False on {network.name}", need, way_out)


def require_taken_up(links: Mapping[str, Tensor], network: Network, wait: bool) -> None:
    """Refuse totals in flight where links would never deliver them."""
    waiting = wait and not network.loses_one_way and any(".in_flight." in name for name in links)
    found, need = "totals that were under way in a run with wait=False", "a run that does not wait"
    way_out = "go on with DecentralizedOptimizer(…, wait=False), which takes them up"
    require(not waiting, "links", found, need, way_out)


def require_links(state_dict: Mapping[str, Any], network: Network) -> None:
    """Refuse a state dict without the totals in flight; torch.distributed.checkpoint keeps none."""
    there = "links" in state_dict or not network.loses_one_way
    need = f"them too: on {network.name} they hold totals that are still on their way"
    way_out = "load what state_dict() returned, or use gossamer.distributed.Checkpoints"
    require(there, "state_dict", "no memory of the links", need, way_out)


def require_same_links(record: NodeRecord, network: Network, seed: int) -> None:
    """Refuse what the links of another network remember."""
    found = f"links of {record.network} with seed {record.seed} at step {record.step}"
    same = (record.network, record.seed) == (network.name, seed)
    require(same, "checkpoint", found, f"those of {network.name} with seed {seed}")


def require_nothing_owed(network: Network, links: Mapping[str, Tensor]) -> None:
    """Refuse more parameters where links still owe messages about the others."""
    owing = network.loses_one_way and has_copies(links)
    found, need = f"parameters that join on {network.name}", "all parameters from the first step on"
    way_out = "unfreeze them before it, or take a network that loses no compressed message"
    require(not owing, "params", found, need, way_out)
