"""PushSum: what lets a method without a tracker run where senders, not receivers, set weights."""

import copyreg
from abc import ABCMeta
from collections import namedtuple
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, TypeVar, overload

import torch
from torch import Tensor

from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.mixing import Mix
from gossamer.errors import require

LEAST_WEIGHT = 1e-290
"""A node that heard nothing for hundreds of rounds has no digits left to read x from: it stays."""

A = TypeVar("A", bound=Algorithm[Any])


@overload
def PushSum(method: type[A]) -> type[A]: ...


@overload
def PushSum(method: A) -> A: ...


def PushSum(method: A | type[A]) -> A | type[A]:
    """Turns a method into one that averages its parameters by push-sum, for any directed network.

    pᵗ = min(1, wᵗ) (oᵗ − α dᵗ)                             α dᵗ is what the method subtracts
    oᵗ⁺¹ = (oᵗ − α dᵗ) − pᵗ                                 o⁰ = 0, the part still to be applied
    uᵗ⁺¹ = C (uᵗ + pᵗ)                                      u⁰ = x⁰
    wᵗ⁺¹ = C wᵗ                                             w⁰ = 1, one number per node
    xᵗ⁺¹ = uᵗ⁺¹ / wᵗ⁺¹

    C is the matrix of `mix.push`, whose columns sum to 1 (see `Mix`). On a network that is not
    balanced, a method that pulls its parameters and pushes no tracker ends at the optimum of a
    *weighted* sum of the objectives. Pushing keeps the sum over the nodes, so Σ uᵢ changes only by
    the plain sum of the updates. Node i holds a share of Σ uᵢ, and wᵢ measures how large this share
    is. If C is doubly stochastic, all w stay 1, and the method is the same as without push-sum.

    In the literature the whole update is added to u in one step, which moves x by α d/w. A node
    that hears little, or for a while nothing because messages are lost, has a tiny w. The update
    then throws it far away, and gradients that grow with the distance throw it further. Here a node
    applies its updates in parts, so that x never moves by more than what is due, oᵗ − α dᵗ. The
    rest is applied in later steps.

    A method that pushes a tracker keeps doing so. `PushSum(GTDSGD)` is a variant of Push-DIGing
    that adds the change of the gradient to the tracker before it mixes, not after. If a method
    makes its update after mixing, W xᵗ − α dᵗ, this becomes C uᵗ − α dᵗ, again in parts.

    Args:
        method: a method, or its class; it must pull its parameters exactly once in every step.

    Reference: Nedić and Olshevsky, Stochastic gradient-push for strongly convex functions on
    time-varying directed graphs (2016); Assran, Loizou, Ballas and Rabbat, Stochastic gradient
    push for distributed deep learning (2019).

    >>> from gossamer.algorithms import DSGD
    >>> C = torch.tensor([[0.5, 0.0, 0.5], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]).double()
    >>> C[:, 0] = torch.tensor([0.9, 0.1, 0.0])             # node 0 keeps most of what it has
    >>> method, x = PushSum(DSGD(lr=0.0)), torch.tensor([[0.0], [3.0], [6.0]]).double()
    >>> state = method.init(x)
    >>> for t in range(100):
    ...     x, state = method.step(t, x, torch.zeros_like(x), state, mix=lambda z: C @ z)
    >>> method, x.flatten().tolist(), state.push_weight.flatten().tolist()
    (PushSum(DSGD(lr=0.0)), [3.0..., 3.0..., 3.0...], [2.14..., 0.42..., 0.42...])
    """
    kind = method if isinstance(method, type) else type(method)
    plain = issubclass(kind, Algorithm) and not issubclass(kind, _PushSum)
    need = "a method that is not push-sum yet, or its class"
    require(plain, "method", repr(method), need, "e.g. gs.PushSum(gs.DSGD(lr=0.1))")
    made: type[A] = _class_of(kind)
    return made if isinstance(method, type) else made(**method.hyperparameters)


class _PushSum(Algorithm[Any]):
    """What `PushSum` changes of a method."""

    _method: ClassVar[type[Algorithm[Any]]]

    def init(self, x: Tensor) -> Any:
        """The method's state, w⁰ = 1 and o⁰ = 0."""
        one = torch.ones_like(x[..., :1], dtype=torch.float64)
        return joined(self._method.init(self, x), one, torch.zeros_like(x))

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: Any, mix: Mix, *asked: Any
    ) -> tuple[Tensor, Any]:
        """The method's step with u = w x for x; what it adds to the mixed x is due to u."""
        own, w, owed = state._apart()
        pushed = _Pushed(mix, x, w, owed)
        moved, own = self._method.step(self, t, x, grad, own, pushed, *asked)
        mixed, w, owed = pushed.taken(self._method)
        paid, rest = pay(moved - mixed, w)
        return (mixed + paid / w.clamp(min=LEAST_WEIGHT)).to(x), type(state)(*own, w, owed + rest)

    def info(self, t: int, x: Tensor, grad: Tensor, state: Any) -> dict[str, Tensor]:
        """What the method tells."""
        return self._method.info(self, t, x, grad, state._apart()[0])

    def __repr__(self) -> str:
        return f"PushSum({self._method(**self.hyperparameters)!r})"


class _Pushed:
    """The `mix` that the method is given: its pull is a push of u, read as u/w.

    u = w x is not kept from step to step, so that whoever moves x, e.g. to start all nodes at one
    point, moves u with it.
    """

    def __init__(self, mix: Mix, x: Tensor, w: Tensor, owed: Tensor) -> None:
        self._mix, self._x, self._w, self._owed = mix, x, w, owed
        self._pulled: list[Tensor] = []

    def pull(self, z: Tensor) -> Tensor:
        """C (w x + (z − x)) / C w."""
        paid, self._owed = pay(self._owed + (z - self._x), self._w)
        u = self._mix.push(self._w * self._x + paid)  # uᵗ⁺¹ = C (uᵗ + pᵗ)
        self._w = self._mix.push(self._w)  # wᵗ⁺¹ = C wᵗ
        ratio = torch.where(self._w > LEAST_WEIGHT, u / self._w, self._x)
        self._pulled.append(ratio.to(z))  # xᵗ⁺¹ = uᵗ⁺¹/wᵗ⁺¹
        return self._pulled[-1]

    def push(self, z: Tensor) -> Tensor:
        """C z: a total of the method's own."""
        return self._mix.push(z)

    def taken(self, method: type[Algorithm[Any]]) -> tuple[Tensor, Tensor, Tensor]:
        """uᵗ⁺¹/wᵗ⁺¹, wᵗ⁺¹ and what is owed."""
        found = f"{method.__name__}, whose step pulls {len(self._pulled)} times"
        once = len(self._pulled) == 1
        require(once, "PushSum", found, "a method that pulls its parameters once in every step")
        return self._pulled[0], self._w, self._owed


def pay(due: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """What a node of weight w adds to u of what is due, min(1, w) of it, and what it then owes."""
    paid = due * w.clamp(max=1)
    return paid, (due - paid).to(due)


class _Weighted(tuple[Tensor, ...]):
    """A method's state, and behind it the node's w and o; no field can begin with "_"."""

    _own: ClassVar[Any]

    def _apart(self) -> tuple[Any, Tensor, Tensor]:
        """The method's state, w, and what is owed."""
        return self._own(*self[:-2]), self[-2], self[-1]

    def __reduce__(self) -> tuple[Any, ...]:
        return joined, self._apart()


def joined(own: tuple[Tensor, ...], w: Tensor, owed: Tensor) -> Any:
    """One named tuple of the fields of `own`, a method's state, of `push_weight` = w and of `owed`.

    >>> from gossamer.algorithms.gt_dsgd import GTDSGDState
    >>> zero = torch.zeros(2)
    >>> joined(GTDSGDState(y=zero, grad=zero), torch.ones(1), zero)._fields
    ('y', 'grad', 'push_weight', 'owed')
    """
    return _state_of(type(own))(*own, w, owed)


@cache
def _state_of(own: Any) -> Any:
    fields = namedtuple(own.__name__, (*own._fields, "push_weight", "owed"))  # type: ignore[misc]
    return type(f"PushSum{own.__name__}", (_Weighted, fields), {"_own": own, "__slots__": ()})


class _Made(ABCMeta):
    """The class of the classes that `PushSum` makes, which pickle by how they are made."""


copyreg.pickle(_Made, lambda made: (PushSum, (made._method,)))  # type: ignore[attr-defined]


@cache
def _class_of(method: type[Algorithm[Any]]) -> Any:
    facts = {
        "__module__": __name__,
        "__doc__": f"`{method.__name__}` by push-sum, see `PushSum`.",
        "label": f"PushSum({method.label})",
        "pushes": (*method.pushes, "push_weight"),
        "state_is_own": False,
        "asks_local": method.asks_local,
        "asks_shapes_only": method.asks_shapes_only,
        "_method": method,
    }
    made = _Made(f"PushSum({method.__name__})", (_PushSum, method), facts)
    return dataclass(frozen=True, repr=False)(made)
