"""What every experiment keeps to: units with names and configurations, results drawn and judged."""

import json
import os

import pytest

from gossamer.experiments import Experiment, Options
from gossamer.studies import EXPERIMENTS
from gossamer.studies.synthetic.connectivity import Connectivity
from gossamer.studies.synthetic.nodes import Nodes
from gossamer.studies.synthetic.noise_level import NoiseLevel
from gossamer.studies.synthetic.ring_noise import RingNoise
from gossamer.studies.theory.claim_1 import Claim1

SYNTHETIC = [RingNoise(), Connectivity(), NoiseLevel(), Nodes()]
OPTIONS = [Options(), Options(full=True), Options(seed=3), Options(device="cuda")]


def test_the_studies_of_the_paper_are_there_under_their_names():
    assert {"ring-noise", "connectivity", "noise-level", "nodes", "claim-1"} <= set(EXPERIMENTS)
    assert all(name == experiment.name for name, experiment in EXPERIMENTS.items())


def test_quick_and_full_have_their_own_folders():
    assert Options().profile != Options(full=True).profile


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
@pytest.mark.parametrize("options", OPTIONS[:2], ids=["quick", "full"])
def test_units_have_names_for_files_and_configurations_in_json(
    experiment: Experiment, options: Options
):
    units = experiment.units(options)
    names = [unit.name for unit in units]
    assert 0 < len(units) == len(set(names))
    for name in names:
        assert os.path.basename(name) == name
        assert not name.startswith(".")
        assert not set(name) & set('/\\:*?"<>|\0')
        assert len(f".{name}.json.4194304.partial".encode()) < 255
    configs = [json.dumps(unit.config, allow_nan=False, sort_keys=True) for unit in units]
    assert len(set(configs)) == len(units), "two units differ in their name alone"
    assert experiment.title
    assert experiment.about


@pytest.mark.parametrize("experiment", SYNTHETIC, ids=lambda e: e.name)
def test_every_option_changes_every_configuration(experiment: Experiment):
    configs = [[json.dumps(u.config) for u in experiment.units(options)] for options in OPTIONS]
    for same_unit in zip(*configs, strict=True):
        assert len(set(same_unit)) == len(OPTIONS)


@pytest.mark.parametrize("experiment", [*SYNTHETIC, Claim1()], ids=lambda e: e.name)
def test_asking_for_units_twice_gives_the_same(experiment: Experiment):
    first, second = ([(u.name, u.config) for u in experiment.units(Options())] for _ in range(2))
    assert first == second
