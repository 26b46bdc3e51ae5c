"""What the synthetic experiments share: seeds, tuning and how errors are written."""

import math

import pytest
from gossamer.studies.synthetic.synthetic import (
    NETWORKS,
    NOISES,
    PRINTED_LAMBDA,
    final_errors,
    fresh_seeds,
    median_error,
    show_hyperparameters,
    spread,
    tune,
    tuning_seeds,
)

import gossamer as gs
from gossamer.experiments import Options
from gossamer.studies.synthetic import dependence, synthetic


@pytest.mark.parametrize("full", [False, True])
def test_no_seed_is_tuned_on_and_reported(full: bool):
    studies = [Options(full, seed) for seed in (-1, 0, 1, 2)]
    reported = [s for o in studies for s in {*fresh_seeds(o), *dependence.seeds(o)}]
    tuned = [s for o in studies for s in tuning_seeds(o)]
    assert not set(reported) & set(tuned)
    assert len(set(reported)) == len(reported), "studies of different seeds share a seed"
    assert len(fresh_seeds(studies[0])) == 5
    assert len(dependence.seeds(studies[0])) == (20 if full else 5)


def test_the_noises_are_the_papers():
    assert NOISES["Gaussian"] == gs.Gaussian(std=3**0.5)
    assert NOISES["Student-t"] == gs.StudentT(df=1.5, scale=1.0)
    assert NOISES["α-stable"] == gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_networks_have_the_printed_lambda(name: str):
    assert NETWORKS[name].num_nodes == 20
    assert abs(NETWORKS[name].lam - PRINTED_LAMBDA[name]) < 5e-4


def test_printed_lambdas_are_the_papers():
    assert list(PRINTED_LAMBDA.values()) == [0.904, 0.714, 0.6, 0.0]


def test_one_dataset_for_every_number_of_nodes():
    few, many = (synthetic.problem(Options(), n) for n in (2, 40))
    assert (few.num_nodes, many.num_nodes) == (2, 40)
    assert few.optimum is not None
    assert many.optimum is not None
    assert few.optimum.equal(many.optimum)


def test_tune_chooses_on_tuning_seeds_and_reports_on_fresh_ones(monkeypatch: pytest.MonkeyPatch):
    seen: dict[str, list[list[int]]] = {"sweep": [], "simulate": []}

    def watch(name, original):
        def watched(*arguments, **options):
            seen[name].append(list(options["seeds"]))
            return original(*arguments, **options)

        monkeypatch.setattr(synthetic, name, watched)

    watch("sweep", gs.sweep)
    watch("simulate", gs.simulate)
    monkeypatch.setattr(synthetic, "steps", lambda options: 60)
    options = Options(full=True)
    result = tune(gs.DSGD, {"lr": [1e-3, 0.1]}, NETWORKS["complete"], NOISES["Gaussian"], options)
    assert seen == {"sweep": [tuning_seeds(options)] * 2, "simulate": [fresh_seeds(options)] * 2}
    assert result["grid"]["hyperparameters"] == {"lr": 0.1}
    assert result["grid"]["run_steps"] == 60 * 2 * 3
    assert result["halving"]["run_steps"] < result["grid"]["run_steps"]
    assert len(result["grid"]["error"]) == len(result["grid"]["steps"]) == 61
    assert len(final_errors(result["grid"])) == 5
    assert median_error(result["grid"]) == sorted(final_errors(result["grid"]))[2]


def test_spread_says_when_seeds_diverged():
    assert spread([0.3, 0.1, 0.2]) == "0.200 [0.100, 0.300]"
    assert spread([0.3, math.inf, math.nan]) == "diverged on 2 of 3 seeds"


def test_hyperparameters_as_text():
    chosen = {"lr": 1e-05, "clip": 100.0, "order": "adapt-then-combine"}
    assert show_hyperparameters(chosen) == "lr = 1e-05, clip = 100"
