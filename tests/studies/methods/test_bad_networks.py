"""Which method survives which network: drawn and judged from results made up by hand."""

import math
from typing import Any

import pytest
import torch
from made_up import INITIAL, THROWN, MadeUp, verdict

import gossamer as gs
from gossamer.studies.methods.bad_networks.reading import on_networks, survived
from gossamer.studies.methods.bad_networks.situations import (
    KINDS,
    METHODS,
    NETWORKS,
    NOISES,
    PARTS,
    unit_name,
)
from gossamer.studies.methods.bad_networks.study import BadNetworks
from gossamer.studies.methods.standing import OURS


def result(errors: list[float]) -> dict[str, Any]:
    return {
        "hyperparameters": {"lr": 0.01},
        "edges": {},
        "settings": 13,
        "run_steps": 1000,
        "initial": INITIAL,
        "errors": errors,
        "bytes": 1e6,
        "bytes_until": [1e3, 1e4, 1e5, math.inf, math.inf, math.inf],
    }


STUDY = BadNetworks()
UNITS = STUDY.units(STUDY.sizes["full"], 0)
MADE_UP = MadeUp(STUDY, [unit.name for unit in UNITS], result)
made, judged, rows = MADE_UP.made, MADE_UP.judged, MADE_UP.rows


def on(network: str, noise: str, method: str = OURS, part: str = "different") -> str:
    return unit_name(part, network, noise, method)


def test_every_method_on_every_network_that_admits_it():
    assert (len(METHODS), len(NETWORKS), len(NOISES)) == (18, 11, 2)
    names = {unit.name for unit in UNITS}
    for method, (algorithm, _) in METHODS.items():
        refused = [n for n in NETWORKS if on(n, "Gaussian", method) not in names]
        if algorithm.tracker:
            assert refused == []
        elif algorithm.needs_symmetric:
            lossy = ["loss one way", "loss in bursts", "lossy, short, rare"]
            assert refused == ["one-way", *lossy, "all at once"]
        else:
            assert refused == ["all at once"]
    by_push_sum = {u.network.name for u in UNITS if u.algorithm.__name__.startswith("PushSum")}
    assert by_push_sum == {"random_digraph(20, degree=2, seed=0)"}


SENT = {
    "clean": 80,  # twenty numbers of four bytes
    "top tenth": gs.TopK(0.1).message_bytes(20, torch.float32),
    "four bits": gs.QSGD(4).message_bytes(20, torch.float32),
    "signs": gs.Sign().message_bytes(20, torch.float32),
    "every 5th": 80 / 5,
    "lossy, short, rare": gs.QSGD(4).message_bytes(20, torch.float32) / 0.9 / 5,
}
"""Bytes per neighbour, step and vector."""


@pytest.mark.parametrize("network", PARTS["equal bytes"])
def test_equal_bytes_are_equal(network: str):
    """But for the first messages, which are whole, and for what is sent again by chance."""
    for method, vectors in {OURS: 2, "DSGD-Clip": 1}.items():
        (unit,) = [u for u in UNITS if u.name == on(network, "Gaussian", method, "equal bytes")]
        sent = unit.steps * vectors * SENT[network]
        assert sent == pytest.approx(400 * 2 * 80, rel=0.03)


def test_no_verdict_is_passed_for_a_statement_of_the_paper():
    assert {v.source for v in STUDY.verdicts(made())} == {"ours"}


def test_a_method_survives_where_it_is_robust_and_near_its_own_clean_error():
    bad = {on("signs", "Gaussian"): [0.41] * 3, on("one-way", "Gaussian"): THROWN}
    found = on_networks(made(bad), "different", "Gaussian", OURS)
    assert set(NETWORKS) - set(survived(found)) == {"signs", "one-way"}
    assert survived(on_networks(made({OURS: THROWN}), "different", "Gaussian", OURS)) == []


def test_a_clean_network_that_diverges_is_no_measure():
    found = on_networks(
        made({on("clean", "Gaussian"): [math.inf] * 3}), "different", "Gaussian", OURS
    )
    assert survived(found) == []


ARE = {"different": "differ", "alike": "are alike"}
"""Part → how its nodes are to each other."""


@pytest.mark.parametrize("noise", NOISES)
def test_survivors_flip_with_the_numbers(noise: str):
    words = f"Some method survives every network under {noise}"
    assert judged(words).holds == "yes"
    tracking = [m for m, (algorithm, _) in METHODS.items() if algorithm.tracker]
    slow = {on("all at once", noise, method): [0.41] * 3 for method in tracking}
    none = judged(words, slow)
    assert none.holds == "no"
    assert f"{OURS} 2.05" in none.ours
    assert "EXTRA" not in none.ours  # is not admitted everywhere
    assert judged(words, dict.fromkeys(METHODS, THROWN)).ours.endswith("none")


def test_where_ours_does_not_survive_is_named():
    part = judged(f"{OURS} survives", {on("signs", "Student-t"): THROWN})
    assert part.holds == "partly"
    assert "signs, Student-t" not in part.holds_for
    assert part.ours.endswith("to not robust (signs, Student-t)")


def test_where_ours_is_not_as_good_is_named():
    words = f"Under Gaussian noise, where nodes differ, the error of {OURS} is at most 1.5 times"
    assert judged(words).holds == "yes"
    part = judged(words, {on("signs", "Gaussian", "GT-Adam"): [0.1] * 3})
    assert part.holds == "partly"
    assert "signs" not in part.holds_for
    assert part.ours.endswith(": 1.00 (clean) to 2.00 (signs)")


@pytest.mark.parametrize("part", KINDS)
def test_who_is_robust_under_heavy_tails_flips_with_the_numbers(part: str):
    words = f"where nodes {ARE[part]}, methods that clip or normalize are robust"
    plain = [m for m in METHODS if m in judged(words, dict.fromkeys(METHODS, THROWN)).holds_for]
    assert {"DSGD", "QG-DSGDm", "EXTRA", "GT-DSGD", "MoTEF", "GT-Adam"} <= set(plain)
    assert judged(words, dict.fromkeys(plain, THROWN)).holds == "yes"
    every = judged(words)
    assert every.holds == "partly"  # all are robust, those that should not be too
    admitted = {"different": (94, 87), "alike": (49, 46)}[part]
    assert [f"{count} of {count}" in every.ours for count in admitted] == [True, True]


def test_all_at_once_names_who_is_refused():
    lowest = {on("all at once", "Student-t"): [0.1] * 3}
    assert judged("On the network “all at once”", lowest).holds == "yes"
    found = judged("On the network “all at once”", {on("all at once", "Student-t"): [0.3] * 3})
    assert found.holds == "no"
    assert found.ours.startswith("9 of 18 methods are refused")


@pytest.mark.parametrize("part", KINDS)
def test_whether_a_tracker_is_needed_flips_with_the_numbers(part: str):
    words = f"Where nodes {ARE[part]}, the best method without a tracker"
    assert judged(words).holds == "yes"
    tracked = {on("signs" if part == "different" else "clean", "Gaussian", OURS, part): [0.1] * 3}
    one = judged(words, tracked)
    assert one.holds == "partly"
    assert "to 2.00 (" in one.ours


def test_short_messages_flip_with_the_numbers():
    words = "At equal bytes"
    assert judged(words).holds == "no"  # as low is not lower
    every = {on("four bits", n, m, "equal bytes"): [0.1] * 3 for n in NOISES for m in METHODS}
    assert judged(words, every).holds == "yes"
    one = judged(words, {**every, on("four bits", "Gaussian", OURS, "equal bytes"): [0.3] * 3})
    assert one.holds == "partly"
    assert f"{OURS}, Gaussian;" not in f"{one.holds_for};"
    assert "four bits for 35; clean for 1" in one.ours
    least_and_most = f"1.0 times ({OURS}, Gaussian) to 2.0 times (DSGD, Gaussian) as high"
    assert one.ours.endswith(least_and_most)


def test_cells_are_marked():
    changed = {
        on("signs", "Student-t"): [0.1] * 3,
        on("signs", "Student-t", "DSGD"): THROWN,
        on("signs", "Student-t", "GT-DSGD"): [0.16] * 3,
        on("signs", "Student-t", "MoTEF"): [math.inf] * 3,
    }
    table = rows("Median errors, nodes different, Student-t", changed)
    signs = list(NETWORKS).index("signs")
    assert table[OURS][signs] == "★ 0.1"
    assert table["DSGD"][signs] == "✗ 0.2"
    assert table["MoTEF"][signs] == "✗ ∞"
    assert table["EXTRA"][-1] == "–"
    assert rows("Which method", changed)["signs"][2:] == [OURS, "1.0"]
    assert rows("Survival", changed)["DSGD"][2:] == ["9 of 10", "✗ (signs)"]


def test_what_is_not_robust_is_never_the_lowest():
    lucky = {on("signs", "Student-t", "QG-DSGDm"): [0.01, 0.01, 2.1]}
    assert rows("Which method", lucky)["signs"][3] == "1.0"
    assert rows("Median errors, nodes different, Student-t", lucky)["DSGD"][7] == "★ 0.2"
    words = f"Under Student-t noise, where nodes differ, the error of {OURS} is at most 1.5 times"
    assert judged(words, lucky).holds == "yes"
    cells = STUDY.figures(made(lucky))["bad-networks-different"].axes[1].texts
    assert {text.get_text() for text in cells} == {"1.0", "✗", "–"}


def test_bytes_are_shown_in_their_unit():
    assert rows("Bytes that a node sends, nodes different, Gaussian")["DSGD"] == ["100 kB"] * 10 + [
        "–"
    ]


def test_searches_that_ended_on_an_edge_are_listed():
    results = made({on("signs", "Student-t", "DSGD"): THROWN})
    for method in ("DSGD", OURS):
        results[on("signs", "Student-t", method)]["edges"] = {"lr": "lowest"}
    (table,) = [t for t in STUDY.tables(results) if t.title.startswith("Searches")]
    assert [row[:2] for row in table.rows] == [[on("signs", "Student-t"), "lr lowest"]]
    found = verdict(STUDY.verdicts(results), "on the edge")
    assert (found.holds, found.ours[:38]) == ("no", "2 of 764 searches end on an edge: diff")
    assert judged("on the edge").holds == "yes"


def test_what_diverges_everywhere_is_no_star():
    """Where no method is robust, none is marked as the lowest."""
    lost = {on("signs", "Student-t", method): [math.inf] * 3 for method in METHODS}
    signs = list(NETWORKS).index("signs")
    table = rows("Median errors, nodes different, Student-t", lost)
    assert {cells[signs] for cells in table.values()} == {"✗ ∞"}


def test_figures_have_a_panel_per_noise_and_a_cell_for_all():
    figures = STUDY.figures(made({"DSGD": [0.2, 0.2, math.inf]}))
    parts = ["different", "alike", "equal-bytes"]
    assert list(figures) == [f"bad-networks-{part}" for part in parts]
    for figure, networks in zip(figures.values(), PARTS.values(), strict=True):
        assert [ax.get_title(loc="left").split(",")[0] for ax in figure.axes] == [
            "Gaussian noise", "Student-t noise"
        ]  # fmt: skip
        assert len(figure.axes[0].texts) == len(METHODS) * len(networks)


def test_the_page_names_each_of_its_tables():
    assert MADE_UP.named_on("bad-networks.md") == [1, 1]


def test_shares_of_a_total_differ_as_much_as_is_said():
    shares = torch.linalg.matrix_power(NETWORKS["one-way"].at(0).push_weights, 1000)[:, 0]
    assert float(shares.max() / shares.min()) == pytest.approx(25, abs=0.5)
    heard = NETWORKS["one-way"].at(0).in_degrees
    assert (int(heard.min()), int(heard.max())) == (1, 4)
