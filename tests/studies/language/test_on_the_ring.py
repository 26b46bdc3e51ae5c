"""A method tuned on the ring and beyond its set, then trained there and elsewhere."""

import dataclasses

import pytest
import torch

import gossamer as gs
from gossamer.studies.language.on_the_ring import Elsewhere, OnTheRing, Place, Search, of_seed
from gossamer.studies.language.task import NETWORKS, SIZES, Task, TinyShakespeare

TASK = SIZES["test"].task(Task("causal", stride=32, epochs=20, dropout=0.1), seed=0)
RING = Place(TASK, NETWORKS["ring"])


def search(*step_sizes: float, extensions: int = 0) -> Search:
    settings = tuple({"lr": lr, "momentum": 0.8} for lr in step_sizes)
    schedule = ((1 / 2, 0.5),)
    return Search(gs.GTNSGDm, settings, TASK, NETWORKS["ring"], 500, schedule, extensions, 8)


@pytest.fixture(scope="module")
def on_the_ring() -> dict:
    return OnTheRing("small", search(1e-3, 0.1, 0.3, 30.0), (0, 1)).run("cpu")


def test_a_search_tries_every_setting_and_ends_some_early(on_the_ring):
    found, steps = on_the_ring["search"], TASK.steps("cpu")
    assert found["settings"] == 4
    assert found["run_steps"] < 4 * steps
    assert found["scores"][0]["lr"] == found["hyperparameters"]["lr"]
    assert len(found["scores"]) == 2
    assert (found["extended"], found["edges"]) == ({}, {})


@pytest.mark.parametrize(("extensions", "tried"), [(0, 2), (1, 3)])
def test_a_search_goes_on_beyond_an_edge(extensions: int, tried: int):
    found = search(1e-3, 1e-2, extensions=extensions).run("cpu")
    assert found["settings"] == tried
    assert found["extended"] == ({"lr": [0.1]} if extensions else {})
    assert found["edges"] == {"lr": "highest"}, "0.1 is still the highest"


def test_what_is_reported_is_every_run_from_its_own_weights(on_the_ring):
    method = gs.GTNSGDm(**on_the_ring["search"]["hyperparameters"])
    for k, seed in enumerate((0, 1)):
        problem = of_seed(TASK, seed).problem("cpu")
        run = gs.simulate(
            method,
            problem,
            NETWORKS["ring"],
            steps=TASK.steps("cpu"),
            seeds=[seed],
            metrics=["validation_loss"],
            dtype=torch.float32,
        )
        last = on_the_ring["validation_loss"][-1][k]
        assert last == pytest.approx(float(run.final("validation_loss")[0]), abs=1e-4)
    first = on_the_ring["validation_loss"][0]
    assert first[0] != first[1]
    assert (on_the_ring["steps"][0], on_the_ring["steps"][-1]) == (0, TASK.steps("cpu"))


def test_elsewhere_the_setting_is_that_of_the_ring(on_the_ring):
    noisy = dataclasses.replace(RING, noise=gs.Gaussian(1.0))
    places = {"ring": RING, "noise": noisy, "complete": Place(TASK, NETWORKS["complete"])}
    tuned = search(1e-3, 0.1, 0.3, 30.0)
    found = Elsewhere("small", tuned, places, (0,)).run("cpu")
    assert found["search"] == on_the_ring["search"]
    ends = {name: curve["validation_loss"][-1] for name, curve in found["places"].items()}
    assert ends["ring"] == on_the_ring["validation_loss"][-1][:1]
    assert len({end for (end,) in ends.values()}) == 3


def test_smaller_studies_have_a_text_for_each_corpus():
    shakespeare = dataclasses.replace(TASK, text=TinyShakespeare())
    for size in ("test", "quick"):
        texts = {SIZES[size].task(Task("causal", 32, 20, text=t.text), 0).text
                 for t in (shakespeare, Task("causal", 32, 20))}  # fmt: skip
        assert len(texts) == 2
        assert TinyShakespeare() not in texts
