import copy

import pytest

from gossamer.experiments import Options
from gossamer.experiments.experiment import Results
from gossamer.studies.theory import lemmas
from gossamer.studies.theory.lemmas import NETWORKS, NOISES, Lemmas


@pytest.fixture(scope="module")
def results() -> Results:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lemmas, "horizon", lambda options: 64)
        patch.setattr(lemmas, "seeds", lambda options: [0, 1])
        patch.setattr(lemmas, "PATH_STEPS", 60)
        return {unit.name: unit.compute() for unit in Lemmas().units(Options())}


def test_every_lemma_holds(results: Results):
    holds = [verdict.holds for verdict in Lemmas().verdicts(results)]
    assert holds == ["yes", "partly", "yes", "yes", "yes"]  # "=" of the second is only "≤"


@pytest.mark.parametrize(
    ("field", "value", "verdict"),
    [
        ("tracker_expansion", 1e-3, 0),
        ("mean_step", [0.5, 1.1], 1),
        ("descent_slack", -1e-3, 3),
        ("bound", {"p known": [2.0, 1.0], "p unknown": [0.5, 1.0]}, 4),
    ],
)
def test_a_violation_is_judged_so(results: Results, field: str, value: object, verdict: int):
    violated = copy.deepcopy(dict(results))
    violated["ring, Gaussian"][field] = value
    assert Lemmas().verdicts(violated)[verdict].holds == "no"


def test_the_shortest_step_is_that_of_all_noises(results: Results):
    shorter = copy.deepcopy(dict(results))
    shorter["ring, Gaussian"]["mean_step"][0] = 0.001
    assert "smallest ring 0.001 α" in Lemmas().verdicts(shorter)[1].ours


def test_a_consensus_error_above_its_bound_is_judged_so(results: Results):
    violated = copy.deepcopy(dict(results))
    violated["ring, Gaussian"]["consensus"][5] *= 10
    assert Lemmas().verdicts(violated)[2].holds == "partly"  # still attained by two nodes


def test_table_and_figure(results: Results):
    (table,) = Lemmas().tables(results)
    assert len(table.rows) == len(NETWORKS) * len(NOISES)
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert len(Lemmas().figures(results)["lemmas"].axes) == 2
