"""The table: what is printed, what can be read in part, resumption, and our own results."""

from pathlib import Path

import pytest
from made_up import verdict

from gossamer.experiments import Options, Store, run_experiment
from gossamer.studies import EXPERIMENTS
from gossamer.studies.language import transformer_table
from gossamer.studies.language.transformer_table import NETWORKS, PRINTED, TASKS, TransformerTable

RESULTS = Path(__file__).parent.parent.parent / "results"
FULL = Options(full=True)


def test_a_unit_for_the_corpus_and_for_every_protocol_and_method():
    names = [unit.name for unit in TransformerTable().units(FULL)]
    assert names == ["corpus", *(f"{p} {m}" for p in ("paper", "causal") for m in PRINTED)]


@pytest.fixture
def _two_methods(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transformer_table, "TASKS", {"paper": TASKS["paper"]})
    monkeypatch.setattr(transformer_table, "NETWORKS", {"ring": NETWORKS["ring"]})
    few = {method: PRINTED[method] for method in ("DSGD", "GT-DSGD")}
    monkeypatch.setattr(transformer_table, "PRINTED", few)


@pytest.mark.usefixtures("_two_methods")
def test_an_interrupted_table_goes_on_where_it_stopped(tmp_path: Path):
    experiment, store = TransformerTable(), Store.open(tmp_path, Options())

    def interrupt(name: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment, Options(), store, notify=interrupt)
    assert store.results(experiment, Options()) is None
    first = tmp_path / "quick" / "transformer-table" / "paper DSGD.json"
    before = first.read_bytes()
    assert run_experiment(experiment, Options(), store) == 1
    assert first.read_bytes() == before
    results = store.results(experiment, Options())
    assert results is not None
    assert set(results) == {"corpus", "paper DSGD", "paper GT-DSGD"}


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_our_results_are_read_by_this_code(experiment):
    """What the repository holds was made with the configurations that this code asks for."""
    results = Store(RESULTS / "full").results(experiment, FULL)
    assert results is not None
    verdicts = experiment.verdicts(results)
    assert verdicts
    assert all(verdict.holds in ("yes", "partly", "no") for verdict in verdicts)
    for table in experiment.tables(results):
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_our_table_has_the_facts_of_the_corpus_and_what_it_cost():
    results = Store(RESULTS / "full").results(TransformerTable(), FULL)
    assert results is not None
    facts = results["corpus"]
    assert (facts["vocabulary"], facts["parameters"]) == (10208, 3018240)
    assert facts["unigram_loss"] == pytest.approx(5.631, abs=5e-4)
    assert sum(results[f"paper {method}"]["seconds"] for method in PRINTED) < 30 * 60


def test_the_best_baseline_is_the_one_that_is_best_in_our_results():
    """DSGD-GClip in the paper's; to beat that one alone would be no match of the best."""
    results = Store(RESULTS / "full").results(TransformerTable(), FULL)
    assert results is not None
    judged = verdict(TransformerTable().verdicts(results), "nearly matches")
    assert judged.holds == "yes"
    assert "ring: DSGD-CClip 0.284" in judged.note
    results["paper GT-Adam"]["networks"]["ring"]["validation_loss"][-1] = [0.2] * 5
    judged = verdict(TransformerTable().verdicts(results), "nearly matches")
    assert judged.holds == "partly"
    assert "ring: GT-Adam 0.200" in judged.note


def test_a_causal_table_is_shown_method_by_method():
    store, experiment = Store(RESULTS / "full"), TransformerTable()
    results = dict(store.results(experiment, FULL) or {})
    units = experiment.units(FULL)
    without = {name: r for name, r in results.items() if not name.startswith("causal")}
    assert experiment.readable(without, units)
    assert "causal" not in "".join(verdict.statement for verdict in experiment.verdicts(without))
    assert experiment.tables(without)[1].rows == []
    del without["paper DSGD"]
    assert not experiment.readable(without, units)
