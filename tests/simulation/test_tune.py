"""`tune`: chosen on some seeds, reported on others, and told where the grid was too small."""

import dataclasses
from pathlib import Path

import pytest
import torch

import gossamer as gs
from gossamer.algorithms import admissible_sets
from gossamer.simulation import OnTheEdge, search_set

PROBLEM, NETWORK = gs.Quadratic(6, 4), gs.ring(6)
COSTS = ["gradients", "messages", "bytes"]
NOISE = gs.StudentT(1.5, 0.1)
FAR = [1_000_000, 1_000_001]


def tuned(method=gs.DSGD, **changes) -> gs.Tuned:
    return gs.tune(method, PROBLEM, NETWORK, **{"noise": NOISE, "steps": 80, **changes})


@pytest.mark.parametrize("strategy", ["grid", "halving"])
def test_it_is_a_sweep_and_then_a_simulation_on_other_seeds(strategy: str):
    grid = {"lr": [0.01, 0.1], "momentum": [0.5, 0.9]}
    choice = {"grid": grid, "strategy": strategy, "seeds": [0, 1], "tuning_seeds": [7, 8]}
    found = tuned(gs.GTNSGDm, search_dtype=torch.float32, **choice)
    arguments = {"noise": NOISE, "steps": 80, "metrics": ["error"]}
    searched = gs.sweep(
        gs.GTNSGDm,
        grid,
        PROBLEM,
        NETWORK,
        seeds=[7, 8],
        strategy=strategy,
        dtype=torch.float32,
        **arguments,
    )
    best = searched.best().hyperparameters
    alone = gs.simulate(gs.GTNSGDm(**best), PROBLEM, NETWORK, seeds=[0, 1], **arguments)
    assert found.hyperparameters == best
    assert torch.equal(found.search.scores(), searched.scores())
    assert found.search.run_steps == searched.run_steps
    assert found.score == float(searched.scores().min())
    assert torch.equal(found.run.x, alone.x)
    assert found.run.config == alone.config


def test_the_default_is_the_methods_search_set_on_two_seeds_that_are_not_reported():
    found = tuned(seeds=[3, 9])
    assert [setting["lr"] for setting in found.search.settings] == search_set(gs.DSGD)["lr"]
    assert found.search.config["seeds"] == FAR
    assert found.search.config["strategy"] == "halving"
    assert found.run.config["seeds"] == [3, 9]


@pytest.mark.parametrize(
    ("values", "edge"),
    [
        ([1e-4, 1e-3], {"lr": "highest"}),
        ([5.0, 10.0], {"lr": "lowest"}),
        ([1e-4, 0.1, 10.0], {}),
        ([0.1], {}),
        ([0.0, 1e300], {}),  # nothing lies below the least admissible step
    ],
)
def test_an_optimum_on_the_edge_of_the_grid_is_told(values: list[float], edge: dict[str, str]):
    found = tuned(grid={"lr": values}, strategy="grid", noise=None)
    assert found.edges == edge
    assert ("value tried" in repr(found)) == bool(edge)


def test_two_edges_are_told_with_the_values_to_try():
    found = tuned(gs.GTNSGDm, grid={"lr": [1e-8, 1e-7], "momentum": [0.01, 0.02]}, noise=None)
    higher = "lr is the highest value tried, and higher values may do better"
    lower = "momentum is the lowest value tried, and lower values may do better"
    assert f"{higher}; {lower}" in repr(found)


def test_several_values_at_one_edge_are_told_together():
    grid = {"lr": [1e-8, 1e-7], "momentum": [0.9, 0.95]}
    settings = {"grid": grid, "noise": None, "seeds": [0], "tuning_seeds": [1]}
    found = tuned(gs.GTNSGDm, **settings)
    found = dataclasses.replace(found, edges={"lr": "highest", "momentum": "highest"})
    told = "lr and momentum are the highest values tried, and higher values may do better"
    assert found.at_the_edge == told
    assert found.budget.startswith("4 settings × 1 seed, ")


def test_edges_are_told_for_each_hyperparameter():
    grid = {"lr": [1e-4, 0.01, 1.0], "momentum": [0.01, 0.02]}
    found = tuned(gs.GTNSGDm, grid=grid, steps=400, tuning_seeds=[5, 6])
    assert found.hyperparameters == {"lr": 0.01, "momentum": 0.01}
    assert found.edges == {"momentum": "lowest"}


@pytest.mark.parametrize("strategy", ["grid", "halving"])
@pytest.mark.parametrize("values", [[1e-5, 1e-4, 1e-3], [0.5, 5.0]])
def test_a_search_goes_on_beyond_the_edge_to_what_a_larger_grid_finds(values, strategy: str):
    found = tuned(grid={"lr": values}, strategy=strategy, extensions=3, tuning_seeds=[5, 6])
    tried = [setting["lr"] for setting in found.search.settings]
    assert tried == values + list(found.extended["lr"])
    assert len(set(tried)) == len(tried) > len(values) + 1
    assert found.edges == {}
    larger = gs.sweep(gs.DSGD, {"lr": tried}, PROBLEM, NETWORK, noise=NOISE, steps=80, seeds=[5, 6])
    assert found.hyperparameters == larger.best().hyperparameters
    assert found.score == pytest.approx(float(larger.scores().min()), rel=1e-12)
    if strategy == "grid":
        torch.testing.assert_close(found.search.scores(), larger.scores(), rtol=1e-12, atol=0)
        assert found.search.run_steps == larger.run_steps
    assert "the lr grid was extended to " in repr(found)


def test_extensions_are_bounded_and_a_grid_of_ones_own_has_none():
    grid = {"lr": [1e-9, 1e-8]}
    assert tuned(grid=grid).extended == {}
    found = tuned(grid=grid, extensions=2, tuning_seeds=[5, 6])
    assert (found.extended, found.edges) == ({"lr": [1e-7, 1e-6]}, {"lr": "highest"})
    with pytest.raises(gs.InvalidInput, match="extensions: got -1"):
        tuned(extensions=-1)


def test_a_default_set_that_stays_too_small_is_warned_of():
    words = r"DSGD: the lr grid was extended to 5e-06, .* and 1e-08; lr is the lowest value tried"
    with pytest.warns(OnTheEdge, match=words):
        found = tuned(judge_by="consensus_error")
    assert len(found.extended["lr"]) == 6


def test_more_reported_seeds_change_nothing_of_the_search(tmp_path: Path):
    store = gs.Store(tmp_path)
    first = tuned(gs.GTNSGDm, seeds=range(2), store=store)
    searched = store.computed
    more = tuned(gs.GTNSGDm, seeds=range(3), store=store)
    assert store.computed - searched == 80, "one more run of the setting that was chosen"
    assert more.hyperparameters == first.hyperparameters
    assert torch.equal(more.run.metrics["error"][:, :2], first.run.metrics["error"])


@pytest.mark.parametrize(
    ("seeds", "tuning_seeds", "named", "other"),
    [([0, 1, 2], [1, 5], 1, 6), ([7, *FAR, 8], None, 1_000_000, 1_000_002)],
)
def test_seeds_that_are_reported_are_not_tuned_on(seeds, tuning_seeds, named, other):
    message = f"tuning_seeds: got {named}, which is also reported, need seeds that are not reported"
    with pytest.raises(gs.InvalidInput, match=f"{message}; e.g. {other}$"):
        tuned(seeds=seeds, tuning_seeds=tuning_seeds)


def test_the_judge_decides_and_other_metrics_are_recorded_of_the_report_only():
    metrics = ["error", "consensus_error"]
    found = tuned(judge_by="consensus_error", metrics=metrics, grid=search_set(gs.DSGD))
    assert found.hyperparameters == {"lr": min(search_set(gs.DSGD)["lr"])}
    assert list(found.run.metrics) == ["consensus_error", "error", *COSTS]
    assert list(found.search.metrics) == ["consensus_error", *COSTS]


@pytest.mark.parametrize("name", gs.ALGORITHMS)
def test_every_method_has_a_search_set_it_accepts(name: str):
    method = gs.ALGORITHMS[name]
    grid = search_set(method)
    assert set(grid) <= set(admissible_sets(method))
    assert len(grid["lr"]) >= 6
    for pick in (0, -1):
        method(**{name: values[pick] for name, values in grid.items()})


def test_a_search_set_that_lacks_a_hyperparameter_is_refused_by_its_name():
    with pytest.raises(gs.InvalidInput, match="no value of momentum for GTNSGDm") as told:
        tuned(gs.GTNSGDm, grid={"lr": [0.1]})
    way_out = str(told.value).partition("e.g. ")[2].partition(", as the grid")[0]
    tuned(gs.GTNSGDm, grid=eval(way_out, {"gs": gs, "GTNSGDm": gs.GTNSGDm}))


@pytest.mark.parametrize("method", [gs.DSGD(0.1), "DSGD", int])
@pytest.mark.parametrize("grid", [None, {"lr": [0.1]}])
def test_only_the_class_of_a_method_is_tuned(method, grid):
    with pytest.raises(gs.InvalidInput, match=r"algorithm: got .*, need the class of a method"):
        gs.tune(method, gs.Quadratic(4, 2), gs.ring(4), grid=grid, steps=4)
