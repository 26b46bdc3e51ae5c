"""Clip or normalize: drawn and judged from results made up by hand, and units run."""

import math
from typing import Any

import pytest
import torch
from made_up import INITIAL, MadeUp, draw, verdict

import gossamer as gs
from gossamer.studies.methods.clip_or_normalize.apart import Apart, dissimilarity
from gossamer.studies.methods.clip_or_normalize.contender import Contender, clip_rule, neighbours
from gossamer.studies.methods.clip_or_normalize.reading import CLIPPED
from gossamer.studies.methods.clip_or_normalize.situations import (
    GRADIENT,
    METHODS,
    PLAIN,
    SITUATIONS,
    TAILS,
    TRACKER,
    unit_name,
)
from gossamer.studies.methods.clip_or_normalize.study import ClipOrNormalize
from gossamer.studies.methods.standing import OURS

MISTAKES = ("lr ÷ 4", "lr × 4", "clip ÷ 4", "clip × 4")


def result(errors: list[float]) -> dict[str, Any]:
    """A mistake doubles the errors."""
    found = {"hyperparameters": {"lr": 0.01}, "errors": errors, "edges": {}, "extended": {}}
    doubled = [2 * error for error in errors]
    return {
        "initial": INITIAL,
        "tuned": found,
        "by rule": found,
        "by theorem": {"Theorem 1": {"hyperparameters": {"lr": 1e-4}, "errors": doubled}},
        "mistuned": dict.fromkeys(MISTAKES, doubled),
        "run steps": 1,
    }


STUDY = ClipOrNormalize()
MADE_UP = MadeUp(STUDY, [unit_name(s, m) for s in SITUATIONS for m in METHODS], result)
made, judged = MADE_UP.made, MADE_UP.judged


def everywhere(method: str, *errors: float, where: str = "") -> dict[str, list[float]]:
    return {unit_name(s, method): list(errors) for s in SITUATIONS if where in s.name}


def test_every_method_in_every_situation():
    units = STUDY.units(STUDY.sizes["full"], 0)
    assert [unit.name for unit in units] == list(made())
    assert len(SITUATIONS) == 33
    assert {unit.algorithm.__name__ for unit in units} == {
        "GTNSGDm", "GTClip", "DSGDGClip", "DSGDCClip"
    }  # fmt: skip


def test_as_low_flips_with_the_numbers():
    words = "Under symmetric noise"
    assert judged(words).holds == "yes"
    worse = {k: v for m in CLIPPED for k, v in everywhere(m, 0.3, 0.3, 0.3).items()}
    assert judged(words, worse).holds == "no"
    one_is_enough = worse | everywhere(PLAIN, 0.1, 0.1, 0.1)
    found = judged(words, one_is_enough)
    assert found.holds == "yes"
    assert "clearly lower in 18 of 18" in found.ours
    assert judged("Under skewed noise", worse).holds == "no"


def test_what_to_clip_flips_with_the_numbers():
    words = "clipping the gradient ends as low as clipping the tracker"
    assert judged(words, everywhere(TRACKER, 0.8, 0.8, 0.8)).holds == "yes"
    assert judged(words, everywhere(TRACKER, 0.1, 0.1, 0.1)).holds == "no"
    some = judged(words, everywhere(GRADIENT, 0.8, 0.8, 0.8, where="10 apart"))
    assert some.holds == "partly"
    assert "10 apart" not in some.holds_for


def test_one_method_for_all_flips_with_the_numbers():
    words = "One method is within"
    assert judged(words).holds == "yes"
    ahead = {unit_name(s, m): [0.1] * 3 for s, m in zip(SITUATIONS, METHODS, strict=False)}
    none = judged(words, ahead)
    assert none.holds == "no"
    assert f"{OURS} 2" in none.ours


def test_a_clipped_tracker_is_judged_by_its_worst_situation():
    words = "A clipped tracker ends as low"
    name = unit_name(SITUATIONS[0], TRACKER)
    assert judged(words, {name: [0.24] * 3}).holds == "yes"
    found = judged(words, {name: [0.26] * 3})
    assert found.holds == "partly"
    assert "nodes alike, symmetric noise" not in found.holds_for


def test_tracking_is_judged_where_nodes_differ():
    words = "tracking lowers the error"
    assert judged(words).holds == "no"
    assert judged(words, everywhere(PLAIN, 0.3, 0.3, 0.3, where="10 apart")).holds == "partly"
    assert judged(words, everywhere(PLAIN, 0.3, 0.3, 0.3, where="apart")).holds == "yes"


def test_the_network_decides_where_the_order_changes():
    words = "does not depend on the network"
    assert judged(words).holds == "yes"
    ahead = {k: [0.1] * 3 for k in everywhere(PLAIN, 0.1, where="complete")}
    assert judged(words, ahead).holds == "no"


def test_rules_and_mistakes_flip_with_the_numbers():
    results = made()
    assert verdict(STUDY.verdicts(results), "of the theory, and a tuned step size").holds == "yes"
    assert verdict(STUDY.verdicts(results), "suffers least").holds == "yes"
    name = unit_name(SITUATIONS[0], GRADIENT)
    results[name]["by rule"] = {**results[name]["by rule"], "errors": [0.4, 0.4, math.inf]}
    assert (
        verdict(STUDY.verdicts(results), "of the theory, and a tuned step size").holds == "partly"
    )
    for situation in SITUATIONS:
        results[unit_name(situation, OURS)]["mistuned"] = dict.fromkeys(MISTAKES, [0.5] * 3)
    assert verdict(STUDY.verdicts(results), "suffers least").holds == "no"


def test_an_optimum_on_an_edge_is_named():
    results = made()
    assert verdict(STUDY.verdicts(results), "No tuned optimum").holds == "yes"
    name = unit_name(SITUATIONS[4], TRACKER)
    results[name]["tuned"] = {**results[name]["tuned"], "edges": {"clip": "highest"}}
    found = verdict(STUDY.verdicts(results), "No tuned optimum")
    assert found.holds == "no"
    assert name in found.ours


@pytest.mark.parametrize("last", [0.2, math.inf])
def test_figures_and_tables_are_made_of_any_results(last: float):
    results = made(everywhere(TRACKER, 0.2, 0.2, last))
    figures = STUDY.figures(results)
    assert list(figures) == ["clip-or-normalize-symmetric", "clip-or-normalize-skewed"]
    for figure in figures.values():
        assert len(figure.axes) == 3
        curves = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
        assert [len(line.get_xdata()) for line in curves] == [len(TAILS)] * len(CLIPPED)
        draw(figure)
    assert len(STUDY.tables(results)) == 6


def test_the_decision_names_the_lowest_and_compares_clipping():
    situation = SITUATIONS[0]
    changed = {
        unit_name(situation, TRACKER): [0.1] * 3,
        unit_name(situation, PLAIN): [0.12] * 3,
        unit_name(situation, GRADIENT): [0.13] * 3,
    }
    row = STUDY.tables(made(changed))[0].rows[0]
    assert list(row) == [situation.name, TRACKER, "0.5 [0.5, 0.5]"]


def test_the_page_names_each_of_its_tables():
    assert MADE_UP.named_on("clip-or-normalize.md") == [1, 1, 1]


def test_heterogeneity_changes_nothing_but_the_nodes():
    """From the optimum the average looks the same; a node's gradient there grows in proportion."""
    alike, near, far = (Apart(6, 3, spread, seed=1).problem() for spread in (0.0, 1.0, 10.0))
    moved = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    gaps = [p.loss(p.optimum + moved) - p.minimum for p in (alike, near, far)]
    torch.testing.assert_close(gaps[1], gaps[0], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(gaps[2], gaps[0], rtol=1e-12, atol=1e-12)
    assert [float((p.start - p.optimum).norm()) for p in (alike, far)] == pytest.approx(
        [3**0.5] * 2
    )
    assert dissimilarity(alike)[0] == pytest.approx(0, abs=1e-12)
    assert dissimilarity(far)[0] == pytest.approx(10 * dissimilarity(near)[0])


def test_dissimilarity_bounds_the_nodes_gradients():
    problem = Apart(6, 3, 2.0, seed=1).problem()
    offset, growth = dissimilarity(problem)
    generator = torch.Generator().manual_seed(0)
    far = 10 ** torch.linspace(-2, 3, 400, dtype=torch.float64)[:, None]
    points = problem.optimum + far * torch.randn(400, 3, generator=generator, dtype=torch.float64)
    local = problem.local_grad(points.expand(6, 400, 3)).norm(dim=-1) ** 2
    allowed = offset**2 + growth**2 * problem.grad(points).norm(dim=-1) ** 2
    assert bool((local <= allowed).all())


def test_the_level_grows_with_time_and_never_falls_below_the_gradients():
    known = {"num_nodes": 4, "lam": 0.5, "smoothness": 1.0, "gap": 4.0, "alike": (1.0, 2.0)}
    least = 2 * 1 + 4 * 2 * 2 + 2 * 0.5 * 2 / 0.5
    assert clip_rule(10, p=2.0, **known) == least
    assert clip_rule(10**6, p=1.5, **known) == pytest.approx((4 * 10**6) ** 0.4)


def test_a_mistake_is_made_in_one_parameter_and_the_right_direction():
    chosen = {"lr": 0.1, "clip": 2.0, "clipped": "tracker"}
    found = neighbours(chosen, 4.0)
    assert list(found) == list(MISTAKES)
    assert found["clip ÷ 4"] == {"lr": 0.1, "clip": 0.5, "clipped": "tracker"}
    least = neighbours({"lr": 0.1, "momentum": 0.0}, 4.0)
    assert least["1 − momentum × 4"]["momentum"] == 0.0
    assert least["1 − momentum ÷ 4"]["momentum"] == 0.75


def small(algorithm: type[gs.Algorithm[Any]], **grid: list[Any]) -> Contender:
    return Contender(
        "small",
        algorithm=algorithm,
        grid=grid,
        network=gs.ring(4),
        noise=gs.StudentT(1.5, 0.1),
        steps=100,
        tuning_seeds=(500,),
        fresh_seeds=(0, 1),
        nodes=Apart(4, 3, 1.0, seed=0),
        extensions=1,
    )


def test_a_unit_reports_tuned_by_rule_and_mistuned_on_fresh_seeds():
    unit = small(gs.GTClip, lr=[0.01, 0.1, 0.2], clip=[0.1, 1.0, 5.0], clipped=["tracker"])
    found = unit.run("cpu")
    problem, network = unit.nodes.problem(), unit.network
    given = {"noise": unit.noise, "steps": 100, "seeds": [0, 1]}
    for at in (found["tuned"], found["by rule"]):
        run = gs.simulate(gs.GTClip(**at["hyperparameters"]), problem, network, **given)
        assert at["errors"] == pytest.approx(run.final("error").tolist(), rel=1e-12)
    off = gs.GTClip(**neighbours(found["tuned"]["hyperparameters"], 4.0)["lr × 4"])
    run = gs.simulate(off, problem, network, **given)
    assert found["mistuned"]["lr × 4"] == pytest.approx(run.final("error").tolist(), rel=1e-9)
    assert found["by theorem"] == {}
    assert found["by rule"]["hyperparameters"]["clip"] == unit.by_theory(problem)[0]["clip"][0]


def test_the_rule_of_gt_nsgdm_is_theorem_1():
    unit = small(gs.GTNSGDm, lr=[0.01, 0.1], momentum=[0.5, 0.9])
    found, problem = unit.run("cpu"), unit.nodes.problem()
    plan = gs.theory.plan(problem, unit.network, 100, noise=unit.noise)
    rule = plan.parameters["p known"]
    theorem = {"lr": rule.lr, "momentum": rule.momentum}
    assert found["by theorem"]["Theorem 1"]["hyperparameters"] == pytest.approx(theorem)
    assert found["by rule"]["hyperparameters"]["momentum"] == pytest.approx(rule.momentum)
    assert len(found["mistuned"]) == 4
