"""Device meshes of torch: which processes are nodes of a network, and which are one node."""

from typing import TYPE_CHECKING, Any

import torch.distributed as dist
from torch import Tensor

from gossamer.errors import require

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

WAY_OUT = 'e.g. init_device_mesh("cpu", (2, 2), mesh_dim_names=("node", "shard"))'


def groups_of(mesh: "DeviceMesh") -> tuple[dist.ProcessGroup, dist.ProcessGroup | None]:
    """This process's group between nodes, along the first dimension, and inside its node."""
    need = "one dimension, of nodes, or two: nodes, and processes of a node"
    require(mesh.ndim in (1, 2), "device_mesh", f"{mesh.ndim} dimensions", need, WAY_OUT)
    inside = mesh.get_group(1) if mesh.ndim == 2 and mesh.size(1) > 1 else None
    return mesh.get_group(0), inside


def is_sharded(p: Tensor) -> bool:
    """Whether it is a DTensor, e.g. of `fully_shard`; torch takes seconds to import these."""
    return hasattr(p, "to_local")


def local(p: Tensor) -> Tensor:
    """What this process has of a tensor: all of it, or its shard."""
    if not is_sharded(p):
        return p.detach()
    held: Tensor = p.detach().to_local()  # type: ignore[attr-defined]
    return held


def whole(p: Tensor) -> Tensor:
    """A tensor with all its numbers; a collective of its processes."""
    gathered: Tensor = p.full_tensor() if is_sharded(p) else p  # type: ignore[attr-defined]
    return gathered


def give(p: Tensor, values: Tensor) -> None:
    """Write this process's part of `values` into a tensor."""
    if is_sharded(p):
        from torch.distributed.tensor import distribute_tensor

        mesh, placements = p.device_mesh, p.placements  # type: ignore[attr-defined]
        values = distribute_tensor(values, mesh, placements, src_data_rank=None)
    p.copy_(values)


def require_whole(params: list[Tensor]) -> None:
    """Refuse DTensors of a node of one process."""
    sharded = [tuple(p.shape) for p in params if is_sharded(p)]
    found, need = f"DTensors of shapes {sharded}", "plain tensors of a node of one process"
    way_out = 'fully_shard(model, mesh=mesh["shard"]) and device_mesh=mesh, ' + WAY_OUT
    require(not sharded, "params", found, need, way_out)


def require_rows(p: Any, group: dist.ProcessGroup) -> None:
    """Refuse a DTensor that is not divided by rows among the processes of the node."""
    mesh = p.device_mesh
    rows = [(type(one).__name__, getattr(one, "dim", None)) for one in p.placements]
    same = rows == [("Shard", 0)] and mesh.mesh.tolist() == dist.get_process_group_ranks(group)
    found = f"a DTensor with {p.placements} on {mesh}"
    need = "one that is divided along its first axis among the processes of a node"
    require(same, "params", found, need, 'fully_shard(model, mesh=mesh["shard"])')
