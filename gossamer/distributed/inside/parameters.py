"""What one of several processes of a node holds of its parameters."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gossamer.distributed.flat import FlatParameters
from gossamer.distributed.inside.crew import Crew
from gossamer.distributed.inside.layout import Layout, in_runs
from gossamer.distributed.inside.mesh import is_sharded, local, require_rows
from gossamer.errors import require


class PartParameters(FlatParameters):
    """This process's numbers of all parameters as one vector x, `(dim of this process,)`.

    Of a DTensor of `fully_shard` they are its shard. Of a plain tensor, which every process of the
    node has whole, as under `DistributedDataParallel`, they are one run of its numbers; when x was
    written, the processes show each other their runs. `buffer` is a copy of them, from which `show`
    writes the model.

    Args:
        groups: the parameters of every param group.
        crew: the processes of the node.
    """

    def __init__(self, groups: Sequence[Sequence[Tensor]], crew: Crew) -> None:
        self.params = [p for group in groups for p in group]
        self.layout = _layout(self.params, crew)
        enough = min(sum(row) for row in self.layout.counts)
        need = "at least two for every process of a node"
        require(enough >= 2, "params", f"{enough} numbers for a process", need, "use fewer")
        pieces = iter([self._held(k).clone() for k in range(len(self.params))])
        self._own = FlatParameters([[next(pieces) for _ in group] for group in groups])
        self.sizes, self.buffer = self._own.sizes, self._own.buffer
        self._compared = False

    @property
    def is_apart(self) -> bool:
        """Whether x is more precise than the model."""
        return self._own.is_apart

    def views(self, buffer: Tensor) -> list[Tensor]:
        """This process's numbers of each parameter, of a tensor like `buffer`."""
        return self._own.views(buffer)

    def gather_grads(self) -> Tensor:
        """This process's part of all gradients as a new tensor; absent ones are 0."""
        self._require_alike_inside()
        for k, (p, piece) in enumerate(zip(self.params, self._own.params, strict=True)):
            held = None if p.grad is None else local(p.grad).to_dense()
            piece.grad = None if held is None else self._run(k, held.flatten())
        return self._own.gather_grads()

    @torch.no_grad()
    def show(self) -> None:
        """Let the model have x, which was written; a collective if tensors are whole here."""
        self._own.show()
        for k, piece in enumerate(self._own.params):
            self._held(k).copy_(piece)
        if not all(map(is_sharded, self.params)):
            self._show_each_other()

    @torch.no_grad()
    def relink(self) -> None:
        """Take over parameters that were given new values."""
        for k, piece in enumerate(self._own.params):
            piece.copy_(self._held(k))
        self._own.relink()

    def whole(self, z: Tensor) -> Tensor:
        """The node's vector, of which `z` is this process's part; a collective."""
        if z.shape == self.buffer.shape:
            return self.layout.whole(z)
        found = f"{z.numel()} numbers about messages of a part, as compressed links remember them"
        way_out = "take a network without losses or compression, or one process per node"
        require(z.numel() <= 1, "checkpoint", found, "what the nodes hold of x", way_out)
        return z

    def part(self, z: Tensor) -> Tensor:
        """This process's part of the node's vector `z`."""
        whole = sum(shape.numel() for shape in self.layout.shapes)
        return self.layout.part(z) if z.shape == (whole,) else z

    def _held(self, k: int) -> Tensor:
        """The memory of this process's numbers of a parameter."""
        return self._run(k, local(self.params[k]).view(-1))

    def _run(self, k: int, row: Tensor) -> Tensor:
        return row if is_sharded(self.params[k]) else row[self.layout.own_span(k)]

    def _show_each_other(self) -> None:
        widths = [sum(row) for row in self.layout.counts]
        own = torch.cat(list(self._own.params))
        for process, held in enumerate(self.layout.crew.each_of(own, widths)):
            pieces = held.split(self.layout.counts[process])
            for k, (p, piece) in enumerate(zip(self.params, pieces, strict=True)):
                if not is_sharded(p):
                    p.detach().view(-1)[self.layout.span(k, process)].copy_(piece)

    def _require_alike_inside(self) -> None:
        """Refuse, at the first step, gradients of whole tensors that differ inside the node."""
        whole = [p.grad for p in self.params if p.grad is not None and not is_sharded(p)]
        if self._compared or all(map(is_sharded, self.params)):
            return
        self._compared = bool(whole)
        sums = self.layout.crew.gather([repr(float(grad.sum())) for grad in whole])
        need = "the same on all processes of a node"
        way_out = 'DistributedDataParallel(model, process_group=mesh.get_group("shard"))'
        same = all(theirs == sums[0] for theirs in sums)
        require(same, "gradients", "different ones inside a node", need, way_out)


def _layout(params: Sequence[Tensor], crew: Crew) -> Layout:
    by_parameter = []
    for p in params:
        if is_sharded(p):
            assert crew.group is not None
            require_rows(p, crew.group)
            rows = in_runs(p.shape[0], crew.size)
            by_parameter.append([n * p.shape[1:].numel() for n in rows])
        else:
            p.data = p.data.contiguous()
            by_parameter.append(in_runs(p.numel(), crew.size))
    counts = [list(row) for row in zip(*by_parameter, strict=True)]
    return Layout([p.shape for p in params], counts, crew)
