"""10,000 nodes on any network that has room for them: simulated, told, kept and read again."""

import gc
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import gossamer as gs
from gossamer.simulation.simulation import STACK_BYTES

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


def test_records_lie_in_memory_that_was_there_before_the_steps():
    """Made one by one, they would lie where a step frees large tensors, and it would take more."""
    told: list[gs.Recorded] = []
    given = {"steps": 6, "record_every": 1, "on_record": told.append}
    gs.simulate(gs.GTDSGD(0.1), gs.Quadratic(4, 2), gs.ring(4), **given)
    assert len({one.metrics["error"].untyped_storage().data_ptr() for one in told}) == 1
    assert [float(one.metrics["error"]) for one in told] == sorted(
        (float(one.metrics["error"]) for one in told), reverse=True
    )


def stacks_in_memory() -> int:
    """How many tensors there are of the parameters of a run."""
    return sum(type(z) is torch.Tensor and z.shape == (4, 1, 3) for z in gc.get_objects())


def test_what_a_run_held_is_given_up_before_the_next(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(STACK_BYTES, "cpu", 1)  # one run at a time
    counts: list[int] = []
    given = {"steps": 2, "record_every": 2, "seeds": range(4), "noise": gs.Gaussian(0.1)}
    gc.disable()
    try:
        gs.simulate(
            gs.GTNSGDm(0.1, 0.8),
            gs.Quadratic(4, 3),
            gs.ring(4),
            on_record=lambda one: counts.append(stacks_in_memory()),
            **given,
        )
    finally:
        gc.enable()
    starts, ends = counts[::2], counts[1::2]
    assert len(starts) == 4
    assert len({*starts}) == len({*ends}) == 1
