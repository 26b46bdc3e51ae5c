"""The network's influence at growing horizons: judged from averages made up by hand."""

from typing import Any

import pytest
from made_up import at_test_size, verdict

from gossamer.studies.theory.topology_independence import NETWORKS, STARTS, TopologyIndependence

STUDY = TopologyIndependence()
LEVEL, APART, LAST = [3.0, 2.0, 1.4], [3.0, 3.2, 3.5], [3.0, 2.0, 1.6]


def averages(rest: list[float], afar: list[float]) -> dict[str, Any]:
    """1 on every network but the ring, which has these at three horizons."""
    return {
        f"{start}, {name}": {
            "lam": network.lam,
            "horizons": [16, 64, 256],
            "averages": [[0.9 * x, 1.1 * x] for x in (ring if name == "ring" else [1.0] * 3)],
        }
        for start, ring in zip(STARTS, (rest, afar), strict=True)
        for name, network in NETWORKS.items()
    }


@pytest.mark.parametrize(
    ("rest", "afar", "holds", "part"),
    [
        (LEVEL, LEVEL, "yes", ""),
        (LEVEL, APART, "partly", "runs that start at rest"),
        (APART, APART, "no", ""),
        (LAST, LAST, "no", ""),  # still too far apart at the end
        ([1.3, 1.4, 1.4], LAST, "no", ""),  # close together, but not closer and closer
    ],
)
def test_drawing_level_flips_with_the_numbers(rest, afar, holds: str, part: str):
    found = verdict(STUDY.verdicts(averages(rest, afar)), "independent of λ")
    assert (found.holds, found.holds_for) == (holds, part)


@pytest.mark.parametrize(("ring", "holds"), [(1.0, "yes"), (3.0, "yes"), (100.0, "no")])
def test_the_cost_of_a_weak_network_flips_with_the_slope(ring: float, holds: str):
    found = verdict(STUDY.verdicts(averages(LEVEL, [ring] * 3)), "slope ≤ ½")
    assert found.holds == holds


def test_the_table_is_relative_to_the_complete_network():
    (table,) = STUDY.tables(averages(LEVEL, APART))
    assert table.rows[0] == ["at rest", "ring", "3.00", "2.00", "1.40"]
    assert table.rows[-1] == ["from afar", "complete", "1.00", "1.00", "1.00"]


def test_small_study_end_to_end():
    results = at_test_size(STUDY)
    assert list(results) == list(averages(LEVEL, LEVEL))
    assert len(STUDY.verdicts(results)) == 2
    assert len(STUDY.figures(results)["topology-independence"].axes) == 2
