"""Checkpoints: a folder per step, a file per node, readable by ranks and by the simulator.

    folder/step-00000020/node-0.safetensors        x, state.v, state.y, …, each `(dim,)`
                         node-0.complete           empty: all nodes have written theirs
                         node-1.safetensors        and the metadata of `NodeRecord`
                         …

A file appears under its name only when it is whole, and carries a checksum; a step is complete when
all its nodes are, by one save: a run that was killed while it saved may leave files of a step that
it takes again, otherwise.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from gossamer.distributed.model_state import average
from gossamer.errors import InvalidInput, require
from gossamer.files import whole_file
from gossamer.sealed import read_sealed, write_sealed

FORMAT = "gossamer-checkpoint-2"


@dataclass(frozen=True)
class NodeRecord:
    """One node at one step."""

    step: int
    node: int
    num_nodes: int
    algorithm: str
    network: str
    parameters: list[tuple[str, list[int]]]
    """Name and shape of every parameter tensor, in the order in which x holds them."""
    tensors: dict[str, Tensor] = field(repr=False)
    """Vectors "x", "state.<field>" and what its links remember, "links.<mix of a step>.<name>"; of
    real runs also the model's tensors that are not mixed, "model.<name>", and "resume": RNG, param
    groups, extras."""
    seed: int = 0
    """Of the network's randomness."""
    tied: dict[str, str] = field(default_factory=dict)
    """Names of the model's state dict → the name under which their tensor is kept."""
    save: str = ""
    """The name of the save that wrote it, one for all nodes; empty if a simulation wrote it."""
    original_rank: int | None = None
    """The rank that it had at first, before nodes were dropped; None if a simulation wrote it."""

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return self.tensors["x"].numel()

    @property
    def simulated(self) -> bool:
        """Whether a simulation wrote it, which has one vector of parameters without names."""
        return self.parameters == [("x", [self.dim])] and "resume" not in self.tensors

    @property
    def links(self) -> dict[str, Tensor]:
        """What the node's links remember, by "<mix of a step>.<name>"."""
        return self._under("links.")

    @property
    def local(self) -> dict[str, Tensor]:
        """The model's tensors that are not mixed: frozen parameters and buffers, by name."""
        return self._under("model.")

    def _under(self, prefix: str) -> dict[str, Tensor]:
        named = {name: z for name, z in self.tensors.items() if name.startswith(prefix)}
        return {name.removeprefix(prefix): z for name, z in named.items()}


def step_folder(folder: Path, step: int) -> Path:
    """Where the files of a step are."""
    return folder / f"step-{step:08d}"


def node_file(folder: Path, step: int, node: int) -> Path:
    """Where one node of a step is."""
    return step_folder(folder, step) / f"node-{node}.safetensors"


def write_node(folder: Path, record: NodeRecord) -> None:
    """Write one node's file, whole or not at all, and on the disk before it appears."""
    path = node_file(folder, record.step, record.node)
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {k: v for k, v in vars(record).items() if k != "tensors"} | {"format": FORMAT}
    write_sealed(path, record.tensors, {"record": json.dumps(facts)})


def mark_complete(folder: Path, step: int, node: int) -> None:
    """Note beside the node's file that all nodes have written theirs."""
    with suppress(OSError):  # a hint for later, and no reason to end a run
        _mark(folder, step, node).touch()


def knows_of_others(folder: Path, node: int) -> bool:
    """Whether some step of the node's files was complete once, whoever has lost it since.

    A mark says so, and so does a second step: nobody saves one before all have saved the first.
    """
    steps = steps_of_node(folder, node)
    return len(steps) > 1 or any(_mark(folder, step, node).exists() for step in steps)


def _mark(folder: Path, step: int, node: int) -> Path:
    return node_file(folder, step, node).with_suffix(".complete")


def read_node(folder: Path, step: int, node: int) -> NodeRecord:
    """Read one node's file; a damaged or foreign one raises `InvalidInput`."""
    path = node_file(folder, step, node)
    tensors, metadata = read_sealed(path, "checkpoint", "take an older step, or delete this file")
    facts = json.loads(metadata.get("record", "{}"))
    ours = facts.pop("format", None) == FORMAT and (facts["step"], facts["node"]) == (step, node)
    require(ours, "checkpoint", path, "a file that Gossamer wrote for this step and node")
    facts["parameters"] = [(name, shape) for name, shape in facts["parameters"]]
    return NodeRecord(**facts, tensors=tensors)


def steps_of_node(folder: Path, node: int) -> list[int]:
    """The steps for which the node has a file, whole or not, in order."""
    return [step for step in _steps_in(folder) if node_file(folder, step, node).exists()]


def _steps_in(folder: Path) -> list[int]:
    found = (re.fullmatch(r"step-(\d+)", path.name) for path in folder.glob("step-*"))
    return sorted(int(match[1]) for match in found if match)


def discard(folder: Path, step: int, node: int) -> None:
    """Delete the node's file of a step that other nodes could not write."""
    with suppress(OSError):
        node_file(folder, step, node).unlink(missing_ok=True)
        step_folder(folder, step).rmdir()  # unless other nodes have files there


def prune(folder: Path, node: int, newest: int, keep: int) -> None:
    """Delete the node's files up to step `newest` but the last `keep`, and folders left empty.

    What a process that was killed left half written goes with its step. Later steps are another
    run's, or an abandoned future, and no reason to delete this run's.
    """
    kept = [step for step in steps_of_node(folder, node) if step <= newest][-keep:]
    for step in [step for step in _steps_in(folder) if step <= newest and step not in kept]:
        with suppress(OSError):  # other nodes have files there, have just removed it, or it is kept
            for path in step_folder(folder, step).glob(f"*node-{node}.*"):
                path.unlink(missing_ok=True)
            step_folder(folder, step).rmdir()


def read_nodes(folder: str | os.PathLike[str], step: int | None = None) -> list[NodeRecord]:
    """Read the checkpoints of all nodes at `step`, by default at the newest complete step.

    A step is complete if the file of every node can be read. Each record has the node's vectors in
    `tensors`, e.g. `tensors["x"]`.
    """
    folder = Path(folder)
    problems = []
    for candidate in [step] if step is not None else reversed(steps_of_node(folder, 0)):
        try:
            return list(_nodes_at(folder, candidate))
        except InvalidInput as reason:
            problems.append(str(reason))
    raise InvalidInput("; ".join([f"checkpoint: no complete step in {folder}", *problems]))


def _nodes_at(folder: Path, step: int) -> Iterator[NodeRecord]:
    first = read_node(folder, step, 0)
    yield first
    for node in range(1, first.num_nodes):
        record = read_node(folder, step, node)
        found, need = node_file(folder, step, node), "a file from the same save as that of node 0"
        way_out = "take an older step, or resume the run and save again"
        require(record.save == first.save, "checkpoint", found, need, way_out)
        yield record


def export(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    node: int | None = None,
    step: int | None = None,
) -> None:
    """Write one node's model, or the average of all nodes' models, as a safetensors file.

    If `Checkpoints` was given the model, the file contains the complete state dict of the model.
    You can load it by `model.load_state_dict(load_file(path))`, where `load_file` is a function of
    `safetensors.torch`. The average includes buffers of real numbers, e.g. BatchNorm's running
    means and variances. Buffers of integers are those of node 0. The file is written completely or
    not at all.

    Args:
        folder: the folder of the checkpoints.
        path: the file to be written.
        node: the node whose model is written; by default the average of all models is written.
        step: the step of the checkpoint; by default the newest complete one.
    """
    records = read_nodes(folder, step)
    known = node is None or 0 <= node < len(records)
    require(known, "node", node, f"None for the average, or an integer in [0, {len(records) - 1}]")
    chosen = records if node is None else [records[node]]
    tensors = _parameters(chosen)
    tensors |= {name: average([r.local[name] for r in chosen]) for name in chosen[0].local}
    tensors |= {name: tensors[other].clone() for name, other in chosen[0].tied.items()}
    with whole_file(Path(path)) as partial:
        save_file(tensors, partial, metadata={"format": "pt", "step": str(chosen[0].step)})


def _parameters(records: Sequence[NodeRecord]) -> dict[str, Tensor]:
    """The average x, as tensors by name."""
    x = torch.stack([record.tensors["x"] for record in records]).mean(0)
    names, shapes = zip(*records[0].parameters, strict=True)
    parts = x.split([torch.Size(shape).numel() for shape in shapes])
    return {n: p.view(s).clone() for n, p, s in zip(names, parts, shapes, strict=True)}
