"""A node by itself: its steps, and what a failure of its neighbours leaves of it."""

import pytest
import torch

from gossamer.algorithms import DSGD, Algorithm, DSGDm, GTNSGDm, PushSum, QGDSGDm
from gossamer.distributed import NeighborExchange, PeerFailure
from gossamer.distributed.node import Node
from gossamer.networks import ring

GRAD = torch.tensor([3.0, 4.0])
TRACKING = GTNSGDm(lr=1.0, momentum=0.8)


def make(algorithm: Algorithm = TRACKING) -> Node:
    x = torch.zeros(2)
    return Node(algorithm, x, algorithm.init(x), alone(x))


def alone(x: torch.Tensor) -> NeighborExchange:
    return NeighborExchange(ring(1), 0, x, group=None)


class FailsInTheSecondMessage:
    """An exchange whose neighbour dies between the two messages of a step."""

    def talk(self, t, memory, held):
        heard = []

        def mix(z):
            if heard:
                raise PeerFailure(0, [(1, 0)], t, "gone")
            heard.append(z)
            return z

        return mix


def test_a_step_is_that_of_the_method_in_the_memory_of_x():
    node = make()
    x = node.x
    expected, state = TRACKING.step(0, x.clone(), GRAD, node.state, mix=lambda z: z)
    node.advance(GRAD)
    assert node.x is x
    assert torch.equal(x, expected)
    assert torch.equal(node.state.y, state.y)
    assert node.t == 1


def test_a_failure_in_the_middle_of_a_step_leaves_the_node_as_it_was():
    node = make()
    node.exchange = FailsInTheSecondMessage()
    with pytest.raises(PeerFailure):
        node.advance(GRAD)
    assert (node.t, node.x.tolist(), node.state.y.tolist()) == (0, [0.0, 0.0], [0.0, 0.0])


def test_a_node_behind_the_others_sits_its_steps_out():
    node = make(DSGD(lr=1.0))
    node.reconnect(alone(node.x), step=2)
    for t, moved in enumerate([0.0, 0.0, -3.0, -6.0]):
        assert node.sits_out == (t < 2)
        node.advance(GRAD)
        assert (node.t, node.x[0].item()) == (t + 1, moved)


def test_a_node_that_is_placed_sits_nothing_out():
    node = make(DSGD(lr=1.0))
    node.reconnect(alone(node.x), step=9)
    node.place(3, torch.ones(2), node.state)
    node.advance(GRAD)
    assert (node.t, node.x.tolist()) == (4, [-2.0, -3.0])


class OfAUser(DSGDm):
    """A method that does not say whose its state is."""

    def step(self, t, x, grad, state, mix):
        return super().step(t, x, grad, state, mix)


@pytest.mark.parametrize(
    ("algorithm", "kept"),
    [
        (DSGDm(lr=1.0), True),
        (TRACKING, False),
        (QGDSGDm(lr=1.0), False),
        (OfAUser(lr=1.0), False),
        (PushSum(DSGDm(lr=1.0)), False),
    ],
    ids=str,
)
def test_only_a_state_of_its_own_is_kept_with_other_neighbours(algorithm, kept):
    node = make(algorithm)
    node.advance(GRAD)
    before = node.state
    node.reconnect(alone(node.x), step=1)
    assert (node.state is before) == kept
    assert before[0].norm() > 0
    assert (node.state[0].norm() > 0) == kept
