"""What a `DecentralizedOptimizer` cannot be made of, and what it cannot load."""

from typing import Any

import torch.distributed as dist
from torch.optim.optimizer import StateDict

from gossamer.algorithms import Algorithm
from gossamer.distributed.collectives import size_of
from gossamer.distributed.shown_state import EXACT
from gossamer.errors import require
from gossamer.networks import Network
from gossamer.user_line import warn_user


def require_kinds(algorithm: object, network: object) -> None:
    """Refuse what is no method, or no network."""
    method = isinstance(algorithm, Algorithm)
    require(method, "algorithm", repr(algorithm), "a method, e.g. gs.DSGD(lr=0.1)")
    usable = isinstance(network, Network) or callable(network)
    require(usable, "network", repr(network), "a network, or a function, e.g. gs.ring")


def require_node_per_process(network: Network, processes: int, way_out: str) -> None:
    """Refuse a network of another size than the number of processes.

    >>> from gossamer.networks import ring
    >>> require_node_per_process(ring(5), 1, "use gs.ring(1)")
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: network: got ring(5) with 5 nodes on 1 process, need as many
    nodes as processes; use gs.ring(1)
    """
    nodes = f"{network.num_nodes} node" + "s" * (network.num_nodes != 1)
    found = f"{network.name} with {nodes} on {processes} process" + "es" * (processes != 1)
    same = network.num_nodes == processes
    if not same and network.name.startswith("hypercube("):
        way_out = _dimension_for(processes)
    require(same, "network", found, "as many nodes as processes", way_out)


def _dimension_for(processes: int) -> str:
    """What a hypercube takes instead of a number of nodes.

    >>> _dimension_for(4), _dimension_for(3)
    ('hypercube takes a dimension: hypercube(2)', 'hypercube takes a dimension: it has 2, 4, 8, …
    nodes; ring works for any number')
    """
    dimension = processes.bit_length() - 1
    if processes == 2**dimension:
        return f"hypercube takes a dimension: hypercube({dimension})"
    return "hypercube takes a dimension: it has 2, 4, 8, … nodes; ring works for any number"


def require_all_processes(group: dist.ProcessGroup | None) -> int:
    """Refuse to drop nodes of a part of the processes; how many there are."""
    several = dist.is_initialized()
    require(several, "process_group", None, 'several processes to be able to "drop"')
    processes, all_of_them = size_of(group), dist.get_world_size()
    part = f"{processes} of {all_of_them} processes"
    everyone = processes == all_of_them
    require(everyone, "process_group", part, 'all processes to be able to "drop"')
    return processes


def require_same_node(state_dict: StateDict, node: int) -> None:
    """Refuse the state of another node; torch.distributed.checkpoint does not say whose it is."""
    saved = state_dict.get("node", node)
    way_out = "load what this rank has saved; with Checkpoints, each rank finds its own file"
    require(saved == node, "state_dict", f"that of node {saved}", f"that of node {node}", way_out)


def require_own(state_dict: StateDict, algorithm: Algorithm[Any], fields: tuple[str, ...]) -> None:
    """Refuse the state dict of another method."""
    way_out = f"it was saved by another method than {type(algorithm).__name__}"
    known, names = {*fields, "step"}, {"weight_decay", *algorithm.arguments}
    for saved in state_dict["state"].values():
        require(
            set(saved) - {EXACT} == known, "state_dict", sorted(saved), str(sorted(known)), way_out
        )
    for group in state_dict["param_groups"]:
        there = sorted(set(group) - {"params", "param_names"})
        require(names <= set(group), "state_dict", there, str(sorted(names)), way_out)


def warn_of_rounded(state_dict: StateDict) -> None:
    """Warn of a state dict that has no x, into an optimizer whose model has rounded its own."""
    if not all(EXACT in saved for saved in state_dict["state"].values()):
        found = f'state_dict: it has no "{EXACT}", the float32 copy of each parameter'
        warn_user(f"{found}; steps go on from the parameters of the model, which are rounded")
