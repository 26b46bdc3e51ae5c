"""The one table of methods that every shared test runs over: a new method is one more row."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from algorithms import reference
from torch import Tensor

import gossamer as gs
from gossamer.algorithms import Shapes


@dataclass(frozen=True)
class Row:
    """A method with hyper-parameters, and what is known of it.

    `reference` is the method as a numpy loop over the nodes. `update(h, t, grad, old, new)` is
    what every node subtracts: x̄ᵗ⁺¹ = x̄ᵗ − mean of it, from the hyper-parameters h, the gradient
    and the states before and after the step. `feed` says which gradients the workers of the
    centralized twin receive. `tracks` names what the tracker follows, "grad" or a state field.
    `mixes_last` is False for a method that is W xᵗ − update, or mixes by half, in every setting.
    """

    algorithm: gs.Algorithm[Any]
    reference: Callable[..., Iterator[np.ndarray]]
    update: Callable[[Any, int, Tensor, Any, Any], Tensor]
    feed: Callable[[Tensor], Tensor]
    tracks: str | None = None
    mixes_last: bool = True

    @property
    def name(self) -> str:
        return type(self.algorithm).__name__

    @property
    def adapts_then_combines(self) -> bool:
        """Whether xᵗ⁺¹ = W(xᵗ − update), so that the complete graph leaves all nodes equal."""
        order = self.algorithm.arguments.get("order", "adapt-then-combine")
        return self.mixes_last and order == "adapt-then-combine"

    def __str__(self) -> str:
        words = [v for v in self.algorithm.arguments.values() if isinstance(v, str)]
        return "-".join([self.name, *words])


# The centralized twin is a server with one x and a worker per node. On the complete graph a method
# whose update is linear in the gradients acts on their average; one that bends each node's
# gradient averages the bent ones; GT-Adam bends ḡᵗ⁻¹ + gᵢᵗ − gᵢᵗ⁻¹. All take (steps, nodes, dim).
def average(grads: Tensor) -> Tensor:
    return grads.mean(1, keepdim=True).expand_as(grads)


def own(grads: Tensor) -> Tensor:
    return grads


def corrected(grads: Tensor) -> Tensor:
    before = torch.cat([torch.zeros_like(grads[:1]), grads[:-1]])
    return average(before) + grads - before


def unit(y: Tensor) -> Tensor:
    return torch.nn.functional.normalize(y, dim=-1)


def clipped(g: Tensor, level: float) -> Tensor:
    return unit(g) * g.norm(dim=-1, keepdim=True).clamp(max=level)


def along_the_tracker(h: Any, t: int, grad: Tensor, old: Any, new: Any) -> Tensor:
    return h.lr * h.direction(new.y, Shapes([torch.Size(s) for s in reference.SHAPES]))


BOTH_ORDERS = ("adapt-then-combine", "combine-then-adapt")

TABLE = [
    Row(
        gs.DSGD(lr=0.1),
        reference.dsgd,
        update=lambda h, t, grad, old, new: h.lr * grad,
        feed=average,
    ),
    Row(
        gs.NormalizedDSGD(lr=0.1),
        reference.normalized_dsgd,
        update=lambda h, t, grad, old, new: h.lr * unit(grad),
        feed=own,
    ),
    *(
        Row(
            gs.DSGDGClip(lr=0.1, clip=1.5, order=order),
            reference.dsgd_gclip,
            update=lambda h, t, grad, old, new: h.lr * clipped(grad, h.clip),
            feed=own,
        )
        for order in BOTH_ORDERS
    ),
    *(
        Row(
            gs.DSGDCClip(lr=0.1, clip=0.7, order=order),
            reference.dsgd_cclip,
            update=lambda h, t, grad, old, new: h.lr * grad.clamp(-h.clip, h.clip),
            feed=own,
        )
        for order in BOTH_ORDERS
    ),
    *(
        Row(
            gs.DSGDClip(lr=0.3, clip=clip, clip_exponent=exponent, order=order),
            reference.dsgd_clip,
            update=lambda h, t, grad, old, new: (
                h.lr / (t + 1) * clipped(grad, h.clip * (t + 1) ** h.clip_exponent)
            ),
            feed=own,
        )
        for order, clip, exponent in zip(BOTH_ORDERS, (1.0, 4.0), (0.4, -0.4), strict=True)
    ),
    Row(
        gs.GTDSGD(lr=0.1),
        reference.gt_dsgd,
        update=lambda h, t, grad, old, new: h.lr * new.y,
        feed=average,
        tracks="grad",
    ),
    Row(
        gs.DSGDm(lr=0.1, momentum=0.8),
        reference.dsgdm,
        update=lambda h, t, grad, old, new: h.lr * new.u,
        feed=average,
    ),
    Row(
        gs.DSGDBiClip(lr=0.1, clip=0.7, floor=0.2),
        reference.dsgd_biclip,
        update=lambda h, t, grad, old, new: h.lr * grad.sign() * grad.abs().clamp(h.floor, h.clip),
        feed=own,
    ),
    Row(
        gs.GTClip(lr=0.1, clip=1.5, clipped="gradient"),
        reference.gt_clip,
        update=lambda h, t, grad, old, new: h.lr * new.y,
        feed=lambda grads: average(clipped(grads, 1.5)),
        tracks="h",
    ),
    Row(
        gs.GTClip(lr=0.1, clip=1.5, clipped="tracker"),
        reference.gt_clip,
        update=lambda h, t, grad, old, new: h.lr * clipped(new.y, h.clip),
        feed=average,
        tracks="grad",
    ),
    Row(
        gs.MomentumTracking(lr=0.1, momentum=0.8),
        reference.momentum_tracking,
        update=lambda h, t, grad, old, new: h.lr * new.y,
        feed=average,
        tracks="u",
        mixes_last=False,
    ),
    Row(
        gs.GTNSTORM(lr=0.1, momentum=0.8),
        reference.gt_nstorm,
        update=lambda h, t, grad, old, new: h.lr * unit(new.y),
        feed=average,
        tracks="v",
    ),
    Row(
        gs.GTAdam(lr=0.1, beta1=0.8, beta2=0.9, cap=0.5, eps=1e-3),
        reference.gt_adam,
        update=lambda h, t, grad, old, new: h.lr * new.m / (new.v + h.eps).sqrt(),
        feed=corrected,
        tracks="grad",
        mixes_last=False,
    ),
    Row(
        gs.QGDSGDm(lr=0.1, momentum=0.9, quasi_momentum=0.8),
        reference.qg_dsgdm,
        update=lambda h, t, grad, old, new: h.lr * (h.momentum * old.m_hat + grad),
        feed=average,
    ),
    Row(
        gs.SClipEF(lr=0.1, momentum=0.7, scale=2.0, clip=3.0),
        reference.sclip_ef,
        update=lambda h, t, grad, old, new: h.lr * (t + 1) ** -0.2 * new.m,
        feed=own,
    ),
    Row(
        gs.GTNSGDm(lr=0.1, momentum=0.8),
        reference.gt_nsgdm,
        update=lambda h, t, grad, old, new: h.lr * unit(new.y),
        feed=average,
        tracks="v",
    ),
    Row(
        gs.GTNSGDm(lr=0.1, momentum=0.8, order="combine-then-adapt"),
        reference.gt_nsgdm,
        update=lambda h, t, grad, old, new: h.lr * unit(new.y),
        feed=corrected,
        tracks="v",
    ),
    *(
        Row(
            method(lr=0.1, momentum=0.8),
            reference.gt_steepest(direction),
            update=along_the_tracker,
            feed=average,
            tracks="v",
        )
        for method, direction in (
            (gs.GTLayerNSGDm, reference.layers),
            (gs.GTSignSGDm, np.sign),
            (gs.DeMuon, reference.muon),
        )
    ),
    Row(
        gs.EXTRA(lr=0.1),
        reference.extra,
        update=lambda h, t, grad, old, new: h.lr * grad,
        feed=average,
        mixes_last=False,
    ),
    Row(
        gs.ExactDiffusion(lr=0.1, correction=0.8),
        reference.exact_diffusion,
        update=lambda h, t, grad, old, new: h.lr * grad,
        feed=average,
        mixes_last=False,
    ),
    Row(
        gs.DIGing(lr=0.1),
        reference.diging,
        update=lambda h, t, grad, old, new: h.lr * new.y,
        feed=average,
        tracks="grad",
        mixes_last=False,
    ),
    Row(
        gs.ATCTracking(lr=0.1),
        reference.atc_tracking,
        update=lambda h, t, grad, old, new: h.lr * new.y,
        feed=average,
        tracks="grad",
    ),
    Row(
        gs.MoTEF(lr=0.1, momentum=0.8),
        reference.motef,
        update=lambda h, t, grad, old, new: h.lr * new.v,
        feed=average,
        tracks="m",
        mixes_last=False,
    ),
    Row(
        gs.PushSum(gs.DSGD(lr=0.1)),
        reference.push_sum_dsgd,
        update=lambda h, t, grad, old, new: h.lr * grad,
        feed=average,
    ),
    *(
        Row(
            gs.PushSum(gs.DSGDGClip(lr=0.1, clip=1.5, order=order)),
            reference.push_sum_dsgd_gclip,
            update=lambda h, t, grad, old, new: h.lr * clipped(grad, h.clip),
            feed=own,
        )
        for order in BOTH_ORDERS
    ),
    Row(
        gs.PushSum(gs.GTNSGDm(lr=0.1, momentum=0.8)),
        reference.push_sum_gt_nsgdm,
        update=lambda h, t, grad, old, new: h.lr * unit(new.y),
        feed=average,
        tracks="v",
    ),
]

WAYS = {
    "DSGD": "pulls x, and remembers nothing",
    "DSGDGClip-combine-then-adapt": "pulls x before it moves",
    "QGDSGDm": "remembers how x moved",
    "GTNSGDm": "pushes a tracker, then pulls x",
    "GTAdam": "pulls x, moves, and pushes a tracker that it bends",
    "GTNSTORM": "asks for a second gradient",
    "PushSum(DSGD)": "pushes x and its weight",
    "PushSum(DSGDGClip)-combine-then-adapt": "pushes x and its weight before it moves",
    "PushSum(GTNSGDm)": "pushes a tracker, x and its weight",
}
REPRESENTATIVE = [row for row in TABLE if str(row) in WAYS]
"""One of every way to communicate and remember, for tests of many networks.

A step cannot tell networks apart: all methods keep the contract on few networks, and of every way
one method is run on all.
"""
