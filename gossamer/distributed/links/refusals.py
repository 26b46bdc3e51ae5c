"""What cannot be done on some networks, with the way out."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from gossamer.distributed.checkpoint import NodeRecord
from gossamer.distributed.links.memory import has_copies
from gossamer.errors import require
from gossamer.networks import Network


def require_one_rounding(network: Network, message_dtype: torch.dtype | None) -> None:
    """Refuse to round messages that are compressed."""
    once = message_dtype is None or not network.compresses
    way_out = 'leave it out; .compressed(gs.Cast("bfloat16")) sends bfloat16'
    found = f"{message_dtype} on {network.name}"
    require(once, "message_dtype", found, "None where messages are compressed", way_out)


def require_links(state_dict: Mapping[str, Any], network: Network) -> None:
    """Refuse a state dict without the totals in flight; torch.distributed.checkpoint keeps none."""
    there = "links" in state_dict or not network.loses_one_way
    need = f"them too: on {network.name} they hold totals that are still on their way"
    way_out = "load what state_dict() returned, or use gs.Checkpoints"
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
