"""One node of a network, with nothing of torch's optimizers: what it holds, and its steps."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, Both, Local, Mix
from gossamer.distributed.ahead import NodeTalk
from gossamer.distributed.exchange import NeighborExchange
from gossamer.distributed.inside import Crew, step_of_part
from gossamer.native.finite import surely_finite
from gossamer.native.node_step import node_step
from gossamer.native.passes import Vector
from gossamer.native.threads import copy
from gossamer.networks import LinkMemory


class Node:
    """x, the method's state and the step t of one node, and the exchange with its neighbours.

    A step is the method's own, with `mix` a round of messages:

        xᵗ⁺¹, stateᵗ⁺¹ = algorithm.step(t, xᵗ, gᵗ, stateᵗ, mix)

    With `decay` = α λ, of step size and weight decay, α λ xᵗ is subtracted from that xᵗ⁺¹, too:
    the decay is decoupled from the method's direction, and known to nobody else.

    What the links to its neighbours remember is state of the node, too.

    Args:
        algorithm: the method, with the hyper-parameters of the next step; may be replaced.
        x: `(dim,)`, whose memory stays the node's: steps write it in place.
        state: the method's state at x.
        exchange: what carries the messages.
        t: the next step.
        crew: the processes that are this node; x and the state are what this one holds of them.

    >>> from gossamer.algorithms import DSGD
    >>> from gossamer.networks import ring
    >>> x = torch.tensor([1.0, 2.0])
    >>> algorithm, exchange = DSGD(lr=0.5), NeighborExchange(ring(1), 0, x, group=None)
    >>> node = Node(algorithm, x, algorithm.init(x), exchange)
    >>> node.advance(torch.tensor([2.0, 0.0]))
    >>> x, node.t
    (tensor([0., 2.]), 1)
    """

    def __init__(
        self,
        algorithm: Algorithm[Any],
        x: Tensor,
        state: Any,
        exchange: NeighborExchange,
        t: int = 0,
        crew: Crew | None = None,
    ) -> None:
        self.algorithm, self.exchange, self._crew = algorithm, exchange, crew or Crew()
        self.x, self.state, self.t = x, state, t
        self.links: LinkMemory = ()
        self._others_at = t
        self.decay: float | Tensor = 0.0

    @property
    def sits_out(self) -> bool:
        """Whether the other nodes are ahead, so that the next step is counted but not taken."""
        return self.t < self._others_at

    def advance(self, grad: Vector, *local: Local) -> None:
        """Step t with gᵗ = `grad`, together with all nodes, unless this one sits it out.

        The gradient may be in pieces. A method that asks for a `Local` is given one.

        A `PeerFailure` or an `Overflow` leaves the node as it was.
        """
        if not self.sits_out:
            mix = self.exchange.talk(self.t, self.links, (self.x, *self.state))
            x, finish = self._step(grad, mix, *local)
            x = self._decayed(x)
            if not self._crew.agree(_is_finite_norm(mix.norm(x)) or is_finite(x)):
                raise Overflow(own=not self._crew.agree(is_finite(self._alone(grad, *local))))
            self.state, self.links = apart(finish(), self.x), mix.memory
            if x is not self.x:
                copy(x, self.x)
            self.exchange.end(mix, self.t + 1, (self.x, *self.state))
        self.t += 1

    def _step(self, grad: Vector, mix: NodeTalk, *local: Local) -> tuple[Tensor, Callable[[], Any]]:
        """xᵗ⁺¹, and what makes stateᵗ⁺¹: in few passes over memory, or as the step is written."""
        alone = self._crew.size == 1
        passes = node_step(self.algorithm, self.x, self.state) if alone else None
        if passes is not None:
            in_place = not isinstance(self.decay, Tensor) and self.decay == 0
            return passes(self.algorithm, self.t, self.x, grad, self.state, mix, in_place)
        x, state = self._as_written(grad, mix, *local)
        return x, lambda: state

    def _alone(self, grad: Vector, *local: Local) -> Tensor:
        """Where step t would lead without any neighbour."""
        return self._as_written(grad, Both(lambda z: z), *local)[0]

    def _as_written(self, grad: Vector, mix: Mix, *local: Local) -> tuple[Tensor, Any]:
        told = (self.t, self.x, joined(grad), self.state, mix)
        return step_of_part(self._crew, self.algorithm, *told, *local)

    def _decayed(self, x: Tensor) -> Tensor:
        if isinstance(self.decay, Tensor):
            return torch.addcmul(x, self.decay, self.x, value=-1)
        return torch.sub(x, self.x, alpha=self.decay) if self.decay else x

    def place(self, t: int, x: Tensor, state: Any, links: LinkMemory = ()) -> None:
        """Go on from step t, x, state and what links remember, whatever was before."""
        self.exchange.forget()
        self.x.copy_(x)
        self.state, self.links, self.t, self._others_at = state, links, t, t

    def reconnect(self, exchange: NeighborExchange, step: int) -> None:
        """Go on with other neighbours at `step`, which some node has already reached.

        A state that is not the node's own alone restarts from x: sums over all nodes, e.g. of
        trackers or of corrections, would keep the share of those that are gone for ever. The new
        links remember nothing.
        """
        self.exchange, self._others_at, self.links = exchange, step, ()
        if not self.algorithm.state_is_own:
            self.state = apart(self.algorithm.at(self.t).init(self.x), self.x)


class Overflow(ArithmeticError):
    """A step whose x has an inf or a NaN, by the node's own doing or by what neighbours sent."""

    def __init__(self, own: bool) -> None:
        super().__init__("x is not finite")
        self.own = own


def joined(vector: Vector) -> Tensor:
    """One tensor of what may be in pieces."""
    return vector if isinstance(vector, Tensor) else torch.cat([*vector])


def is_finite(z: Vector) -> bool:
    """Whether all components are finite; a sum says so in a quarter of the time, or overflows.

    >>> is_finite(torch.tensor([3e38, 3e38])), is_finite([torch.tensor([1.0, torch.nan])])
    (True, False)
    """
    pieces = [z] if isinstance(z, Tensor) else z
    return surely_finite(pieces) or all(map(_piece_is_finite, pieces))


def _piece_is_finite(z: Tensor) -> bool:
    return bool(z.sum().isfinite()) or bool(torch.stack(z.aminmax()).isfinite().all())


def _is_finite_norm(norm: float | None) -> bool:
    return norm is not None and math.isfinite(norm)


def apart(state: Any, x: Tensor) -> Any:
    """The state in memory of its own: a method may remember x, which the next step overwrites.

    >>> from gossamer.algorithms.gt_dsgd import GTDSGDState
    >>> x = torch.ones(2)
    >>> state = apart(GTDSGDState(y=torch.zeros(2), grad=x), x)
    >>> x.fill_(5.0), state.grad
    (tensor([5., 5.]), tensor([1., 1.]))
    """
    memory = x.untyped_storage().data_ptr()
    shared = [z.untyped_storage().data_ptr() == memory for z in state]
    return type(state)(*(z.clone() if s else z for z, s in zip(state, shared, strict=True)))
