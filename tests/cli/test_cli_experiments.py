"""`gossamer list`, `run` and `report`: resumed, forced, refused."""

from pathlib import Path

import pytest

from gossamer.cli import verdicts
from gossamer.cli.experiments import chosen, studies
from gossamer.experiments import Options, Verdict, Work
from gossamer.report.figures import FORMATS
from gossamer.studies import EXPERIMENTS
from gossamer.studies.language.transformer_readings import Reading
from gossamer.studies.synthetic.curve import Curve


@pytest.mark.parametrize("formats", [FORMATS])
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
    assert out.count("\n  holds: ") == 2
    assert out.endswith(
        "\nOf 2 statements 2 hold.\n"
        "Next: `gossamer report` draws the figures and writes the page.\n"
    )
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


def test_a_second_run_computes_nothing_and_force_everything(gossamer):
    line = "run connectivity --size test"
    gossamer(line)
    code, out, _ = gossamer(line)
    assert code == 0
    assert "stored already" in out
    assert "  [" not in out
    assert gossamer(f"{line} --force").out.count("  [") == 4


@pytest.fixture
def unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that a test makes up say nothing that could be judged."""
    monkeypatch.setattr(verdicts, "_verdicts", lambda work: [])


@pytest.mark.usefixtures("unjudged")
def test_a_forced_study_that_is_interrupted_goes_on_without_force(gossamer, monkeypatch):
    """Nothing old is left among the new, neither taken for new nor refused as of another seed."""

    def interrupted(unit: Curve, device: str) -> dict[str, list[float]]:
        if unit.name == "Gaussian, scale 2":
            raise KeyboardInterrupt
        return {}

    line = "run connectivity noise-level --size test"
    assert gossamer(line).code == 0
    with monkeypatch.context() as patch:
        patch.setattr(Curve, "run", interrupted)
        assert gossamer(f"{line} --seed 1 --force").code == 130
    code, out, _ = gossamer(f"{line} --seed 1")
    assert (code, out.count("stored already")) == (0, 1)
    assert out.partition("  [")[2].startswith("2/6] Gaussian, scale 2")


@pytest.mark.usefixtures("unjudged")
def test_the_last_line_names_the_same_study(gossamer, monkeypatch):
    monkeypatch.setattr(Curve, "run", lambda unit, device: {})
    out = gossamer("run connectivity --size full --seed 3 --out 'my runs'").out
    assert "`gossamer report --size full --out 'my runs' --seed 3`" in out


@pytest.mark.parametrize("study", studies())
def test_a_study_is_all_its_experiments(study: str):
    assert chosen([study]) == [k for k, e in EXPERIMENTS.items() if e.study == study] != []


def test_names_add_up_and_nothing_is_run_twice():
    theory = chosen(["theory"])
    assert chosen(["speed-up", "theory"]) == ["speed-up", *(n for n in theory if n != "speed-up")]
    assert chosen(["all"]) == list(EXPERIMENTS)
    assert sorted(chosen(studies())) == sorted(EXPERIMENTS)


def test_several_names_are_run_in_their_order(gossamer):
    out = gossamer("run noise-level connectivity noise-level --size test").out
    names = ("noise-level", "connectivity")
    titles = [f"{name}: {EXPERIMENTS[name].title}" for name in names]
    assert [line for line in out.splitlines() if line in titles] == titles


@pytest.mark.usefixtures("unjudged")
@pytest.mark.parametrize(("size", "told"), [("test", False), ("full", True)])
def test_large_models_on_a_cpu_are_announced_as_slow(gossamer, monkeypatch, size: str, told: bool):
    monkeypatch.setattr(Reading, "run", lambda unit, device: {})
    out = gossamer(f"run transformer-readings --size {size}").out
    assert ("take days on a CPU" in out) == told


def test_a_damaged_file_is_found_before_any_work(refused, tmp_path: Path):
    """Also that of the last experiment, when several are to be run."""
    last = chosen(["theory"])[-1]
    work = Work.below(tmp_path / "runs", EXPERIMENTS[last], Options("test"))
    path = work.path(work.units[0])
    path.parent.mkdir(parents=True)
    path.write_text('{"config": {')
    for line in (f"run {last}", "run synthetic theory", "report"):
        err = refused(f"{line} --size test")
        assert str(path.relative_to(tmp_path)) in err
        assert "gossamer run --force" in err


def test_results_of_another_seed_stay(refused, gossamer):
    assert gossamer("run connectivity --size test").code == 0
    for line in ("run connectivity --size test --seed 1", "report --size test --seed 1"):
        assert "made with another configuration (data_seed, seeds)" in refused(line)
    assert gossamer("run connectivity --size test --seed 1 --force").code == 0


def test_sizes_have_folders_of_their_own(gossamer, tmp_path: Path):
    assert gossamer("run connectivity --size test").code == 0
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["test"]
    assert "4 of 4" not in gossamer("list").out
    assert "4 of 4" in gossamer("list --size test").out


def test_what_a_run_would_refuse_is_not_listed_as_stored(gossamer, tmp_path: Path):
    assert gossamer("run connectivity --size test").code == 0
    (tmp_path / "runs" / "test" / "connectivity" / "ring.json").write_text("{")
    assert "3 of 4, 1 refused" in gossamer("list --size test").out
    assert "0 of 4, 4 refused" in gossamer("list --size test --seed 1").out


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
        ("run", "Missing argument 'NAMES...'"),
        ("run claim-1 --full", "No such option '--full'"),
        ("run claim-1 --size huge", "'huge' is not one of 'test', 'quick', 'full'"),
        ("report --device cuda", "No such option '--device'"),
        ("list --seed x", "not a valid integer"),
        ("report", "where nothing is complete"),
        ("report --out file", "where nothing is complete"),
        ("report --out nowhere", "`gossamer run synthetic theory` and the same options"),
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
    assert "cannot write to runs/quick/claim-1 (File exists)" in refused("run claim-1")


@pytest.mark.parametrize("formats", [("svg",)])
def test_a_folder_where_the_page_should_be(gossamer, tmp_path: Path):
    gossamer("run connectivity --size test")
    (tmp_path / "runs" / "test" / "report.html").mkdir()
    code, _, err = gossamer("report --size test")
    assert code == 2
    assert err.startswith("gossamer: cannot read or write runs/test/")


def test_a_disk_that_is_full_is_said_without_a_none(gossamer, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rich.console.Console.print", full)
    code, _, err = gossamer("list")
    assert code == 2
    assert err == "gossamer: cannot read or write the output (No space left on device)\n"


@pytest.mark.parametrize(
    ("holds", "sentence"),
    [
        (["yes", "yes"], "Of 2 statements 2 hold."),
        (["yes", "no", "no"], "Of 3 statements 1 holds, 2 do not hold."),
        (["partly", "no"], "Of 2 statements 1 holds in part, 1 does not hold."),
        (["no"], "The only statement does not hold."),
        ([], "Nothing can be judged yet."),
    ],
)
def test_statements_are_counted_in_words(monkeypatch, holds: list[str], sentence: str):
    conditions = {"yes": True, "no": False, "partly": {"here": True, "there": False}}
    found = [Verdict("It grows.", "It does.", conditions[one]) for one in holds]
    monkeypatch.setattr(verdicts, "_verdicts", lambda work: found)
    assert verdicts.count_verdicts([object()]) == sentence
