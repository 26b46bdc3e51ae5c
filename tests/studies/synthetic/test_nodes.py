"""Five printed errors, speed and speed-up: drawn and judged from results made up by hand."""

import math

import pytest
from made_up import curve, verdict

from gossamer.studies.synthetic.nodes import PRINTED, TOLERANCE, Nodes

STUDY = Nodes()


def results(finals=None, middles=(2.5, 1.5, 1.5, 1.5, 1.5)):
    finals = list(PRINTED.values()) if finals is None else finals
    each = zip(PRINTED, finals, middles, strict=True)
    return {f"n={n}": curve(final, middle) for n, final, middle in each}


def judged(words: str, made):
    return verdict(STUDY.verdicts(made), words)


def test_the_printed_numbers_are_the_papers():
    assert PRINTED == {2: 0.40, 5: 0.35, 10: 0.29, 20: 0.20, 40: 0.21}
    assert TOLERANCE == 0.08


@pytest.mark.parametrize(
    ("shift", "holds"),
    [([0] * 5, "yes"), ([0.079] * 5, "yes"), ([-0.081, 0, 0, 0, 0], "partly"),
     ([0.081] * 5, "no"), ([math.inf] * 5, "no")],
)  # fmt: skip
def test_the_printed_errors_flip_with_the_numbers(shift: list[float], holds: str):
    finals = [printed + by for printed, by in zip(PRINTED.values(), shift, strict=True)]
    assert judged("final errors are", results(finals)).holds == holds


@pytest.mark.parametrize(
    ("middles", "holds", "shown"),
    [
        ((2.5, 1.5, 1.5, 1.5, 1.5), "partly", "n = 2: 100, n = 5: 50"),  # not at every n
        ((1.5, 1.5, 1.5, 1.5, 1.5), "no", "n = 2: 50"),  # equally fast is not faster
        ((1.5, 1.5, 1.5, 1.5, 2.5), "no", "n = 40: 100"),
    ],
)
def test_speed_flips_with_the_numbers(middles, holds: str, shown: str):
    speed = judged("Convergence speed", results(middles=middles))
    assert speed.holds == holds
    assert shown in speed.ours


def test_faster_at_every_n_is_faster():
    made = results()
    for steps, n in zip([500, 400, 300, 200, 100], PRINTED, strict=True):
        made[f"n={n}"]["steps"] = [0, steps // 2, steps]
    assert judged("Convergence speed", made).holds == "yes"


def test_never_getting_half_way_is_a_result_and_no_speed():
    never = judged("Convergence speed", results([3.0] * 5, [3.0] * 5))
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
def test_figure_and_table(made):
    figure = STUDY.figures(made)["nodes"]
    left, right = figure.axes
    assert left.get_legend().get_texts()[0].get_text() == "n = 2"
    assert {t.get_text() for t in right.get_legend().get_texts()} == {"ours", "printed"}
    figure.canvas.draw()
    (table,) = STUDY.tables(made)
    assert [row[:2] for row in table.rows] == [[str(n), f"{p:.2f}"] for n, p in PRINTED.items()]
