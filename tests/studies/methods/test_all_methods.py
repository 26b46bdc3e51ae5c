"""All methods beside each other: drawn and judged from results made up by hand, and units run."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
from made_up import INITIAL, THROWN, MadeUp, draw, verdict

import gossamer as gs
from gossamer.colours import LOOKS
from gossamer.experiments import Options, Work
from gossamer.studies.methods.all_methods import (
    CLIPPING,
    METHODS,
    SITUATIONS,
    AllMethods,
    unit_name,
)
from gossamer.studies.methods.compared import Alike, Compared, Different
from gossamer.studies.methods.standing import OURS

RESULTS = Path(__file__).parents[3] / "results"


def result(errors: list[float]) -> dict[str, Any]:
    return {
        "hyperparameters": {"lr": 0.01},
        "initial": INITIAL,
        "errors": errors,
        "settings": 13,
        "good": 2,
        "useless": 4,
    }


NAMES = [unit_name(kind, noise, method) for kind, noise in SITUATIONS for method in METHODS]
STUDY = AllMethods()
MADE_UP = MadeUp(STUDY, NAMES, result)
made, judged, rows = MADE_UP.made, MADE_UP.judged, MADE_UP.rows


def test_every_method_in_six_situations():
    units = STUDY.units(STUDY.sizes["full"], 0)
    assert len({algorithm for algorithm, _ in METHODS.values()}) == 10
    assert [unit.name for unit in units] == list(made())
    assert {unit.network.name for unit in units} == {"ring(20, hops=2)"}
    assert {unit.config["steps"] for unit in units} == {10_000}
    assert CLIPPING == [
        "DSGD-Clip", "DSGD-Clip (shrinking)", "DSGD-GClip", "SClip-EF", "DSGD-CClip"
    ]  # fmt: skip


def test_no_verdict_is_passed_for_a_statement_of_the_paper():
    assert {v.source for v in STUDY.verdicts(made())} == {"ours"}


@pytest.mark.parametrize("bad", [THROWN, [0.2, 0.2, math.inf]])
def test_robustness_flips_with_the_numbers(bad: list[float]):
    words = f"{OURS} is robust"
    assert judged(words).holds == "yes"
    part = judged(words, {f"alike, Gaussian, {OURS}": bad})
    assert part.holds == "partly"
    assert "alike, Gaussian noise" not in part.holds_for
    assert judged(words, {OURS: bad}).holds == "no"


LOW = [0.1] * 3
FOUR = [("alike", n) for n in ("Gaussian", "Student-t", "α-stable")] + [("different", "Gaussian")]


def in_situations(situations, method: str, errors: list[float]) -> dict[str, list[float]]:
    return {unit_name(kind, noise, method): errors for kind, noise in situations}


@pytest.mark.parametrize(
    ("changed", "holds"),
    [
        ({}, "no"),  # as low is not lower
        (in_situations(FOUR, "DSGD-Clip", LOW), "yes"),
        (in_situations(FOUR[:3], "DSGD-Clip", LOW), "no"),  # three of six are not most
        (in_situations(FOUR, "DSGD", LOW), "no"),  # does not clip
        (
            in_situations(FOUR, "DSGD-Clip", LOW)
            | in_situations([("different", "α-stable")], "DSGD-Clip", THROWN),
            "no",  # lower, but less robust
        ),
        (
            in_situations(FOUR, "DSGD-Clip", LOW)
            | in_situations([("different", "α-stable")], "DSGD-Clip", THROWN)
            | in_situations([("alike", "Gaussian")], OURS, THROWN),
            "yes",  # both robust in five
        ),
    ],
)
def test_the_rival_that_clips_flips_with_the_numbers(changed, holds: str):
    assert judged("Some method that clips", changed).holds == holds


@pytest.mark.parametrize(
    ("good", "holds"),
    [([1] * 6, "yes"), ([1, 1, 2, 1, 1, 1], "no"), ([3] * 6, "no")],
)
def test_whose_search_set_forgives_flips_with_the_numbers(good: list[int], holds: str):
    """GT-NSGDm has two good settings of thirteen in every situation."""
    results = made({"SClip-EF": LOW, "DSGD": THROWN})
    for (kind, noise), count in zip(SITUATIONS, good, strict=True):
        results[unit_name(kind, noise, "SClip-EF")]["good"] = count
        results[unit_name(kind, noise, "DSGD")]["good"] = 13  # not robust: no rival
    found = verdict(STUDY.verdicts(results), "share of good settings")
    assert found.holds == holds
    assert f"SClip-EF {min(good) / 13:.1%} to {max(good) / 13:.1%}" in found.ours
    assert "DSGD" not in found.ours


def test_good_everywhere_flips_with_the_numbers():
    words = "in every situation"
    assert judged(words).holds == "yes"
    ahead = {unit_name(k, n, m): LOW for (k, n), m in zip(SITUATIONS, METHODS, strict=False)}
    none = judged(words, ahead)
    assert none.holds == "no"
    assert f"{OURS} 2.00" in none.ours
    assert judged(words, dict.fromkeys(METHODS, THROWN)).ours.endswith("none")


def test_the_decision_names_lowest_as_good_and_what_to_avoid():
    changed = {
        "alike, Gaussian, SClip-EF": LOW,
        "alike, Gaussian, DSGD-Clip": [0.149] * 3,
        "alike, Gaussian, DSGD-GClip": [0.151] * 3,
        "alike, Gaussian, DSGD": [0.4] * 3,
        "alike, Gaussian, GT-DSGD": [0.1, 0.12, 2.1],
    }
    lowest, good, avoid = rows("Which method", changed)["alike, Gaussian noise"]
    assert (lowest, good, avoid) == ("SClip-EF", "DSGD-Clip", "GT-DSGD, DSGD")


def test_cells_are_marked():
    changed = {"alike, Gaussian, SClip-EF": LOW, "alike, Student-t, SClip-EF": THROWN}
    cells = rows("Final errors, nodes alike", changed)["SClip-EF"]
    assert cells[:2] == ["★ 0.1 [0.1, 0.1]", "✗ 0.2 [0.2, 2.1]"]
    gaussian, student, _ = rows("Search sets, nodes alike", changed)["SClip-EF"][1:]
    assert (gaussian, student) == ("15% good, 31% useless", "✗")


def test_robustness_is_counted_for_every_method():
    counts = rows("Robustness", {"DSGD-Clip": LOW, "alike, Gaussian, DSGD": THROWN})
    assert counts["DSGD-Clip"] == ["6 of 6", "6 of 6", "15% to 15%"]
    assert counts["DSGD"] == ["5 of 6", "0 of 6", "15% to 15%"]
    assert counts[OURS] == ["6 of 6", "–", "15% to 15%"]
    assert next(iter(counts)) == "DSGD-Clip"
    assert list(counts)[-1] == "DSGD"


@pytest.mark.parametrize("last", [0.2, math.inf])
def test_figures_have_a_panel_per_noise_and_a_row_per_method(last: float):
    figures = STUDY.figures(made({"DSGD": [0.2, 0.2, last]}))
    assert list(figures) == ["all-methods-alike", "all-methods-different"]
    for figure in figures.values():
        assert len(figure.axes) == 3
        labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert labels == list(METHODS)
        dots = [line for line in figure.axes[0].lines if line.get_marker() in ("o", "x")]
        assert len(dots) == len(METHODS) - (last == math.inf)
        ours = {dot.get_color() for dot in dots if dot.get_label() == "GT-NSGDm"}
        assert ours == {LOOKS["GT-NSGDm"].colour}
        draw(figure)


def test_the_page_names_each_of_its_tables():
    assert MADE_UP.named_on("choose.md") == [1]


SMALL = Compared(
    "small",
    algorithm=gs.DSGD,
    grid={"lr": [1e-5, 0.1, 0.5, 1e9]},
    network=gs.ring(4),
    noise=gs.Gaussian(0.1),
    steps=200,
    tuning_seeds=(500,),
    fresh_seeds=(0, 1, 2),
    nodes=Alike(4, seed=0),
)


def test_a_unit_reports_the_tuned_setting_on_fresh_seeds():
    result = SMALL.run("cpu")
    problem = gs.RobustRegression(4, seed=0)
    given = {"noise": SMALL.noise, "steps": 200}
    search = gs.sweep(gs.DSGD, SMALL.grid, problem, gs.ring(4), seeds=[500], **given)
    lr = search.best().hyperparameters["lr"]
    run = gs.simulate(gs.DSGD(lr), problem, gs.ring(4), seeds=[0, 1, 2], **given)
    assert result["hyperparameters"]["lr"] == lr
    assert result["errors"] == run.final("error").tolist()
    assert result["initial"] == pytest.approx(float(problem.optimum.norm()))


def test_a_unit_counts_the_settings_that_would_do():
    result = SMALL.run("cpu")
    assert result["settings"] == 4
    assert result["useless"] == 1  # 1e9 diverges
    assert result["good"] == 2  # 1e-5 gets nowhere
    strict = dataclasses.replace(SMALL, good=1.0)
    assert strict.run("cpu")["good"] == 1


def test_nodes_that_differ_have_optima_of_their_own():
    """Their gradients at the common optimum are as large as `spread` says; alike ones vanish."""
    near, far = (Different(6, 3, spread, seed=1).problem() for spread in (1.0, 10.0))
    sizes = []
    for problem in (Alike(6, seed=1).problem(), near, far):
        assert problem.optimum is not None
        at_optimum = problem.optimum.expand(6, 1, -1)
        sizes.append(float(problem.local_grad(at_optimum).norm()))
    assert sizes[0] == pytest.approx(0, abs=1e-12)
    assert sizes[2] == pytest.approx(10 * sizes[1])


def test_stored_results_are_found_again():
    """The cheapest of them: thirteen step sizes of a method without memory."""
    work = Work.below(RESULTS, STUDY, Options("full"))
    (unit,) = [u for u in work.units if u.name == "different, Student-t, Normalized DSGD"]
    known = work.stored()[unit.name].result
    found = unit.run("cpu")
    assert found["hyperparameters"] == known["hyperparameters"]
    assert found["errors"] == pytest.approx(known["errors"], rel=1e-3)
