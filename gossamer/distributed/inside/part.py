"""Steps of a node by several processes: each computes with its part of every vector."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, Mix
from gossamer.distributed.inside.crew import Crew
from gossamer.errors import InvalidInput, require


class Part(Tensor):
    """Some of a node's numbers along the last axis; the other processes of the node hold the rest.

    What is done to each coordinate is done here. A norm, a sum, a mean, a maximum or a minimum over
    the last axis is one over all processes of the node, a collective, and no `Part`. What mixes
    coordinates in another way is refused. What is cut out of it is a plain tensor of this process.

    >>> whole = Part.of(torch.tensor([3.0, -4.0]), Crew())
    >>> (whole / torch.linalg.vector_norm(whole, dim=-1, keepdim=True)).plain
    tensor([ 0.6000, -0.8000])
    """

    plain: Tensor
    """The numbers."""

    crew: Crew
    """Who has the others."""

    @classmethod
    def of(cls, z: Tensor, crew: Crew) -> "Part":
        """A plain tensor as a part."""
        part = z.as_subclass(cls)
        part.plain, part.crew = z, crew
        return part

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Compute with the numbers of this process, and put reductions together."""
        told = dict(kwargs or {})
        first: Part = next(_parts_in((args, tuple(told.values()))))
        way = REDUCTIONS.get(func)
        if way and _over_last(way.dim, first, args, told):
            return way.reduced(func, first, args, told)
        found = func(*_plain(args), **_plain(told))
        return _as_parts(found, func, first)


def plain(z: Tensor) -> Tensor:
    """The numbers of this process."""
    return z.plain if isinstance(z, Part) else z


class PartMix:
    """The `mix` of a node, of whose vectors this process tells its part."""

    def __init__(self, mix: Mix, crew: Crew) -> None:
        self._mix, self._crew = mix, crew

    def pull(self, z: Tensor) -> Tensor:
        """Mix opinions."""
        return self._mixed(self._mix.pull, z)

    def push(self, z: Tensor) -> Tensor:
        """Mix totals."""
        return self._mixed(self._mix.push, z)

    def _mixed(self, verb: Callable[[Tensor], Tensor], z: Tensor) -> Tensor:
        mixed = verb(plain(z))
        return Part.of(mixed, self._crew) if isinstance(z, Part) else mixed


def step_of_part(
    crew: Crew,
    algorithm: Algorithm[Any],
    t: int,
    x: Tensor,
    grad: Tensor,
    state: Any,
    mix: Mix,
    *local: Any,
) -> tuple[Tensor, Any]:
    """A step of the node's method, whose norms are those of all processes of the node."""
    if crew.size == 1:
        return algorithm.step(t, x, grad, state, mix, *local)

    def of_node(z: Tensor) -> Tensor:
        return Part.of(z, crew) if z.shape == x.shape else z

    fields = type(state)(*map(of_node, state))
    told = (of_node(x), of_node(grad), fields, PartMix(mix, crew))
    x_next, state = algorithm.step(t, *told, *local)
    return plain(x_next), type(state)(*map(plain, state))


# ---------------------------------------------------------------------- over all processes


class Reduction(NamedTuple):
    """How the results of the processes become one."""

    dim: int
    """The place of `dim` among the arguments."""

    reduced: Callable[[Callable[..., Any], Part, tuple[Any, ...], dict[str, Any]], Tensor]


def _joined(
    join: Callable[[Tensor], Tensor],
    func: Callable[..., Any],
    first: Part,
    args: tuple[Any, ...],
    told: dict[str, Any],
) -> Tensor:
    return join(torch.stack(first.crew.each(func(*_plain(args), **_plain(told)))))


def _norm(
    func: Callable[..., Any], first: Part, args: tuple[Any, ...], told: dict[str, Any]
) -> Tensor:
    """The norm of the norms; of the Euclidean one without a square that could overflow."""
    order = args[1] if len(args) > 1 else told.get("ord", told.get("p", 2))
    order = 2 if order == "fro" else order
    known = order in (1, 2, torch.inf)
    require(known, "norm", f"order {order} over several processes", "1, 2 or infinity")
    norm = partial(torch.linalg.vector_norm, ord=order, dim=0)
    return _joined(norm, func, first, args, told)


def _mean(
    func: Callable[..., Any], first: Part, args: tuple[Any, ...], told: dict[str, Any]
) -> Tensor:
    total = torch.sum(*args, **told)
    counted = torch.sum(torch.ones_like(first), *args[1:], **told)
    return total / counted


_SUM = Reduction(1, partial(_joined, partial(torch.sum, dim=0)))
_MAX = Reduction(1, partial(_joined, partial(torch.amax, dim=0)))
_MIN = Reduction(1, partial(_joined, partial(torch.amin, dim=0)))

REDUCTIONS: dict[Any, Reduction] = {
    torch.linalg.vector_norm: Reduction(2, _norm),
    **dict.fromkeys((torch.norm, Tensor.norm), Reduction(2, _norm)),
    **dict.fromkeys((torch.sum, Tensor.sum), _SUM),
    **dict.fromkeys((torch.mean, Tensor.mean), Reduction(1, _mean)),
    **dict.fromkeys((torch.amax, Tensor.amax), _MAX),
    **dict.fromkeys((torch.amin, Tensor.amin), _MIN),
}

CUTS = {"split", "chunk", "narrow", "unbind", "__getitem__"}
"""What takes out some coordinates."""

MIXES = {"sort", "argsort", "cumsum", "cumprod", "softmax", "log_softmax", "flip", "roll"}
"""What mixes coordinates and leaves as many; what leaves another number shows by that."""


def _over_last(place: int, z: Part, args: tuple[Any, ...], told: Mapping[str, Any]) -> bool:
    dim = args[place] if len(args) > place else told.get("dim")
    dims = [dim] if isinstance(dim, int) else dim
    return not dims or any(d in (-1, z.plain.ndim - 1) for d in dims)


def _parts_in(values: Any) -> Iterator[Part]:
    for value in values:
        if isinstance(value, Part):
            yield value
        elif isinstance(value, list | tuple):
            yield from _parts_in(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple) and any(True for _ in _parts_in(value)):
        return type(value)(map(_plain, value))
    return plain(value) if isinstance(value, Tensor) else value


def _as_parts(found: Any, func: Callable[..., Any], first: Part) -> Any:
    """What was found, as parts; refused if it is no longer a number per coordinate."""
    if isinstance(found, list | tuple) and any(isinstance(z, Tensor) for z in found):
        return type(found)(_as_parts(z, func, first) for z in found)
    if not isinstance(found, Tensor):
        return found
    name = getattr(func, "__name__", str(func))
    if found.shape[-1:] == first.plain.shape[-1:] and name not in MIXES:
        return Part.of(found, first.crew)
    if name in CUTS:
        return found
    need = "what acts on each of them, or a norm, sum, mean, amax or amin over all"
    way_out = "take one process per node, or whole tensors of a `local` argument"
    problem = f"step: {name} mixes coordinates, which several processes of a node hold"
    raise InvalidInput(f"{problem}; need {need}; {way_out}")
