"""A method tuned on one network: who may run there, what is reported, and what was sent."""

import math

import pytest
import torch

import gossamer as gs
from gossamer.studies.methods.bad_networks.on_network import (
    OnNetwork,
    admitted,
    bytes_per_step,
    bytes_until,
)
from gossamer.studies.methods.compared import Different

LR = {"lr": [0.1]}
RING, ONE_WAY = gs.ring(6), gs.random_digraph(6, degree=2)
SMALL = OnNetwork(
    "small",
    algorithm=gs.GTDSGD,
    grid={"lr": [1e-3, 1e-2, 0.1, 1e6]},
    network=RING.compressed(gs.QSGD(4)),
    noise=gs.Gaussian(0.1),
    steps=200,
    tuning_seeds=(500,),
    fresh_seeds=(0, 1, 2),
    nodes=Different(6, 4, 3.0, seed=0),
)


@pytest.mark.parametrize(
    ("method", "network", "form"),
    [
        (gs.DSGD, RING, gs.DSGD),
        (gs.DSGD, ONE_WAY, gs.PushSum(gs.DSGD)),
        (gs.DSGD, ONE_WAY.drops(0.1).compressed(gs.QSGD(4)), None),
        (gs.GTDSGD, ONE_WAY.drops(0.1).compressed(gs.QSGD(4)), gs.GTDSGD),
        (gs.EXTRA, RING.drops(0.1, both_ways=True), gs.EXTRA),
        (gs.EXTRA, RING.drops(0.1), None),
        (gs.EXTRA, ONE_WAY, None),
    ],
)
def test_a_method_runs_as_it_is_by_push_sum_or_not_at_all(method, network, form):
    assert admitted(method, LR, network) is form


def test_a_unit_reports_the_tuned_setting_on_fresh_seeds():
    result = SMALL.run("cpu")
    run = gs.simulate(
        gs.GTDSGD(**result["hyperparameters"]),
        SMALL.nodes.problem(),
        SMALL.network,
        noise=SMALL.noise,
        steps=200,
        seeds=SMALL.fresh_seeds,
        dtype=torch.float32,
    )
    assert result["errors"] == run.final("error").tolist()
    assert result["bytes"] == float(run.metrics["bytes"][-1].mean())
    assert result["settings"] >= 4
    assert result["edges"] == {}
    reached = [sent for sent in result["bytes_until"] if sent < math.inf]
    assert 0 < len(reached) < 6
    assert reached == sorted(reached)


def test_bytes_are_counted_until_the_median_is_low_enough():
    run = gs.simulate(gs.GTDSGD(0.1), gs.Quadratic(4, 2), gs.ring(4), steps=20, seeds=3,
                      record_every=1)  # fmt: skip
    error = run.metrics["error"].median(dim=1).values
    first = int((error <= 0.5 * error[0]).nonzero()[0])
    assert first > 1
    assert bytes_until(run, 0.5) == first * 2 * 2 * 2 * 8  # mixes, neighbours, numbers, bytes
    assert bytes_until(run, 0.0) == math.inf


@pytest.mark.parametrize("network", [RING, RING.every(4), RING.drops(0.2), ONE_WAY.drops(0.2)])
@pytest.mark.parametrize("method", [gs.DSGD, gs.GTNSGDm])
def test_bytes_per_step_are_those_of_a_run(method, network):
    kind = admitted(method, {"lr": [0.1], "momentum": [0.5]} if method.tracker else LR, network)
    assert kind is not None
    own = {"lr": 0.1, **({"momentum": 0.5} if method.tracker else {})}
    run = gs.simulate(kind(**own), gs.Quadratic(6, 20), network, steps=100, dtype=torch.float32)
    weights = 2 * 4 if "push_weight" in kind.pushes else 0  # push-sum's one number, two messages
    sent = float(run.metrics["bytes"][-1].mean()) / 100
    assert sent == pytest.approx(bytes_per_step(kind, network, 20, torch.float32) + weights)
