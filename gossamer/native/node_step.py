"""A method's step on the long vectors of one node: few passes over memory, in C.

As it is written, a step is a row of torch's operations, each of which passes over memory and leaves
a vector behind. Recorded, it is known what is needed: what is mixed, what a norm is taken of, and
the next state. Each of them is one pass over what is in memory by then; nothing else is kept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from gossamer.algorithms import Algorithm, Both
from gossamer.native.build import compiler, library
from gossamer.native.expressions import EXPRESSIONS, Unsupported
from gossamer.native.passes import HEAD, LONG, Pass, Vector
from gossamer.native.recorder import Node, Recording, record_operations
from gossamer.networks.channel import Room
from gossamer.problems.flat_program import agree

EXAMPLE = 16
"""Parameters of the node whose step is recorded."""

_operations = torch.library.Library("gossamer", "DEF")
for verb in ("pull", "push"):
    _operations.define(f"{verb}(Tensor z) -> Tensor")
    _operations.impl(verb, torch.clone, "CompositeExplicitAutograd")
VERBS = {torch.ops.gossamer.pull.default: "pull", torch.ops.gossamer.push.default: "push"}
"""What is recorded of a mix."""

COPY = torch.ops.aten._to_copy.default
"""The same in another precision."""

Vectors = dict[Node, Any]
"""What is in memory: tensors, but for a gradient in pieces."""


class RoomyMix(Protocol):
    """A `mix` that has room for what it is given."""

    def room(self, length: int, dtype: torch.dtype) -> Room:
        """Where to write what is mixed next."""

    def pull(self, z: Tensor, room: Room | None = None) -> Tensor: ...  # noqa: D102

    def push(self, z: Tensor, room: Room | None = None) -> Tensor: ...  # noqa: D102

    def norm(self, z: Tensor) -> float | None:
        """‖z‖, if z was mixed last and its norm was found on the way."""


class Action(NamedTuple):
    """What is done at one place of the step, after which the numbers of `node` are known."""

    node: Node
    made_by: Pass | None
    """The pass that makes its operand, or takes its norm; None where the operand is known."""

    needed: frozenset[Node]
    """What is still needed afterwards."""


@dataclass(frozen=True)
class Plan:
    """The actions of a step, in order, and the passes that make what was not mixed last."""

    recording: Recording
    constants: Vectors
    actions: Sequence[Action]
    x: Pass | None
    state: Pass | None

    @property
    def text(self) -> str:
        """The passes as a C file."""
        passes = [*(one.made_by for one in self.actions), self.x, self.state]
        return "\n".join([HEAD, *(one.text for one in passes if one)])

    @property
    def last_mix(self) -> Action | None:
        """That which makes xᵗ⁺¹, if none comes after it and nobody needs xᵗ any more."""
        mixes = [action for action in self.actions if action.node.target in VERBS]
        last, x = mixes[-1] if mixes else None, self.recording.inputs[1]
        made = last is not None and last.node is self.recording.outputs[0]
        return last if last and made and x not in last.needed else None


def plan_of(recording: Recording) -> Plan:
    """How to do what was recorded; refused where some operation on vectors is neither done number
    by number, nor a mix, nor a norm.
    """
    constants = _constants(recording)
    known = [*recording.inputs, *constants]
    done: list[tuple[Node, Pass | None]] = []
    for node in recording.operations:
        if not (_is_wide(node) and node.target in EXPRESSIONS):  # else done where it is needed
            done.append((node, _pass_for(node, known, len(done))))
            known.append(node)
    x, *fields = recording.outputs
    for_x = Pass(len(done), known, [x]) if x not in known else None
    grad = recording.inputs[2]  # its memory is not the state's
    made = [node for node in fields if node not in known or node is grad]
    for_state = Pass(len(done) + 1, known, made) if made else None
    actions = _with_needs(done, [for_x, for_state], recording.outputs)
    return Plan(recording, constants, actions, for_x, for_state)


def _constants(recording: Recording) -> Vectors:
    """Single numbers that are always the same."""
    operands = [one for node in recording.operations for one in node.operands]
    found = {one: one.constant for one in operands if one.constant is not None}
    if any(map(_is_wide, found)):
        raise Unsupported("a vector of constants")
    if len({*recording.outputs}) < len(recording.outputs):
        raise Unsupported("one vector in two places of the state")
    return found


def _pass_for(node: Node, known: Sequence[Node], number: int) -> Pass | None:
    """What has to be done before an operation that is none on single numbers of vectors."""
    operand: Any = node.operands[0] if node.operands else None
    if _is_norm(node):
        return Pass(number, [*known], norms=[operand])
    if node.target in VERBS:
        return None if operand in known else Pass(number, [*known], made=[operand], says=True)
    if any(map(_is_wide, [node, *node.operands])):
        raise Unsupported(f"{node.target} of a vector")
    return None


def _with_needs(
    done: Sequence[tuple[Node, Pass | None]], last: Sequence[Pass | None], outputs: Sequence[Node]
) -> list[Action]:
    needed = {*outputs, *(node for one in last if one for node in one.reads)}
    actions = []
    for node, made_by in reversed(done):
        actions.append(Action(node, made_by, frozenset(needed)))
        needed |= {*(made_by.reads if made_by else node.operands)}
    return actions[::-1]


def _is_wide(node: Node) -> bool:
    if node.shape != (EXAMPLE,) and node.shape.numel() != 1:
        raise Unsupported(f"a tensor of shape {tuple(node.shape)}")
    return node.shape == (EXAMPLE,)


def _is_norm(node: Node) -> bool:
    """Whether it is ‖·‖₂ of a vector."""
    norm = node.target is torch.ops.aten.linalg_vector_norm.default and _is_wide(node.operands[0])
    if norm and tuple(node.args[1:2]) not in ((), (2,)):
        raise Unsupported(f"a norm of order {node.args[1]}")
    return norm


@dataclass(frozen=True)
class NodeStep:
    """The step of a method, for vectors of any length.

    Args:
        numbers: names of the hyper-parameters that may differ from step to step.
        plan: what is to be done.
        program: its passes.
    """

    numbers: Sequence[str]
    plan: Plan
    program: ctypes.CDLL

    def __call__(
        self,
        algorithm: Algorithm[Any],
        t: int,
        x: Tensor,
        grad: Vector,
        state: Any,
        mix: RoomyMix,
        in_place: bool = False,
    ) -> tuple[Tensor, Callable[[], Any]]:
        """xᵗ⁺¹, and what makes stateᵗ⁺¹, in the memory of `state` where that is possible.

        Until that is called nothing is changed; but x itself if it may be written `in_place`, when
        all messages have come.
        """
        given = _inputs(algorithm, self.numbers, t, x, grad, state)
        tensors = dict(zip(self.plan.recording.inputs, given, strict=True)) | self.plan.constants
        for action in self.plan.actions:
            into = x if in_place and action is self.plan.last_mix else None
            tensors[action.node] = self._done(action, tensors, len(x), mix, into)
            for node in [node for node in tensors if node not in action.needed]:
                del tensors[node]
        after, *fields = self.plan.recording.outputs
        if self.plan.x:
            tensors[after] = torch.empty_like(x)
            self.plan.x.run(self.program, tensors, [tensors[after]])

        def finish() -> Any:
            if self.plan.state:
                places = self._places(self.plan.state.made, state)
                self.plan.state.run(self.program, tensors, [*places.values()])
                tensors.update(places)
            return type(state)(*(tensors[node] for node in fields))

        return tensors[after], finish

    def _done(
        self, action: Action, tensors: Vectors, length: int, mix: RoomyMix, into: Tensor | None
    ) -> Tensor:
        """The numbers that an action makes known; those of a mix may go `into` other memory."""
        node, operand = action.node, action.node.operands[0] if action.node.operands else None
        if action.made_by and action.made_by.norms:
            norm = _known_norm(operand, tensors, mix)
            if norm is None:
                (norm,) = action.made_by.run(self.program, tensors, [])
            return torch.full(node.shape, norm, dtype=node.kind)
        if node.target in VERBS:
            assert operand is not None
            if action.made_by is None:
                return getattr(mix, VERBS[node.target])(tensors[operand])
            room = mix.room(length, operand.kind)._replace(into=into)
            action.made_by.run(self.program, tensors, [room.made], room.said)
            return getattr(mix, VERBS[node.target])(room.made, room)
        known = lambda one: tensors[one] if isinstance(one, Node) else one  # noqa: E731
        args, kwargs = tree_map(known, (node.args, node.kwargs))
        return node.target(*args, **kwargs)

    def _places(self, made: Sequence[Node], state: Any) -> dict[Node, Tensor]:
        """Where the next fields go: where they were, unless that is needed as it is."""
        recording = self.plan.recording
        fields, before = recording.outputs[1:], recording.inputs[3 : 3 + len(state)]
        shared = len({z.data_ptr() for z in state}) < len(state)
        places = {}
        for new, old, z in zip(fields, before, state, strict=True):
            needed = shared or old in recording.outputs
            places[new] = torch.empty_like(z) if needed else z
        return {node: places[node] for node in made}


def _known_norm(node: Node | None, tensors: Vectors, mix: RoomyMix) -> float | None:
    """Of what was mixed last; in less precision it has the same norm, up to the last digits."""
    while node is not None and node not in tensors and node.target is COPY:
        node = node.operands[0]
    return mix.norm(tensors[node]) if node in tensors else None


def node_step(algorithm: Algorithm[Any], x: Tensor, state: Any) -> NodeStep | None:
    """The step of a method on x in few passes, or None where it is better taken as it is written.

    Before it is used, it is compared with the step as it is written.
    """
    long = x.device.type == "cpu" and len(x) >= LONG
    plain = all(z.is_contiguous() for z in (x, *state)) and not algorithm.asks_local
    if not (long and plain) or compiler() is None:
        return None
    values = algorithm.at(0).arguments
    wide = tuple(name for name, value in values.items() if isinstance(value, Tensor))
    numbers = tuple(name for name, value in values.items() if isinstance(value, float))
    rest = {name: value for name, value in values.items() if name not in (*wide, *numbers)}
    try:
        return _built(type(algorithm), numbers, wide, tuple(rest.items()), x.dtype)
    except TypeError:  # a hyper-parameter that cannot be looked up
        return None


@cache
def _built(
    kind: type[Algorithm[Any]],
    numbers: tuple[str, ...],
    wide: tuple[str, ...],
    rest: tuple[tuple[str, Any], ...],
    dtype: torch.dtype,
) -> NodeStep | None:
    """Of a method with such hyper-parameters; those that are `wide` differ between parameters."""
    try:
        held = {**dict.fromkeys((*numbers, *wide), 0.5), **dict(rest)}
        algorithm = object.__new__(kind).holding(held)
        trial = Trial(algorithm, numbers, wide, dtype)
        plan = plan_of(trial.recorded(0))
        program = library(plan.text) if plan.text == plan_of(trial.recorded(1)).text else None
        step = NodeStep((*numbers, *wide), plan, program) if program else None
        return step if step and trial.agrees(step, 2) else None
    except Exception:  # whatever a tracer or a compiler cannot do, the step as it is written can
        return None


@dataclass(frozen=True)
class Trial:
    """Steps of a method at random points."""

    algorithm: Algorithm[Any]
    numbers: Sequence[str]
    wide: Sequence[str]
    dtype: torch.dtype

    def recorded(self, seed: int) -> Recording:
        """What a step does."""
        algorithm, x, grad, state = self._drawn(seed)
        names = (*self.numbers, *self.wide)

        def step(t: Tensor, x: Tensor, grad: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
            own: Any = type(state)(*rest[: len(state)])
            held = dict(zip(names, rest[len(state) :], strict=True))
            take: Any = algorithm.holding(held).step
            after, own = take(t, x, grad, own, _Recorded())
            return (after, *own)

        given = _inputs(algorithm, names, seed, x, grad, state)
        return record_operations(step, given)

    def agrees(self, step: NodeStep, seed: int) -> bool:
        """Whether it is what the method does as it is written, up to √ε."""
        algorithm, x, grad, state = self._drawn(seed)
        expected_x, expected = algorithm.step(3, x, grad, state, Both(lambda z: 0.7 * z))
        found_x, finish = step(algorithm, 3, x, grad, state, _Shrinking())
        found = (found_x.clone(), *finish())
        pairs = zip(found, (expected_x, *expected), strict=True)
        return all(agree(mine, theirs, self.dtype) for mine, theirs in pairs)

    def _drawn(self, seed: int) -> tuple[Algorithm[Any], Tensor, Tensor, Any]:
        drawn = torch.Generator().manual_seed(seed)

        def draw(like: Tensor) -> Tensor:
            return 0.1 + 0.8 * torch.rand(like.shape, generator=drawn, dtype=like.dtype)

        x = draw(torch.empty(EXAMPLE, dtype=self.dtype))
        held: dict[str, Any] = {name: float(draw(x)[0]) for name in self.numbers}
        algorithm = self.algorithm.holding({**held, **{name: draw(x) for name in self.wide}})
        state: Any = algorithm.init(x)
        return algorithm, x, draw(x) - 0.5, type(state)(*(draw(z) for z in state))


class _Recorded:
    """A `mix` that is an operation of torch."""

    def pull(self, z: Tensor) -> Tensor:
        return torch.ops.gossamer.pull(z)

    def push(self, z: Tensor) -> Tensor:
        return torch.ops.gossamer.push(z)


class _Shrinking:
    """z ↦ 0.7 z, in the memory of z where it may be."""

    def room(self, length: int, dtype: torch.dtype) -> Room:
        return Room(torch.empty(length, dtype=dtype))

    def pull(self, z: Tensor, room: Room | None = None) -> Tensor:
        return z.mul_(0.7) if room else 0.7 * z

    push = pull

    def norm(self, z: Tensor) -> None:
        return None


def _inputs(
    algorithm: Algorithm[Any], names: Sequence[str], t: int, x: Tensor, grad: Vector, state: Any
) -> list[Any]:
    """What a step is a function of: t, x, its gradient, the state and the hyper-parameters."""
    method = algorithm.at(t, x)
    numbers = [torch.as_tensor(getattr(method, name), dtype=x.dtype) for name in names]
    return [torch.tensor(float(t), dtype=torch.float64), x, grad, *state, *numbers]
