"""What is tuned on is never reported, whatever the size and the study's own seed."""

import pytest

from gossamer.experiments import Unit
from gossamer.studies import EXPERIMENTS

REPORTED = ("seeds", "fresh_seeds", "noise_seeds")


def seeds(units: list[Unit], *names: str) -> set[int]:
    """The seeds in the fields of these names."""
    return {seed for u in units for name in names for seed in u.config.get(name, [])}


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
@pytest.mark.parametrize("size", ["test", "quick", "full"])
def test_no_seed_is_tuned_on_and_reported(experiment, size: str):
    studies = [list(experiment.units(experiment.sizes[size], shift)) for shift in (-1, 0, 1, 2)]
    reported = [seed for units in studies for seed in seeds(units, *REPORTED)]
    tuned = {seed for units in studies for seed in seeds(units, "tuning_seeds")}
    assert tuned.isdisjoint(reported)
    assert reported or experiment.name == "claim-1"
    assert len(set(reported)) == len(reported), "studies of different seeds share one"


def test_noise_is_measured_on_batches_that_training_does_not_use():
    (unit, _) = EXPERIMENTS["noise-evidence"].units(EXPERIMENTS["noise-evidence"].sizes["full"], 3)
    assert unit.config["training_seed"] == 3000
    assert unit.config["noise_seeds"] == [3700 + k for k in range(8)]
