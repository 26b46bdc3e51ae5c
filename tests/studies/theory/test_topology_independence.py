import pytest

from gossamer.experiments import Options
from gossamer.experiments.experiment import Results
from gossamer.studies.theory import topology_independence
from gossamer.studies.theory.topology_independence import NETWORKS, TopologyIndependence, arrived


def levels(per_network: dict[str, float]) -> Results:
    """Two horizons; the given level in every second half, all arrived but the ring."""
    return {
        name: {
            "lam": network.lam,
            "horizons": [16, 64],
            "averages": [[1.0, 1.1], [0.9, 1.0]],
            "second_half": [[0.5, 0.6], [per_network.get(name, 0.1)] * 2],
            "arrived": [False, name != "ring"],
        }
        for name, network in NETWORKS.items()
    }


def test_equal_levels_hold_and_name_those_on_their_way():
    first, second = TopologyIndependence().verdicts(levels({"ring": 5.0}))
    assert first.holds == "yes"
    assert first.note == "T is not yet large enough for: ring."
    assert second.holds == "yes"  # slope 0


def test_unequal_levels_do_not():
    first, _ = TopologyIndependence().verdicts(levels({"complete": 0.3}))
    assert first.holds == "no"


def test_arrival_needs_longer_on_weak_networks():
    assert arrived(NETWORKS["complete"], 2**11)
    assert not arrived(NETWORKS["ring"], 2**15)


def test_small_study_end_to_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(topology_independence, "horizons", lambda options: [64, 2048])
    monkeypatch.setattr(topology_independence, "seeds", lambda options: [0, 1])
    study = TopologyIndependence()
    results = {unit.name: unit.compute() for unit in study.units(Options())}
    assert results["complete"]["arrived"] == [False, True]
    assert [row[0] for row in study.tables(results)[0].rows] == list(NETWORKS)
    assert len(study.figures(results)["topology-independence"].axes) == 2
