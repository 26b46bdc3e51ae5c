"""A method under several readings of a task."""

import dataclasses

import pytest

import gossamer as gs
from gossamer.studies.language.on_the_ring import of_seed
from gossamer.studies.language.other_readings import OtherReadings
from gossamer.studies.language.task import NETWORKS, SIZES, Task, curves, final_losses, train

TASK = SIZES["test"].task(Task("causal", stride=32, epochs=20), seed=0)
READINGS = {"as it is": TASK, "other layers": dataclasses.replace(TASK, style="pytorch")}


def test_every_setting_is_trained_under_every_reading_from_the_weights_of_its_seeds():
    ring, settings = NETWORKS["ring"], ({"lr": 0.1}, {"lr": 0.4})
    unit = OtherReadings("small", gs.NormalizedDSGD, settings, READINGS, ring, (0, 1))
    found = unit.run("cpu")["readings"]
    assert [tried["lr"] for tried in found["as it is"]] == [0.1, 0.4]
    for name, task in READINGS.items():
        run = train(gs.NormalizedDSGD(lr=0.4), of_seed(task, 1), ring, [1], 8, "cpu")
        assert found[name][1]["losses"][1] == pytest.approx(final_losses(curves(run))[0])
    assert found["as it is"] != found["other layers"]
