"""Each kind of bad network against its own loop over nodes and links."""

import numpy as np
import pytest
import torch
from networks import loops
from networks.any_network import NODES, digraph
from networks.digraphs import perron_digraph

import gossamer as gs

DIM, STEPS, SEED = 20, 30, 7
PROBLEM = gs.Quadratic(NODES, DIM, condition=5.0, seed=3)
GRAPH = perron_digraph(NODES)


def arrives() -> loops.Arrives:
    """The coins of the network, which are tested elsewhere."""
    lossy = digraph().drops(0.3)
    edges, losses = lossy.edges, lossy.losses([SEED])
    places = {
        link: k
        for k, link in enumerate(zip(edges.sender.tolist(), edges.receiver.tolist(), strict=True))
    }
    return lambda t, sender, receiver: bool(losses.arrive(t)[0, places[sender, receiver]])


CASES = {
    "one-way links": (digraph(), lambda: loops.PushPull(GRAPH)),
    "lost messages": (digraph().drops(0.3), lambda: loops.RunningSums(GRAPH, arrives())),
    "short messages": (
        digraph().compressed(gs.TopK(0.1), gamma=0.15),
        lambda: loops.Copies(GRAPH, 2, 0.15),
    ),
    "talk now and then": (digraph().every(5), lambda: loops.NowAndThen(loops.PushPull(GRAPH), 5)),
}


@pytest.mark.parametrize(("network", "loop"), CASES.values(), ids=CASES)
def test_a_run_is_the_loop_over_nodes_and_links(network: gs.Network, loop):
    def grad(x: np.ndarray) -> np.ndarray:
        return PROBLEM.local_grad(torch.from_numpy(x)[:, None])[:, 0].numpy()

    start = PROBLEM.start.expand(NODES, DIM).numpy().copy()
    expected = loops.gt_nsgdm(loop(), grad, start, STEPS, lr=0.05, momentum=0.8)
    stack = gs.Stack(gs.GTNSGDm(0.05, 0.8), PROBLEM, network, None, [SEED])
    stack.advance(STEPS)
    assert np.abs(stack.x[:, 0].numpy() - expected).max() < 1e-12
    assert np.abs(expected - start).max() > 0.1
