"""Moving a run from processes to the simulator and back, through a checkpoint."""

import os
from pathlib import Path

import torch

from gossamer.distributed.checkpoint import NodeRecord, mark_complete, read_nodes, write_node
from gossamer.distributed.links.refusals import require_same_links, require_taken_up
from gossamer.distributed.links.stacked import apart, together
from gossamer.errors import require
from gossamer.networks.link_names import named
from gossamer.simulation.stack import Stack


def load_stack(folder: str | os.PathLike[str], stack: Stack) -> None:
    """Put all nodes of the newest checkpoint into `stack`, one run of the same method."""
    records = read_nodes(folder)
    method, shape = type(stack.algorithm).__name__, (len(records), 1, records[0].dim)
    saved = f"{records[0].algorithm} of shape {shape}"
    same = records[0].algorithm == method and stack.x.shape == shape
    require(same, "checkpoint", saved, f"{method} of shape {tuple(stack.x.shape)}")
    held = {"x": stack.x, **{f"state.{k}": z for k, z in stack.state._asdict().items()}}
    stacked = {
        name: torch.stack([record.tensors[name] for record in records])[:, None].to(like)
        for name, like in held.items()
    }
    stack.t, stack.x = records[0].step, stacked.pop("x")
    stack.state = type(stack.state)(*stacked.values())
    links = [record.links for record in records]
    for own in links:
        require_taken_up(own, stack.network, wait=True)
    if any(links):
        require_same_links(records[0], stack.network, stack.seeds[0])
    stack.links = together(links, stack.network, stack.x)


def save_stack(folder: str | os.PathLike[str], stack: Stack) -> None:
    """Write `stack`, which has one run, as a checkpoint that ranks can resume from."""
    runs = len(stack.seeds)
    require(runs == 1, "stack", f"{runs} runs", "a stack of one run", "simulate the run alone")
    fields = {f"state.{name}": z for name, z in stack.state._asdict().items()}
    memory = tuple({name: z[:, 0].cpu() for name, z in site.items()} for site in stack.links)
    links = [named(own) for own in apart(memory, stack.network, stack.seeds[0], stack.t)]
    for node in range(len(stack.x)):
        record = NodeRecord(
            step=stack.t,
            node=node,
            num_nodes=len(stack.x),
            algorithm=type(stack.algorithm).__name__,
            network=stack.network.name,
            parameters=[("x", [stack.x.shape[-1]])],
            tensors={
                **{name: z[node, 0] for name, z in {"x": stack.x, **fields}.items()},
                **{f"links.{name}": z for name, z in links[node].items()},
            },
            seed=stack.seeds[0],
        )
        write_node(Path(folder), record)
    for node in range(len(stack.x)):
        mark_complete(Path(folder), stack.t, node)
