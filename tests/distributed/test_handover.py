"""A run goes from the simulator to real processes and back through one folder."""

from pathlib import Path

import pytest
import torch
from processes import on_ranks
from torch import nn

from gossamer.algorithms import DSGD, GTNSGDm
from gossamer.distributed import Checkpoints, DecentralizedOptimizer
from gossamer.distributed.links import stacked
from gossamer.errors import InvalidInput
from gossamer.handover import load_stack, save_stack
from gossamer.networks import QSGD, Network, TopK, from_digraph, ring
from gossamer.problems import Quadratic
from gossamer.simulation.stack import Stack

METHOD = GTNSGDm(lr=0.1, momentum=0.8)
PROBLEM = Quadratic(num_nodes=4, dim=6, seed=0)
SEED = 16
"""Some links have just lost their last message, and none two."""

DIGRAPH = from_digraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], name="digraph")
NETWORKS = [
    ring(4),
    ring(4).compressed(QSGD(4)).every(2),
    ring(4).drops(0.4, both_ways=True).compressed(TopK(0.4)),
    DIGRAPH.drops(0.4),
    DIGRAPH.drops(0.4).compressed(TopK(0.4)),
]


def stack(network: Network) -> Stack:
    return Stack(METHOD, PROBLEM, network, noise=None, seeds=[SEED])


def continue_on_ranks(rank: int, folder: Path) -> None:
    for k, network in enumerate(NETWORKS):
        parameter = nn.Parameter(torch.zeros(6, dtype=torch.float64))
        optimizer = DecentralizedOptimizer([parameter], METHOD, network, seed=SEED)
        checkpoints = Checkpoints(folder / str(k), optimizer, None)
        assert checkpoints.resume() == 10
        while optimizer.steps < 15:
            everywhere = parameter.detach().expand(4, 1, 6)
            parameter.grad = PROBLEM.local_grad(everywhere)[rank, 0]
            optimizer.step()
        checkpoints.save()


def test_simulator_to_ranks_and_back(tmp_path):
    runs = [(stack(network), stack(network)) for network in NETWORKS]
    for k, (simulated, _) in enumerate(runs):
        simulated.advance(10)
        save_stack(tmp_path / str(k), simulated)
    on_ranks(continue_on_ranks, tmp_path)
    for k, (simulated, loaded) in enumerate(runs):
        simulated.advance(5)
        load_stack(tmp_path / str(k), loaded)
        assert loaded.t == 15
        for _ in range(2):
            torch.testing.assert_close(loaded.x, simulated.x, rtol=0, atol=1e-12)
            for ours, theirs in zip(loaded.state, simulated.state, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
            simulated.advance(5)
            loaded.advance(5)


def test_several_lost_messages_about_a_total_cannot_be_told_apart(tmp_path):
    network = DIGRAPH.drops(0.8).compressed(TopK(0.4))
    simulated = stack(network)
    simulated.advance(10)
    with pytest.raises(InvalidInput, match=r"several on the way from node \d, need at most one"):
        save_stack(tmp_path, simulated)


def test_links_of_another_seed_are_refused(tmp_path):
    network = DIGRAPH.drops(0.4)
    simulated = stack(network)
    simulated.advance(10)
    save_stack(tmp_path, simulated)
    other = Stack(METHOD, PROBLEM, network, noise=None, seeds=[SEED + 1])
    with pytest.raises(InvalidInput, match=rf"seed {SEED} at step 10, need those of .* {SEED + 1}"):
        load_stack(tmp_path, other)


def test_a_stack_of_several_runs_is_refused(tmp_path):
    several = Stack(METHOD, PROBLEM, ring(4), noise=None, seeds=[0, 1])
    with pytest.raises(InvalidInput, match="stack: got 2 runs, need a stack of one run"):
        save_stack(tmp_path, several)


def test_a_stack_of_another_method_is_refused(tmp_path):
    save_stack(tmp_path, stack(ring(4)))
    other = Stack(DSGD(lr=0.1), PROBLEM, ring(4), noise=None, seeds=[0])
    with pytest.raises(InvalidInput, match=r"GTNSGDm of shape \(4, 1, 6\), need DSGD"):
        load_stack(tmp_path, other)


def test_the_links_are_looked_at_once_for_all_nodes(monkeypatch: pytest.MonkeyPatch):
    """Not for each node again, which takes the square of their number."""
    asked: list[Network] = []
    ends = stacked._ends
    monkeypatch.setattr(stacked, "_ends", lambda network: asked.append(network) or ends(network))
    network = ring(50).drops(0.2)
    simulated = Stack(METHOD, Quadratic(50, 3), network, noise=None, seeds=[SEED])
    simulated.advance(3)
    memory = tuple({name: z[:, 0] for name, z in site.items()} for site in simulated.links)
    assert len(stacked.apart(memory, network, SEED, 3)) == 50
    assert len(asked) == 1
