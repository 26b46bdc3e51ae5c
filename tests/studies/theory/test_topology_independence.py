"""The network's influence at growing horizons: what is computed, and that it can be read."""

from made_up import at_test_size

from gossamer.studies.theory.topology_independence import TopologyIndependence

STUDY = TopologyIndependence()


def test_a_unit_per_network_under_one_noise():
    units = STUDY.units(STUDY.sizes["full"], 0)
    assert len({str(unit.config["network"]) for unit in units}) == len(units) >= 4
    assert len({str(unit.config["noise"]) for unit in units}) == 1


def test_small_study_end_to_end():
    results = at_test_size(STUDY)
    names = list(results)
    (table, *_) = STUDY.tables(results)
    assert [row[0] for row in table.rows][: len(names)] == names
    assert all(len(row) == len(table.columns) for row in table.rows)
    for figure in STUDY.figures(results).values():
        figure.canvas.draw()
    assert STUDY.verdicts(results)
