"""After a drop the survivors of any method end where they would end without the dead node."""

import pytest
import torch
from torch import Tensor

from gossamer.algorithms import (
    ALGORITHMS,
    DSGD,
    EXTRA,
    GTDSGD,
    GTNSTORM,
    Algorithm,
    ATCTracking,
    DeMuon,
    DIGing,
    DSGDm,
    ExactDiffusion,
    GTAdam,
    GTClip,
    GTLayerNSGDm,
    GTNSGDm,
    GTSignSGDm,
    InversePower,
    MomentumTracking,
    MoTEF,
    PushSum,
    QGDSGDm,
    SClipEF,
    Stateless,
)
from gossamer.distributed import NeighborExchange
from gossamer.distributed.node import Node
from gossamer.networks import ring
from gossamer.problems import Quadratic
from gossamer.simulation.stack import Stack

PROBLEM = Quadratic(num_nodes=4, dim=6, condition=2.0, seed=0)
DEAD = 2
KEPT = [node for node in range(4) if node != DEAD]
SURVIVORS = Quadratic.from_centers(PROBLEM._centers[KEPT], PROBLEM._curvatures[KEPT])
FALLING = InversePower(1.0, 1.0)

ENDS = [
    (DSGDm(lr=0.02), 1e-6),
    (QGDSGDm(lr=0.05), 1e-6),
    (SClipEF(lr=0.5, momentum=0.9, scale=1.0, clip=0.5), 0.05),
    (GTDSGD(lr=0.3), 1e-6),
    (ATCTracking(lr=0.3), 1e-6),
    (DIGing(lr=0.3), 1e-6),
    (GTClip(lr=0.3, clip=0.5, clipped="tracker"), 1e-6),
    (MomentumTracking(lr=0.05, momentum=0.8), 1e-6),
    (MoTEF(lr=0.1, momentum=0.8), 1e-6),
    (EXTRA(lr=0.3), 1e-6),
    (ExactDiffusion(lr=0.3), 1e-6),
    (GTAdam(lr=FALLING), 0.02),
    (GTNSGDm(lr=FALLING, momentum=0.8), 0.02),
    (GTNSTORM(lr=FALLING, momentum=0.8), 0.02),
    (GTLayerNSGDm(lr=FALLING, momentum=0.8), 0.02),
    (GTSignSGDm(lr=FALLING, momentum=0.8), 0.02),
    (DeMuon(lr=FALLING, momentum=0.8), 0.02),
    (PushSum(DSGD(lr=0.3)), 1e-6),
    (PushSum(DSGDm(lr=0.02)), 1e-6),
]
"""Methods, and how far apart the two ends may be."""


def reconnected(algorithm: Algorithm, x: Tensor, state, t: int):
    """What one node keeps of its state when its neighbours are others."""
    alone = NeighborExchange(ring(1), 0, x, group=None)
    node = Node(algorithm, x, state, alone, t)
    node.reconnect(alone, t)
    return node.state


def end_after_a_drop(algorithm: Algorithm, steps: int) -> Tensor:
    before = Stack(algorithm, PROBLEM, ring(4), None, seeds=[0])
    before.advance(10)
    after = Stack(algorithm, SURVIVORS, ring(3), None, seeds=[0])
    after.t, after.x = before.t, before.x[KEPT].clone()
    kind = type(before.state)
    states = [kind(*(z[node, 0] for z in before.state)) for node in KEPT]
    kept = [
        reconnected(algorithm, x, own, before.t)
        for x, own in zip(after.x[:, 0], states, strict=True)
    ]
    after.state = kind(*(torch.stack(z)[:, None] for z in zip(*kept, strict=True)))
    after.advance(steps)
    return after.x[:, 0]


@pytest.mark.parametrize(("algorithm", "apart"), ENDS, ids=str)
def test_the_survivors_end_as_if_the_dead_node_had_never_been(algorithm, apart):
    alone = Stack(algorithm, SURVIVORS, ring(3), None, seeds=[0])
    alone.advance(2000)
    end = end_after_a_drop(algorithm, 2000)
    torch.testing.assert_close(end, alone.x[:, 0], rtol=0, atol=apart)


def test_every_method_with_a_state_is_tested():
    x = torch.zeros(2)
    tested = {type(algorithm) for algorithm, _ in ENDS}
    for kind in set(ALGORITHMS.values()) - tested:
        assert kind.init(kind, x) == Stateless()
