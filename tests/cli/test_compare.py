"""`gossamer compare`: given and tuned methods, files and table, and what cannot be compared."""

import csv
import re
from pathlib import Path

import pytest

import gossamer as gs
from gossamer.cli.task import build_task
from gossamer.report.figures import FORMATS

SMALL = "-n 'ring(6)' -p 'Quadratic(6, 4)' --noise 'StudentT(1.5, scale=0.1)' --seeds 3"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def last(table: list[dict[str, str]], metric: str) -> list[dict[str, str]]:
    """The rows of a metric at the last step."""
    end = max(int(row["step"]) for row in table)
    return [row for row in table if row["metric"] == metric and int(row["step"]) == end]


@pytest.mark.parametrize("formats", [FORMATS])
def test_given_parameters(gossamer, tmp_path: Path):
    methods = "-a 'GTNSGDm(lr=0.05, momentum=0.8)' -a 'DSGD(0.1)' -a 'DSGD(lr=0.01)'"
    code, out, err = gossamer(f"compare {methods} {SMALL} --steps 40 --out figures/my.first")
    assert (code, err) == (0, "")
    assert "Written: figures/my.first.png, .svg, .pdf and .csv." in out
    assert "final error, median [range]" in out
    assert "lr = 0.05, momentum = 0.8" in out
    assert "tuned" not in out
    written = {path.name for path in (tmp_path / "figures").iterdir()}
    assert written == {f"my.first.{suffix}" for suffix in ("png", "svg", "pdf", "csv")}
    drawn = (tmp_path / "figures" / "my.first.svg").read_text(encoding="utf-8")
    assert "median and range of 3 seeds" in drawn  # the title that every picture of runs has
    table = rows(tmp_path / "figures" / "my.first.csv")
    assert list(table[0]) == ["method", "lr", "momentum", "seed", "step", "metric", "value"]
    assert len(table) == 3 * 3 * 41 * 4  # the error, and what it costs in three ways
    run = gs.simulate(
        gs.DSGD(0.01),
        gs.Quadratic(6, 4),
        gs.ring(6),
        noise=gs.StudentT(1.5, scale=0.1),
        steps=40,
        seeds=range(3),
    )
    ours = [float(r["value"]) for r in last(table, "error") if r["lr"] == "0.01"]
    assert ours == run.final("error").tolist()


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("MultivariateT(1.3)", gs.MultivariateT(1.3)),
        ("SubGaussianStable(1.3, scale=0.1)", gs.SubGaussianStable(1.3, 0.1)),
        (
            "StudentT(1.5).scaled(per_node=[0, 1, 1, 1, 1, 5]).growing(0.5)",
            gs.StudentT(1.5).scaled(per_node=[0, 1, 1, 1, 1, 5]).growing(0.5),
        ),
    ],
)
def test_noises_by_name(gossamer, tmp_path: Path, text: str, noise: gs.Noise):
    where = "-n 'ring(6)' -p 'Quadratic(6, 4)' --seeds 1 --steps 20"
    code, out, err = gossamer(f"compare -a 'DSGD(0.1)' {where} --noise '{text}'")
    assert (code, err) == (0, "")
    assert f"noise {text}, 20 steps." in " ".join(out.split())
    run = gs.simulate(gs.DSGD(0.1), gs.Quadratic(6, 4), gs.ring(6), noise=noise, steps=20, seeds=0)
    (end,) = last(rows(tmp_path / "compare.csv"), "error")
    assert float(end["value"]) == pytest.approx(run.final("error").item(), rel=1e-12)


def test_two_settings_of_one_method_have_two_labels(gossamer, monkeypatch):
    from gossamer import plots

    labels = []
    monkeypatch.setattr(plots, "curve", lambda ax, x, y, label, *_, **__: labels.append(label))
    monkeypatch.setattr("matplotlib.axes.Axes.legend", lambda ax, **_: None)
    gossamer(f"compare -a 'DSGD(0.1)' -a 'DSGD(0.01)' {SMALL} --steps 5")
    assert labels == ["DSGD (lr = 0.1)", "DSGD (lr = 0.01)"]


def test_tuned_methods_are_ranked_by_their_error(gossamer, tmp_path: Path):
    code, out, _ = gossamer(f"compare -a NormalizedDSGD -a DSGD {SMALL} --steps 60")
    assert code == 0
    assert out.count("(tuned)") == 2
    ends = last(rows(tmp_path / "compare.csv"), "error")
    medians = {
        name: sorted(float(r["value"]) for r in ends if r["method"] == name)[1]
        for name in ("Normalized DSGD", "DSGD")
    }
    best = min(medians, key=lambda name: medians[name])
    table = out[out.index("hyper-parameters") :].splitlines()[1:]
    assert table[0].startswith(f"{best}  ")
    assert all(median < 1 for median in medians.values())


def test_more_seeds_are_the_same_comparison_with_more_seeds(gossamer, tmp_path: Path):
    """What the page on stores does: the search is not run again, and chooses the same."""
    line = "compare -a GTNSGDm -a DSGD -n 'ring(8)' --steps 40 --store runs"
    of_two, chosen = {}, set()
    for seeds in (2, 3):
        out = gossamer(f"{line} --seeds {seeds}").out
        chosen.add(tuple(sorted(re.findall(r"lr = .* \(tuned\)", out))))
        table = rows(tmp_path / "compare.csv")
        of_two[seeds] = [row for row in table if row["seed"] in ("0", "1")]
    assert len(chosen) == 1
    assert of_two[3] == of_two[2]
    assert len(gs.Store(tmp_path / "runs").tasks()) == 2


def test_how_many_seeds_are_tuned_on(gossamer):
    line = "compare -a DSGD -n 'ring(4)' -p 'Quadratic(4, 2)' --steps 3 --tuning-seeds 3"
    assert re.search(r"DSGD: tuned over \d+ settings × 3 seeds", gossamer(line).out)


def test_every_method_can_be_tuned(gossamer):
    methods = " ".join(f"-a {name}" for name in gs.ALGORITHMS)
    code, out, err = gossamer(f"compare {methods} -n 'ring(4)' -p 'Quadratic(4, 2)' --steps 3")
    assert (code, err) == (0, "")
    assert out.count("(tuned)") == len(gs.ALGORITHMS)


def test_push_sum_of_a_method_is_tuned_or_given(gossamer):
    methods = "-a 'PushSum(SClipEF)' -a 'PushSum(GTNSGDm(lr=0.1, momentum=0.5))'"
    code, out, err = gossamer(f"compare {methods} -n 'ring(4)' -p 'Quadratic(4, 2)' --steps 3")
    assert (code, err) == (0, "")
    assert re.search(r"^PushSum\(SClip-EF\): .* \(tuned\)", out, re.MULTILINE)
    assert re.search(r"^PushSum\(GT-NSGDm\): lr = 0.1, momentum = 0.5$", out, re.MULTILINE)


def test_defaults_without_noise_and_other_metrics(gossamer, tmp_path: Path):
    code, out, _ = gossamer("compare -a 'DSGD(0.1)' --noise none --metric loss --steps 3")
    assert code == 0
    assert "RobustRegression on ring(20, hops=2), noise none, 3 steps." in out
    assert "Network: ring(20, hops=2): 20 nodes, degree 4, λ = 0.904029." in out
    assert len(last(rows(tmp_path / "compare.csv"), "loss")) == 5


def test_what_is_shown_does_not_decide_the_tuning(gossamer):
    """A step of next to nothing has the least consensus error."""
    shown = {}
    for metric in ("error", "consensus_error"):
        out = gossamer(f"compare -a DSGD {SMALL} --steps 60 --metric {metric}").out
        assert f"final {metric}" in out
        shown[metric] = re.search(r"lr = \S+ \(tuned\)", out)[0]
    assert shown["consensus_error"] == shown["error"] != "lr = 1e-05 (tuned)"


def test_divergence_is_a_result(gossamer):
    code, out, _ = gossamer(f"compare -a 'DSGD(1e300)' {SMALL} --steps 20")
    assert code == 0
    assert "diverged on 3 of 3 seeds" in out


@pytest.mark.parametrize("formats", [("svg",)])
def test_a_metric_that_is_zero_throughout_is_drawn(gossamer):
    where = "-n 'complete(4)' -p 'Quadratic(4, 2)' --noise none --metric consensus_error"
    code, out, _ = gossamer(f"compare -a 'DSGD(0.1)' {where} --steps 5")
    assert code == 0
    assert "0 [0, 0]" in out


@pytest.mark.parametrize(("against", "axis"), [("bytes", "sent per node"), ("seconds", "seconds")])
def test_costs_are_drawn_and_told(gossamer, tmp_path: Path, monkeypatch, against: str, axis: str):
    from gossamer.simulation import comparison

    drawn, draw = [], comparison.draw_runs
    monkeypatch.setattr(comparison, "draw_runs", lambda *a, **k: drawn.append(draw(*a, **k)))
    clock = "--clock 'Clock(latency=0.5, bandwidth=64, gradient=1, slow={2: 2})'"
    methods, where = "-a 'GTDSGD(0.1)' -a 'DSGD(0.1)'", "-n 'ring(6)' -p 'Quadratic(6, 4)'"
    out = gossamer(f"compare {methods} {where} --steps 4 --against {against} {clock}").out
    assert axis in drawn[0].get_xlabel()
    assert re.search(r"median \[range\] +messages +sent per node +seconds\n", out)
    assert re.search(r"GT-DSGD .* 16 +512 B +20\n", out)  # 4 (2 + 2 (0.5 + 2 · 4 · 8 / 64))
    costs = rows(tmp_path / "compare.csv")
    spent = {name: float(last(costs, name)[-1]["value"]) for name in gs.simulation.COSTS}
    assert spent == {"gradients": 4, "messages": 8, "bytes": 256, "seconds": 14}


def test_against_what_it_costs_the_best_is_said_to_be_so_at_equal_steps(gossamer):
    line = "compare -a 'GTDSGD(0.1)' -a 'DSGD(0.1)' -n 'ring(6)' -p 'Quadratic(6, 4)' --steps 40"
    told = " ".join(gossamer(f"{line} --against bytes").out.split())
    assert "Best after 40 steps each: GT-DSGD, with a final error of" in told
    assert "By then, a node has sent 5.12 kB with GT-DSGD and 2.56 kB with DSGD." in told
    assert "Best: GT-DSGD, with" in " ".join(gossamer(line).out.split())
    lost = gossamer(f"{line.replace('DSGD(0.1)', 'DSGD(1e300)', 2)} -a 'DSGD(0.1)' --against bytes")
    told = " ".join(lost.out.split())
    one = "DSGD (lr = 0.1)"
    assert f"No other method reached the end. By then, a node has sent 2.56 kB with {one}." in told


@pytest.mark.parametrize("out", ["mine.png", "mine.svg", "mine.csv", "mine"])
def test_the_ending_of_a_file_is_not_doubled(gossamer, tmp_path: Path, out: str):
    """Figures have the stem of the .csv."""
    code, said, _ = gossamer(f"compare -a 'DSGD(0.1)' {SMALL} --steps 3 --out {out}")
    assert code == 0
    assert "Written: mine.png, .svg, .pdf and .csv." in said
    assert {path.name for path in tmp_path.iterdir()} == {"mine.csv"}


def test_the_table_as_a_file(gossamer, tmp_path: Path):
    line = f"compare -a 'DSGD(0.1)' -a 'DSGD(0.2)' {SMALL} --steps 3 --metric loss"
    assert "Written: made/table.tex." in gossamer(f"{line} --table made/table.tex").out
    text = (tmp_path / "made" / "table.tex").read_text(encoding="utf-8")
    assert "final loss, median [range]" in text
    assert text.endswith("\\end{tabular}\n")
    gossamer(f"{line} --table table.csv")
    table = rows(tmp_path / "table.csv")
    assert {row["hyperparameters"] for row in table} == {"lr = 0.1", "lr = 0.2"}
    assert all(float(row["loss median"]) > 0 for row in table)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("-a DSGD --steps 1000000 --table x.pdf", "need a file name that ends in .tex or .csv"),
        ("-a DSGD --against byts", "did you mean 'bytes'?"),
        ("-a DSGD --against seconds", "against: got seconds without a clock"),
        ("-a DSGD --metric seconds", "metrics: got 'seconds' without a clock"),
        ("-a DSGD --clock 'Clok(1)'", "did you mean 'Clock'?"),
        ("-a DSGD --clock 'Clock(1)'", "missing a required argument: 'bandwidth'"),
        ("-a DSGD --clock 'Clock(-1, 1, 1)'", "latency: got -1"),
        ("-a DSGDD", "did you mean 'DSGD'?"),
        ("-a 'ring(5)'", "need one of DSGD,"),
        ("-a DSGD --steps 0", "steps: got 0, need an integer of at least 1"),
        ("-a DSGD --steps -5", "steps: got -5"),
        ("-a DSGD --steps abc", "'abc' is not a valid integer"),
        ("-a DSGD --steps 1.5", "'1.5' is not a valid integer"),
        ("-a DSGD --seeds 0", "seeds: got 0, need an integer of at least 1"),
        ("-a DSGD --seeds -1", "seeds: got -1"),
        ("-a DSGD --tuning-seeds 0", "tuning-seeds: got 0, need an integer of at least 1"),
        ("-a 'DSGD(rate=0.1)'", "the arguments of DSGD are (lr)"),
        ("-a 'DSGD(0.1, 0.2)'", "too many positional arguments"),
        ("-a 'DSGD(lr=-1)'", "lr: got -1"),
        ("-a 'DSGD(lr=fast)'", "lr: got 'fast'"),
        ("-a 'DSGD(lr=[0.1, 0.2])'", "lr: got [0.1, 0.2]"),
        ("-a 'GTNSGDm(lr=0.1)'", "missing a required argument: 'momentum'"),
        ("-a 'DSGD(lr=0.1'", "cannot read"),
        ("-a 'DSGD(0.1); import os'", "cannot read"),
        ("-a \"DSGD(__import__('os'))\"", "got '__import__', need one of DSGD"),
        ("-a 'PushSum(DGSD)'", "method: got 'DGSD', need a method"),
        ("-a DSGD -a GTDSG --steps 1000000", "did you mean 'GTDSGD'?"),  # before any work
        ("-a 'DSGD(0.1)' -n 'ring(20'", "cannot read"),
        ("-a 'DSGD(0.1)' -n rnig", "did you mean 'ring'?"),
        (
            "-a 'DSGD(0.1)' -n 'ring(8)' -p 'RobustRegression(20)'",
            "8 nodes where RobustRegression(20) has 20",
        ),
        ("-a 'DSGD(0.1)' -p 'Quadratci(20, 5)'", "did you mean 'Quadratic'?"),
        ("-a 'DSGD(0.1)' -p 'Quadratic(20)'", "missing a required argument: 'dim'"),
        ("-a 'DSGD(0.1)' -p 'Quadratic(20, -3)'", "dim: got -3, need an integer of at least 1"),
        ("-a 'DSGD(0.1)' -p 'Quadratic(20, many)'", "dim: got many, need an integer"),
        ("-a 'DSGD(0.1)' -n 'ring(2000)'", "num_samples: got 1000"),
        ("-a 'DSGD(0.1)' --noise 'Studnt(1.5)'", "did you mean 'StudentT'?"),
        (
            "-a 'DSGD(0.1)' --noise 'StudentT(0.5)'",
            "df: got 0.5, need a number in (1, ∞); at 1 or below the mean does not exist",
        ),
        ("-a 'DSGD(0.1)' --noise 'StudentT(low)'", "df: got 'low', need a number"),
        ("-a 'DSGD(0.1)' --noise 'Gaussian([1, 2, 3])'", "std: got [1, 2, 3], need a number"),
        ("-a 'DSGD(0.1)' --noise ''", "cannot read ''"),
        ("-a 'DSGD(0.1)' --noise 'StudentT(1.5).scald(2)'", "did you mean 'scaled'?"),
        (
            "-a 'DSGD(0.1)' --noise 'StudentT(1.5).scaled(per_node=[1, -1])'",
            "per_node: got -1, need a number",
        ),
        ("-a 'DSGD(0.1)' --noise 'Gaussian().scaled(per_node=[1, 2])'", "per_node: got 2 scales"),
        ("-a 'DSGD(0.1)' --metric eror", "need names among error"),
        ("-a 'DSGD(0.1)' --metric tracker_error", "need names among"),
        ("-a GTDSGD -a DSGD --steps 1000000 --metric tracker_error", "on this problem with DSGD"),
        ("-a 'DSGD(0.1)' --out file/compare", "cannot read or write file"),
        ("-a 'DSGD(0.1)' --out ''", "need the stem of file names"),
        ("-a 'DSGD(0.1)' --out .", "need the stem of file names"),
    ],
)
def test_refusals(refused, tmp_path: Path, arguments: str, words: str):
    (tmp_path / "file").write_text("mine")
    assert words in refused(f"compare {arguments}")


def test_without_a_network_the_problem_has_a_ring_of_its_size(gossamer):
    code, out, err = gossamer("compare -a 'DSGD(0.1)' -p 'Quadratic(8, 5)' --steps 3")
    assert (code, err) == (0, "")
    assert "Quadratic on ring(8, hops=2)" in out
    for nodes in (1, 2, 3, 4):
        network, problem = build_task(None, f"Quadratic({nodes}, 5)")
        assert network.num_nodes == problem.num_nodes == nodes


def test_nothing_is_said_before_all_is_checked(gossamer):
    for mistake in ("-n 'ring(20)' -p 'Quadratic(8, 5)'", "--metric tracker_error"):
        code, out, _ = gossamer(f"compare -a 'DSGD(0.1)' {mistake}")
        assert (code, out) == (2, "")
    told = gossamer("compare -a 'DSGD(0.1)' -n 'ring(20)' -p 'Quadratic(8, 5)'").err
    assert "network: got 20 nodes where Quadratic(8, 5) has 8" in told
    assert "e.g. -n 'ring(8)'" in told


def test_a_folder_that_cannot_be_written_is_found_before_the_work(refused, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert "choose another --out" in refused("compare -a DSGD --steps 1000000")
