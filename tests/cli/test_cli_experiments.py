"""`gossamer list`, `run` and `report`: resumed, forced, refused."""

from pathlib import Path

import pytest

from gossamer.experiments import Options, Store
from gossamer.experiments.experiment import Unit
from gossamer.studies import EXPERIMENTS
from gossamer.studies.synthetic import dependence


def test_list_run_list_report(gossamer, tmp_path: Path):
    assert "claim-1" in gossamer("list").out
    assert "3 of 3" not in gossamer("list").out
    assert not list(tmp_path.iterdir()), "listing wrote something"
    code, out, err = gossamer("run claim-1")
    assert (code, err) == (0, "")
    assert "Results go to runs/quick" in out
    assert [line for line in out.splitlines() if line.startswith("  [")] == [
        "  [1/3] B=1",
        "  [2/3] B=5",
        "  [3/3] B=50",
    ]
    assert "`gossamer report` draws" in out
    assert "3 of 3" in gossamer("list").out
    code, out, err = gossamer("report")
    assert (code, err) == (0, "")
    page = tmp_path / "runs" / "quick" / "report.html"
    assert f"Report:  {page}" in out
    assert page.stat().st_size > 10_000
    suffixes = {path.suffix for path in (page.parent / "figures").iterdir()}
    assert suffixes == {".png", ".svg", ".pdf"}


def test_names_are_whole_on_a_narrow_terminal(gossamer, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    shown = {line.split(" ")[0] for line in gossamer("list").out.splitlines()}
    assert shown >= set(EXPERIMENTS)


def test_a_second_run_computes_nothing_and_force_everything(gossamer, monkeypatch):
    gossamer("run claim-1")
    code, out, _ = gossamer("run claim-1")
    assert code == 0
    assert "stored already" in out
    assert "  [" not in out
    assert gossamer("run claim-1 --force").out.count("  [") == 3


def test_a_forced_study_that_is_interrupted_goes_on_without_force(gossamer, monkeypatch):
    """Nothing old is left among the new, neither taken for new nor refused as of another seed."""

    def one(compute):
        return lambda options: [Unit("one", {"seed": options.seed}, compute)]

    def interrupt():
        raise KeyboardInterrupt

    for experiment in EXPERIMENTS.values():
        monkeypatch.setattr(experiment, "units", one(dict))
    assert gossamer("run language").code == 0
    monkeypatch.setattr(EXPERIMENTS["transformer-table"], "units", one(interrupt))
    assert gossamer("run language --seed 1 --force").code == 130
    monkeypatch.setattr(EXPERIMENTS["transformer-table"], "units", one(dict))
    code, out, _ = gossamer("run language --seed 1")
    assert (code, out.count("stored already"), out.count("  [1/1] one")) == (0, 1, 3)


def test_the_last_line_names_the_same_study(gossamer):
    out = gossamer("run claim-1 --full --seed 3 --out 'my runs'").out
    assert "`gossamer report --full --out 'my runs' --seed 3`" in out


@pytest.mark.parametrize(("name", "flag"), [("connectivity", " --device cuda"), ("language", "")])
def test_the_last_line_names_the_device_where_results_depend_on_it(
    gossamer, monkeypatch, name: str, flag: str
):
    """The synthetic study of a CPU and Transformers of a GPU make one page."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    for experiment in EXPERIMENTS.values():
        monkeypatch.setattr(experiment, "units", lambda options: [Unit("one", {}, dict)])
    assert (
        f"`gossamer report --full{flag}` draws" in gossamer(f"run {name} --full --device cuda").out
    )


@pytest.mark.parametrize(("name", "study"), [("all", "synthetic"), ("language", "language")])
def test_a_study_runs_all_its_experiments(gossamer, monkeypatch, name: str, study: str):
    computed = []
    for experiment in EXPERIMENTS.values():
        unit = Unit("one", {}, lambda name=experiment.name: computed.append(name) or {})
        monkeypatch.setattr(experiment, "units", lambda options, unit=unit: [unit])
    assert gossamer(f"run {name}").code == 0
    assert computed == [k for k, experiment in EXPERIMENTS.items() if experiment.study == study]


@pytest.mark.parametrize(("line", "told"), [("", False), (" --full", True)])
def test_large_models_on_a_cpu_are_announced_as_slow(gossamer, monkeypatch, line: str, told: bool):
    experiment = EXPERIMENTS["causal-reference"]
    monkeypatch.setattr(experiment, "units", lambda options: [Unit("one", {}, dict)])
    assert ("take days on a CPU" in gossamer(f"run causal-reference{line}").out) == told


def test_a_damaged_file_is_found_before_any_work(refused, gossamer, tmp_path, monkeypatch):
    """Also that of the last experiment, when all are to be run."""
    last = [name for name, e in EXPERIMENTS.items() if e.study == "synthetic"][-1]
    store = Store.open(tmp_path / "runs", Options())
    unit = EXPERIMENTS[last].units(Options())[0]
    path = store.folder(EXPERIMENTS[last]) / f"{unit.name}.json"
    path.write_text('{"config": {')
    for line in (f"run {last}", "run all", "report"):
        err = refused(line)
        assert str(path.relative_to(tmp_path)) in err
        assert "gossamer run --force" in err


def test_results_of_another_seed_stay(refused, gossamer, monkeypatch):
    monkeypatch.setattr(dependence, "STEPS", 20)
    assert gossamer("run connectivity").code == 0
    for line in ("run connectivity --seed 1", "report --seed 1"):
        assert "made with another configuration (data_seed, seeds)" in refused(line)
    assert "made with another configuration (device)" in refused("report --device cuda")
    assert gossamer("run connectivity --seed 1 --force").code == 0


def test_what_a_run_would_refuse_is_not_listed_as_stored(gossamer, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(dependence, "STEPS", 20)
    assert gossamer("run connectivity").code == 0
    (tmp_path / "runs" / "quick" / "connectivity" / "ring.json").write_text("{")
    assert "3 of 4, 1 refused" in gossamer("list").out
    for line in ("list --seed 1", "list --device cuda"):
        assert "0 of 4, 4 refused" in gossamer(line).out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("run rnig-noise", "did you mean 'ring-noise'?"),
        ("run Claim-1", "did you mean 'claim-1'?"),
        ("run ''", "name: got '', need one of ring-noise, connectivity"),
        ("run claim-1 --sede 3", "No such option '--sede'"),
        ("run claim-1 --seed abc", "'abc' is not a valid integer"),
        ("run claim-1 --seed 1.5", "'1.5' is not a valid integer"),
        ("run claim-1 --device gpu", "device: got 'gpu', need one of cpu"),
        ("run claim-1 --out file", "out: cannot write to file/quick (Not a directory)"),
        ("run claim-1 --out file/deeper", "choose another --out"),
        ("run claim-1 claim-1", "unexpected extra argument"),
        ("list --seed x", "not a valid integer"),
        ("report", "where nothing is complete"),
        ("report --out file", "where nothing is complete"),
        ("report --out nowhere", "`gossamer run all` with the same options makes them"),
    ],
)
def test_refusals(refused, tmp_path: Path, line: str, words: str):
    (tmp_path / "file").write_text("mine")
    assert words in refused(line)


def test_without_a_gpu_cuda_is_refused(refused, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    answer = refused("run claim-1 --device cuda")
    assert "device: got 'cuda', need a CUDA device, and torch sees none here" in answer
    assert "did you mean" not in answer
    assert "device: got 'gpu', need one of cpu, cuda" in refused("run claim-1 --device gpu")


def test_a_file_where_a_folder_should_be_is_found_before_the_work(refused, tmp_path: Path):
    (tmp_path / "runs" / "quick").mkdir(parents=True)
    (tmp_path / "runs" / "quick" / "claim-1").write_text("in the way")
    assert "cannot read or write runs/quick/claim-1 (File exists)" in refused("run claim-1")


def test_a_folder_where_the_page_should_be(gossamer, tmp_path: Path):
    gossamer("run claim-1")
    (tmp_path / "runs" / "quick" / "report.html").mkdir()
    code, _, err = gossamer("report")
    assert code == 2
    assert err.startswith("gossamer: cannot read or write runs/quick/")


def test_a_disk_that_is_full_is_said_without_a_none(gossamer, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rich.console.Console.print", full)
    code, _, err = gossamer("list")
    assert code == 2
    assert err == "gossamer: cannot read or write the output (No space left on device)\n"
