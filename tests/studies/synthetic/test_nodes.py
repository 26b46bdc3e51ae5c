"""Five printed errors, speed and speed-up: drawn and judged from results made up by hand."""

import math
import re

import pytest
from made_up import at_test_size, curve, draw, verdict

import gossamer as gs
from gossamer.studies.synthetic.curve import STABLE
from gossamer.studies.synthetic.nodes import Neighbours, Nodes

STUDY = Nodes()
PAPER = {2: 0.40, 5: 0.35, 10: 0.29, 20: 0.20, 40: 0.21}
"""Number of nodes → the final error, typed again from the paper."""

OTHER = [0.1] * 5
"""Errors that no printed one is near, but for one."""


def results(finals=None, steps=(50,) * 5, fits=48):
    """Final errors of every n, the step of each at which it is half-way, fits of 48 neighbours."""
    finals = list(PAPER.values()) if finals is None else finals
    made = {f"n={n}": curve(final) for n, final in zip(PAPER, finals, strict=True)}
    for result, step in zip(made.values(), steps, strict=True):
        result["steps"] = [0, step, 1000]
    rows = [list(PAPER.values())] * fits + [OTHER] * (48 - fits)
    return made | {"neighbours": {"triples": [[0.1, 0.2, 3]] * 48, "errors": rows}}


def judged(words: str, made):
    return verdict(STUDY.verdicts(made), words)


def test_the_paper_is_quoted_with_the_numbers_that_are_compared():
    """Every number of the quotation, of the table and of the figure."""
    statement = judged("final errors are", results()).statement
    assert [float(number) for number in re.findall(r"0\.\d\d", statement)] == list(PAPER.values())
    (table,) = STUDY.tables(results())
    assert [row[:2] for row in table.rows] == [[str(n), f"{p:.2f}"] for n, p in PAPER.items()]
    _, right = STUDY.figures(results())["nodes"].axes
    printed = {line.get_label(): line for line in right.lines}["printed"]
    assert dict(zip(*printed.get_data(), strict=True)) == PAPER
    beside = {number.what: number.printed for number in STUDY.printed(results())}
    assert beside == {f"{n} nodes": error for n, error in PAPER.items()}


@pytest.mark.parametrize(
    ("finals", "fits", "holds"),
    [
        ([0.40, 0.35, 0.29, 0.20, 0.21], 48, "yes"),
        ([0.479, 0.429, 0.369, 0.279, 0.289], 24, "yes"),
        ([0.40, 0.35, 0.29, 0.20, 0.21], 23, "no"),  # fits, as few others would
        ([0.319, 0.35, 0.29, 0.20, 0.21], 48, "no"),  # only the neighbours fit
        ([0.319, 0.35, 0.29, 0.20, 0.21], 12, "no"),  # one of five is off by more than 0.08
        ([math.inf] * 5, 0, "no"),
    ],
)
def test_the_printed_errors_flip_with_the_numbers(finals: list[float], fits: int, holds: str):
    assert judged("final errors are", results(finals, fits=fits)).holds == holds


def test_the_share_of_neighbouring_parameters_that_fit_is_told():
    """The shown (α, β, T) alone is no evidence: it was chosen because it fits."""
    found = judged("final errors are", results(fits=12))
    assert "of 48 choices of (α, β, T) around ours, 12 fit the printed errors" in found.ours
    assert "neighbours" not in found.holds_for
    assert "no procedure leads to them" in found.note


@pytest.mark.parametrize(
    ("steps", "holds", "shown"),
    [
        ((500, 400, 300, 200, 100), "yes", "n = 2: 500, n = 5: 400"),
        ((500, 400, 300, 300, 300), "partly", "n = 40: 300"),
        ((500, 400, 400, 400, 400), "no", "n = 5: 400"),  # from one n to the next, of four
        ((50, 50, 50, 50, 50), "no", "n = 2: 50"),  # equally fast is not faster
        ((50, 50, 50, 50, 100), "no", "n = 40: 100"),
    ],
)
def test_speed_flips_with_the_numbers(steps, holds: str, shown: str):
    speed = judged("Convergence speed", results(steps=steps))
    assert speed.holds == holds
    assert shown in speed.ours


def test_never_getting_half_way_is_a_result_and_no_speed():
    made = results([3.0] * 5)
    for n in PAPER:
        made[f"n={n}"]["error"][1] = [3.0] * 5
    never = judged("Convergence speed", made)
    assert never.holds == "no"
    assert "n = 2: inf" in never.ours


@pytest.mark.parametrize(
    ("finals", "holds"),
    [
        ([0.4, 0.35, 0.29, 0.2, 0.21], "yes"),
        ([0.2, 0.35, 0.29, 0.2, 0.21], "no"),
        ([0.3, 0.3, 0.3, 0.3, 0.3], "no"),
        ([math.inf] * 5, "no"),
    ],
)
def test_speed_up_flips_with_the_numbers(finals: list[float], holds: str):
    assert judged("Speed-up", results(finals)).holds == holds


@pytest.mark.parametrize(
    "made",
    [
        results(),
        results([math.inf, 0.35, 0.29, 0.2, 0.21]),
        results([[0.4, 0.4, 0.4, 0.4, math.inf], 0.35, 0.29, 0.2, 0.21]),
    ],
    ids=["finite", "diverged", "one seed diverged"],
)
def test_figure(made):
    figure = STUDY.figures(made)["nodes"]
    left, right = figure.axes
    assert left.get_legend().get_texts()[0].get_text() == "n = 2"
    assert {t.get_text() for t in right.get_legend().get_texts()} == {"ours", "printed"}
    draw(figure)


def test_neighbours_are_plain_simulations_read_at_every_horizon():
    unit = Neighbours(
        "few",
        nodes=(2, 5),
        step_sizes=(0.01, 0.05),
        momenta=(0.5,),
        horizons=(40, 60),
        noise=STABLE,
        data_seed=1,
        seeds=(0, 1, 2),
    )
    result = unit.run("cpu")
    assert result["triples"] == [[lr, 0.5, T] for lr in (0.01, 0.05) for T in (40, 60)]
    for (lr, beta, steps), errors in zip(result["triples"], result["errors"], strict=True):
        for n, error in zip((2, 5), errors, strict=True):
            problem, method = gs.RobustRegression(n, seed=1), gs.GTNSGDm(lr, beta)
            run = gs.simulate(
                method, problem, gs.complete(n), noise=STABLE, steps=steps, seeds=range(3)
            )
            assert error == pytest.approx(float(run.final("error").median()), rel=1e-9)


def test_the_parameters_shown_are_among_their_neighbours():
    *curves, neighbours = STUDY.units(STUDY.sizes["full"], 0)
    around = neighbours.config
    for unit in curves:
        assert unit.config["method"]["lr"] in around["step_sizes"]
        assert unit.config["method"]["momentum"] in around["momenta"]
        assert unit.config["steps"] in around["horizons"]
        assert unit.config["data_seed"] == around["data_seed"]


def test_small_study_end_to_end():
    made = at_test_size(STUDY)
    assert len(made) == 6
    assert len(made["neighbours"]["errors"]) == len(made["neighbours"]["triples"]) == 48
    assert len(STUDY.verdicts(made)) == 3
