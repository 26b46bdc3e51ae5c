"""10,000 nodes on any network that has room for them: simulated, told, kept and read again."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import gossamer as gs

N = 10_000
NETWORKS: dict[str, Callable[[], gs.Network]] = {
    "ring": lambda: gs.ring(N),
    "torus": lambda: gs.torus(N // 50, 50),
    "random regular": lambda: gs.random_regular(N, degree=4),
    "exponential": lambda: gs.exponential(N),
    "one peer": lambda: gs.one_peer_exponential(N),
    "digraph": lambda: gs.random_digraph(N, degree=3),
    "matching": lambda: gs.random_matching(N),
    "matching now and then": lambda: gs.random_matching(N).every(2),
    "links fail": lambda: gs.ring(N).drops(0.1, both_ways=True),
    "messages are lost": lambda: gs.ring(N).drops(0.1),
    "compressed": lambda: gs.ring(N).compressed(gs.TopK(0.5)),
    "accelerated": lambda: gs.ring(N).accelerated(3),
}


@pytest.fixture(scope="module")
def problem() -> gs.Problem:
    return gs.RobustRegression(N, num_samples=10 * N, dim=4)


@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
def test_many_nodes(make: Callable[[], gs.Network], problem: gs.Problem, tmp_path: Path):
    network = make()
    assert "10000 nodes" in repr(network)
    task = {"steps": 4, "seeds": [0, 1], "metrics": ["error", "bytes"]}
    run = gs.simulate(gs.GTDSGD(lr=0.1), problem, network, **task)
    error, sent = run.metrics["error"][-1], run.metrics["bytes"][-1]
    assert (error < run.metrics["error"][0]).all()
    assert (sent > 0).all()
    run.save(tmp_path / "run")
    again = gs.Run.load(tmp_path / "run")
    assert again.config["network"] == network.describe()
    assert torch.equal(again.metrics["bytes"], run.metrics["bytes"])
