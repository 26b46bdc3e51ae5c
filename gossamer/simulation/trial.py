"""A few steps of a method on a task that is made for looking at the method."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, Both, Local
from gossamer.algorithms.local import STREAM
from gossamer.errors import require
from gossamer.networks.chance import Coins
from gossamer.seeding import stream
from gossamer.simulation.taken import require_state, require_taken

NODES, RUNS, STEPS = 4, 3, 3
SHAPES = (torch.Size([2, 3]), torch.Size([2]))
DIM = sum(shape.numel() for shape in SHAPES)

WEIGHTS = torch.tensor([[2, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 2]]).double() / 3
"""Of a line of four nodes."""


class Task(NamedTuple):
    """Gradients a (x − c) + noise, `(NODES, RUNS, DIM)`, all numbers drawn."""

    start: Tensor
    curvature: Tensor
    center: Tensor
    noise: Tensor

    @classmethod
    def of(cls, seed: int) -> "Task":
        """The one of this seed."""
        generator = stream("check method", seed)
        shapes = ((DIM,), (NODES, RUNS, DIM), (NODES, RUNS, DIM), (STEPS, NODES, RUNS, DIM))
        start, *drawn = (
            torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes
        )
        return cls(start, drawn[0].abs() + 0.1, *drawn[1:])


@dataclass(frozen=True)
class Trial:
    """A method on some nodes and runs of a task, or with `int`s on one node in one run alone."""

    method: Algorithm[Any]
    task: Task
    nodes: Sequence[int] | int = range(NODES)
    runs: Sequence[int] | int = range(RUNS)

    talking: bool = True
    """Whether nodes hear their neighbours on a line."""

    kind: dict[str, Any] = field(default_factory=lambda: {"dtype": torch.float64, "device": "cpu"})

    moment: Callable[[int], Any] = int
    """What the step is given as t."""

    def walk(self) -> Tensor:
        """The parameters after each step, `(STEPS, nodes, runs, DIM)`."""
        x = self._own(self.task.start.expand(NODES, RUNS, DIM)).contiguous()
        state, points = self.method.init(x), []
        require_state(state, x)
        for t in range(STEPS):
            x, state = self._step(t, x, state)
            points.append(x)
        return torch.stack(points)

    def _step(self, t: int, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        gradient = self._gradient(t)
        local = Local(t, gradient, self._coins, SHAPES)
        given = (x, gradient(x), *state)
        before = [one.clone() for one in given]
        asked = (local,) if self.method.asks_local else ()
        taken = self.method.step(self.moment(t), x, given[1], state, Both(self._mix), *asked)
        require_taken(self.method, taken, x)
        self._require_kept(x, state, *taken)
        self._require_unchanged(given, before)
        return taken[0], taken[1]

    def _require_kept(self, x: Tensor, state: Any, new_x: Tensor, new_state: Any) -> None:
        """Refuse another kind of state or of tensors than before the step."""
        before, after = type(state).__name__, type(new_state).__name__
        need = f"the {before} that `init` makes"
        require(type(new_state) is type(state), self.name, f"a state of type {after}", need)
        names = ("x", *state._fields)
        for name, old, new in zip(names, (x, *state), (new_x, *new_state), strict=True):
            found, need = f"{name} {_kind(new)}", f"one {_kind(old)}, as before the step"
            way_out = "for a total y, which is in float64, write y.to(x)"
            same, given = _kind(new) == _kind(old), "" if new.dtype == old.dtype else way_out
            require(same, self.name, found, need, given)

    def _require_unchanged(self, given: Sequence[Tensor], before: Sequence[Tensor]) -> None:
        """Refuse a step that writes into its arguments."""
        pairs = () if self.kind["device"] == "meta" else zip(given, before, strict=True)
        same = all(torch.equal(now.nan_to_num(), then.nan_to_num()) for now, then in pairs)
        way_out = "write x = x - …, not x -= …"
        require(same, self.name, "arguments that it has changed", "them as they were", way_out)

    def _gradient(self, t: int) -> Callable[[Tensor], Tensor]:
        parts = (self.task.curvature, self.task.center, self.task.noise[t])
        curvature, center, noise = map(self._own, parts)
        return lambda point: (curvature * (point - center) + noise).to(point)

    def _own(self, values: Tensor) -> Tensor:
        """What belongs to these nodes and runs."""
        nodes, runs = torch.as_tensor(self.nodes), torch.as_tensor(self.runs)
        return values[nodes][..., runs, :].to(**self.kind)

    @cached_property
    def _coins(self) -> Coins:
        seeds = self.runs if isinstance(self.runs, int) else list(self.runs)
        return Coins.of(seeds, torch.as_tensor(self.nodes), STREAM)

    def _mix(self, z: Tensor) -> Tensor:
        if not self.talking:
            return z.clone()
        nodes = torch.as_tensor(self.nodes)
        weights = WEIGHTS[nodes][:, nodes].to(z)
        return torch.tensordot(weights, z, 1)

    @property
    def name(self) -> str:
        """How refusals name the step."""
        return f"step of {type(self.method).__name__}"


def _kind(z: Tensor) -> str:
    """Shape, precision and device, in words."""
    dtype = str(z.dtype).removeprefix("torch.")
    return f"of shape {tuple(z.shape)} in {dtype} on {z.device.type}"
