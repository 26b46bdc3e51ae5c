"""10,000 nodes on any network that has room for them: simulated, told, kept and read again."""

from pathlib import Path

import pytest
import torch

import gossamer as gs

N = 10_000
NETWORKS = {
    "ring": gs.ring(N),
    "torus": gs.torus(N // 50, 50),
    "random regular": gs.random_regular(N, degree=4),
    "exponential": gs.exponential(N),
    "one peer": gs.one_peer_exponential(N),
    "digraph": gs.random_digraph(N, degree=3),
    "matching": gs.random_matching(N),
    "matching now and then": gs.random_matching(N).every(2),
    "links fail": gs.ring(N).drops(0.1, both_ways=True),
    "messages are lost": gs.ring(N).drops(0.1),
    "compressed": gs.ring(N).compressed(gs.TopK(0.5)),
    "accelerated": gs.ring(N).accelerated(3),
}


PROBLEM = gs.RobustRegression(N, num_samples=10 * N, dim=4)


@pytest.mark.parametrize("name", NETWORKS)
def test_many_nodes(name: str, tmp_path: Path):
    network = NETWORKS[name]
    assert "10000 nodes" in repr(network)
    task = {"steps": 4, "seeds": [0, 1], "metrics": ["error", "bytes"]}
    run = gs.simulate(gs.GTDSGD(lr=0.1), PROBLEM, network, **task)
    error, sent = run.metrics["error"][-1], run.metrics["bytes"][-1]
    assert (error < run.metrics["error"][0]).all()
    assert (sent > 0).all()
    run.save(tmp_path / "run")
    again = gs.Run.load(tmp_path / "run")
    assert again.config["network"] == network.describe()
    assert torch.equal(again.metrics["bytes"], run.metrics["bytes"])
