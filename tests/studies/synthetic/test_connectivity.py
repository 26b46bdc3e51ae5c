"""Comparable final errors on four networks: drawn and judged from results made up by hand."""

import math

import pytest
from made_up import at_test_size, curve, draw, verdict

from gossamer.studies.synthetic.connectivity import Connectivity
from gossamer.studies.synthetic.task import NETWORKS

STUDY = Connectivity()


def results(**finals: float):
    return {name: curve(finals.get(name.split()[0], 0.2)) for name in NETWORKS}


@pytest.mark.parametrize(
    ("complete", "holds"),
    [(0.2, "yes"), (0.2499, "yes"), (0.2501, "no"), (0.1, "no"), (math.inf, "no")],
)
def test_comparable_flips_with_the_numbers(complete: float, holds: str):
    judged = verdict(STUDY.verdicts(results(complete=complete)), "comparable final errors")
    assert judged.holds == holds


def test_all_diverged_is_not_comparable():
    ended = results(ring=math.inf, directed=math.inf, undirected=math.inf, complete=math.inf)
    assert verdict(STUDY.verdicts(ended), "comparable").holds == "no"


def test_the_lambdas_are_a_number_of_the_setting():
    judged = verdict(STUDY.verdicts(results()), "λ =")
    assert (judged.holds, judged.source) == ("yes", "setting")


@pytest.mark.parametrize("final", [0.2, math.inf])
def test_figure_and_table(final: float):
    figure = STUDY.figures(results(ring=final))["connectivity"]
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels[0] == "ring, λ = 0.904"
    assert len(labels) == 4
    draw(figure)
    (table,) = STUDY.tables(results(ring=final))
    assert [row[3] for row in table.rows] == ["0.904029", "0.714286", "0.600000", "0.000000"]
    shown = "diverged on 5 of 5 seeds" if final == math.inf else "0.2 [0.2, 0.2]"
    assert table.rows[0][-1] == shown


def test_small_study_end_to_end():
    made = at_test_size(STUDY)
    assert list(made) == list(NETWORKS)
    assert len(STUDY.verdicts(made)) == 2
    assert all(max(r["error"][-1]) < min(r["error"][0]) for r in made.values())
