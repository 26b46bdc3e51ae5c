"""Tables of results: as text, LaTeX, CSV and pandas, of comparisons and of curves."""

import csv
import math
import re
import statistics
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.mathtext import MathTextParser

import gossamer as gs
from gossamer.simulation import latex, table
from gossamer.simulation.table import Column, Spread, Table

PROBLEM, NETWORK = gs.Quadratic(6, 4), gs.ring(6)
ARGUMENTS = {"noise": gs.StudentT(1.5, 0.1), "steps": 60, "seeds": range(3)}


@pytest.fixture(scope="module")
def found() -> gs.Comparison:
    grids = {gs.GTDSGD: {"lr": [0.01, 0.1]}}
    methods = [gs.DSGD(lr=1e-5), gs.GTDSGD, gs.DSGD(lr=1e300)]
    searched = {"grids": grids, "tuning_seeds": [3, 4]}
    return gs.compare(methods, PROBLEM, NETWORK, **searched, **ARGUMENTS)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cells(text: str) -> list[list[str]]:
    """The cells of a tabular, row by row."""
    body = re.findall(r"^  (.*) \\\\$", text, re.MULTILINE)
    return [re.split(r"(?<!\\) & ", line) for line in body]


def test_costs_that_differ_are_columns_and_the_others_a_note():
    alike = gs.compare([gs.DSGD(0.1), gs.DSGD(0.2)], PROBLEM, NETWORK, **ARGUMENTS)
    head, _, _, note = str(alike.table()).splitlines()
    assert head.split("  ")[-1].strip() == "final error, median [range]"
    assert note == "The same for all methods, per node: 60 gradients, 120 messages, 3.84 kB."
    apart = gs.compare([gs.DSGD(0.1), gs.GTDSGD(0.1)], PROBLEM, NETWORK, **ARGUMENTS)
    head, *lines, note = str(apart.table()).splitlines()
    assert head.endswith("[range]  messages  sent per node")
    assert {tuple(line.split()[-3:]) for line in lines} == {
        ("120", "3.84", "kB"),
        ("240", "7.68", "kB"),
    }
    assert note == "The same for all methods, per node: 60 gradients."


def test_costs_are_left_out_where_no_run_has_finished():
    diverged = gs.compare([gs.DSGD(1e300)], PROBLEM, NETWORK, **ARGUMENTS)
    assert len(str(diverged.table()).splitlines()) == 2


def test_the_budget_of_every_search_is_stated(found: gs.Comparison, tmp_path: Path):
    tuned = found.entries[1].tuned
    assert tuned is not None
    steps = tuned.search.run_steps
    assert f"GT-DSGD: tuned over 2 settings × 2 seeds, {steps} steps" in str(found.table())
    found.table().to_csv(tmp_path / "made" / "table.csv")
    best, second, lost = rows(tmp_path / "made" / "table.csv")
    budget = ("tuning settings", "tuning seeds", "tuning steps")
    assert [best[name] for name in budget] == ["2", "2", str(steps)]
    assert [second[name] for name in budget] == ["", "", ""]
    assert lost["error diverged"] == "3"
    told = "lr is the highest value tried, and higher values may do better"
    assert best["tuning edge"] == told
    assert float(best["error median"]) == found.entries[1].run.final().median().item()
    assert (second["gradients"], second["messages"], second["bytes"]) == ("60.0", "120.0", "3840.0")


def test_latex_needs_booktabs_only(found: gs.Comparison):
    text = found.table().to_latex()
    comments = [line for line in text.splitlines() if line.startswith("%")]
    assert len(comments) == len(found.table().notes) == 2
    for part in (r"\begin{tabular}{lllrrr}", r"\toprule", r"\midrule", r"\bottomrule"):
        assert text.count(part) == 1
    head, best, second, lost = cells(text)
    assert len(head) == len(best) == len(second) == len(lost) == 6
    assert head[:3] == ["method", "hyper-parameters", "final error, median [range]"]
    assert second[1] == r"lr = $10^{-5}$"
    assert "diverged on 3 of 3 seeds" in lost
    assert lost[-1] == "--"
    assert r"\mathbf{" in best[2]
    assert text.count(r"\mathbf") == 1
    assert set(re.findall(r"\\([A-Za-z]+)", text)) == {
        *("begin", "end", "toprule", "midrule", "bottomrule", "mathbf")
    }


def test_numbers_can_be_typeset():
    """By the reader of mathematics of matplotlib: there is no LaTeX here."""
    for value in (0.0, 1.2e-3, 0.0123, 999.4, 1e3, -2.5e-8, 123456.0, 9.999e-3):
        for spread in (Spread([value, 2 * value]), Spread([value, 2 * value], "mean")):
            for mathematics in re.findall(r"\$[^$]+\$", spread.latex(bold=True)):
                MathTextParser("path").parse(mathematics)
    assert latex.number(1.2e-3) == r"1.2 \times 10^{-3}"
    assert latex.number(9.999e-3) == "10^{-2}"
    assert latex.plus_minus(9.999e-3, 1e-4, bold=False) == r"(1.00 \pm 0.01) \times 10^{-2}"
    assert latex.plus_minus(456.7, 2.5, bold=False) == r"457 \pm 2"
    assert latex.plus_minus(0.0, 0.25, bold=False) == r"0.00 \pm 0.25"
    assert latex.number(0.25) == "0.25"


def test_what_diverged_on_a_seed_is_not_the_best():
    finals = [Spread([0.1, 0.2, math.inf]), Spread([0.3, 0.4, 0.5])]
    text = Table([Column("error", finals, "error")]).to_latex()
    assert cells(text)[1:] == [
        ["diverged on 1 of 3 seeds"],
        [r"$\mathbf{0.4}$ $[0.3, 0.5]$"],
    ]


def test_as_many_digits_as_tell_the_methods_apart():
    losses = ([16.612, 16.614], [16.61], [16.61 + 1e-12], [math.inf])
    column = Column("loss", list(map(Spread, losses)), "loss")
    assert column.printed[1:3] == ["16.613 [16.612, 16.614]", "16.61 [16.61, 16.61]"]
    assert column.typeset[1] == "$16.613$ $[16.612, 16.614]$"
    means = Column("loss", [Spread([16.612, 16.614], "mean"), Spread([16.611], "mean")], "loss")
    assert means.printed[1:] == ["16.613 ± 0.00141", "16.611 ± 0"]
    assert means.typeset[1:] == [r"$16.613 \pm 0.001$", r"$\mathbf{16.611} \pm 0.000$"]


def test_names_are_escaped():
    columns = [Column("a_b", ["50 % & {x} ~ ^ \\ # $", "1e-05 or 3e+20, not a1e-5"], "a_b")]
    escaped = Table(columns, ["100 %"]).to_latex()
    assert r"50 \% \& \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \# \$" in escaped
    assert r"$10^{-5}$ or $3 \times 10^{20}$, not a1e-5" in escaped
    assert r"a\_b" in escaped


def test_the_center_is_the_median_beside_the_range_or_the_mean_beside_the_deviation():
    values = [1.0, 2.0, 6.0]
    assert str(Spread(values)) == "2 [1, 6]"
    assert Spread(values).numbers == {"median": 2, "lowest": 1, "highest": 6, "diverged": 0}
    mean = Spread(values, "mean")
    deviation = math.sqrt(((1 - 3) ** 2 + (2 - 3) ** 2 + (6 - 3) ** 2) / 2)
    assert mean.numbers == {"mean": 3, "deviation": deviation, "diverged": 0}
    assert mean.latex(bold=False) == r"$3.00 \pm 2.65$"
    assert str(Spread([0.5], "mean")) == "0.5 ± 0"
    assert Spread([1.0, math.nan], "mean").middle == math.inf


def test_ranked_by_the_center_that_is_shown(found: gs.Comparison):
    final = {e.run.title: e.run.final().tolist() for e in found.entries if "300" not in e.run.title}
    for center, of in (("median", statistics.median), ("mean", statistics.fmean)):
        ranked = [entry.run.title for entry in found.ranked(center=center)][:2]
        assert ranked == sorted(final, key=lambda title: of(final[title]))
    shown = str(found.table(center="mean"))
    assert "final error, mean ± deviation" in shown
    with pytest.raises(gs.InvalidInput, match="center: got 'average', need one of median, mean"):
        found.table(center="average")


def test_curves_of_a_run_a_sweep_and_a_comparison_have_one_form(found: gs.Comparison, tmp_path):
    run = found.entries[0].run
    run.curves().to_csv(tmp_path / "run.csv")
    long = rows(tmp_path / "run.csv")
    assert list(long[0]) == ["method", "lr", "seed", "step", "metric", "value"]
    assert len(long) == 3 * 61 * len(run.metrics)
    picked = [r for r in long if (r["metric"], r["step"], r["seed"]) == ("error", "60", "2")]
    assert [float(r["value"]) for r in picked] == [run.final("error")[2].item()]

    grid = {"lr": [0.01, 0.1], "momentum": [0.5, 0.9]}
    sweep = gs.sweep(gs.GTNSGDm, grid, PROBLEM, NETWORK, steps=10, seeds=[4, 5])
    frame = sweep.curves().to_pandas()
    chosen = frame.query("metric == 'error' and step == 10 and lr == 0.1 and momentum == 0.5")
    assert chosen["value"].tolist() == sweep.metrics["error"][-1, 2].tolist()
    assert chosen["seed"].tolist() == [4, 5]

    both = gs.compare([gs.DSGD(0.1), gs.GTNSGDm(0.1, 0.5)], PROBLEM, NETWORK, **ARGUMENTS)
    frame = both.curves().to_pandas()
    assert list(frame) == ["method", "lr", "momentum", "seed", "step", "metric", "value"]
    assert frame.query("method == 'DSGD'")["momentum"].isna().all()
    assert frame.groupby("method").size().nunique() == 1
    assert f"… and {len(frame) - table.ROWS_SHOWN:,} more rows" in str(both.curves())


def test_pandas_has_what_csv_has(found: gs.Comparison, tmp_path: Path):
    frame = found.table("error", center="mean").to_pandas()
    found.table("error", center="mean").to_csv(tmp_path / "table.csv")
    pd.testing.assert_frame_equal(frame, pd.read_csv(tmp_path / "table.csv"), check_dtype=False)


def test_without_pandas_the_way_out_is_told(found: gs.Comparison, monkeypatch):
    monkeypatch.setattr(table, "find_spec", lambda name: None)
    with pytest.raises(gs.InvalidInput, match=r"without pandas.*pip install.*to_csv\(path\)"):
        found.table().to_pandas()


def test_comparisons_side_by_side(found: gs.Comparison):
    other = gs.compare(
        [gs.DSGD(lr=0.1), gs.GTNSGDm(0.1, 0.5)], PROBLEM, gs.complete(6), **ARGUMENTS
    )
    both = gs.side_by_side({"ring": found, "complete_6": other})
    head, *lines = str(both).splitlines()
    assert head.split() == ["method", "ring", "complete_6"]
    names = ["DSGD (lr = 1e-05)", "GT-DSGD", "DSGD (lr = 1e+300)", "DSGD", "GT-NSGDm"]
    assert [line.split("  ")[0] for line in lines[:5]] == names
    assert lines[0].split()[-1] == lines[1].split()[-1] == lines[3].split()[1] == "–"
    assert lines[5] == "Final error, median [range]."
    assert lines[6].startswith("ring, GT-DSGD: tuned over 2 settings")
    text = both.to_latex()
    assert text.count(r"\mathbf") == 2
    assert cells(text)[0] == ["method", "ring", r"complete\_6"]
    frame = both.to_pandas().set_index("method")
    assert frame.loc["DSGD", "complete_6 median"] == other.entries[0].run.final().median().item()
    assert math.isnan(frame.loc["DSGD", "ring median"])
    with pytest.raises(gs.InvalidInput, match=r"comparisons: got .*, need at least one"):
        gs.side_by_side({})


def test_comparisons_side_by_side_by_their_means(found: gs.Comparison):
    both = gs.side_by_side({"ring": found, "again": found}, center="mean")
    final = found.entries[1].run.final()
    shown = f"{final.mean():.3g} ± {final.std():.3g}"
    (line,) = (line for line in str(both).splitlines() if line.startswith("GT-DSGD "))
    assert re.split("  +", line)[1:] == [shown, shown]
    assert f"Final error, {table.SPREADS['mean']}." in str(both)
    frame = both.to_pandas().set_index("method")
    assert frame.loc["GT-DSGD", "ring mean"] == pytest.approx(final.mean().item())
    assert frame.loc["GT-DSGD", "ring deviation"] == pytest.approx(final.std().item())
    with pytest.raises(gs.InvalidInput, match="center: got 'average', need one of"):
        gs.side_by_side({"ring": found}, center="average")
