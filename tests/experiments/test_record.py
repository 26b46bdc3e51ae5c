"""Results are written whole, read back as they were, and refused where they are not ours."""

import json
import math
import os
import subprocess
from pathlib import Path

import pytest
from toy import Toy

import gossamer as gs
from gossamer.experiments import Options, Record, Work
from gossamer.provenance import commit

TOY = Toy()


@pytest.fixture
def work(tmp_path: Path) -> Work:
    work = Work.below(tmp_path, TOY, Options())
    work.folder.mkdir(parents=True)
    return work


def save(work: Work, result: dict, unit: int = 0, seconds: float = 0.0) -> Path:
    path = work.path(work.units[unit])
    Record.of(work.units[unit], result, seconds, "cpu").write(path)
    return path


def loaded(work: Work) -> dict:
    record = work.load(work.units[0])
    assert record is not None
    return record.result


def test_studies_of_different_size_lie_apart(tmp_path: Path):
    quick, full = (Work.below(tmp_path, TOY, Options(size)) for size in ("quick", "full"))
    quick.folder.mkdir(parents=True)
    save(quick, {"value": 1})
    assert full.load(full.units[0]) is None
    assert quick.path(quick.units[0]) == tmp_path / "quick" / "toy" / "k=0.json"


def test_a_file_carries_configuration_result_and_how_it_was_made(work: Work):
    record = json.loads(save(work, {"value": 1}, seconds=1.23456).read_text())
    assert record["config"] == {"name": "k=0", "k": 0, "seed": 0}
    assert record["result"] == {"value": 1}
    assert record["made"]["seconds"] == 1.235
    assert record["made"]["device"] == "CPU"
    assert record["made"]["gossamer"] == gs.__version__
    assert {"commit", "time", "torch", "python"} <= set(record["made"])
    assert [r.made["seconds"] for r in work.stored().values()] == [1.235]


def test_the_commit_is_that_of_the_source_tree(monkeypatch: pytest.MonkeyPatch):
    assert commit() is None or len(commit() or "") == 40

    def no_git(*arguments, **options):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", no_git)
    assert commit() is None


def test_results_come_back_as_they_were_stored(work: Work):
    result = {
        "curve": [[1.5, math.inf], [-math.inf, 0.1 + 0.2]],
        "nested": {"words": ["α-stable", True, None], "tuple": (1, 2)},
    }
    save(work, {**result, "undefined": math.nan})
    found = loaded(work)
    assert math.isnan(found.pop("undefined"))
    assert found == {**result, "nested": {"words": ["α-stable", True, None], "tuple": [1, 2]}}
    text = work.path(work.units[0]).read_text()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_a_crash_before_the_rename_leaves_the_old_file(work: Work, monkeypatch: pytest.MonkeyPatch):
    save(work, {"value": "old"})
    before = work.path(work.units[0]).read_bytes()

    def crash(source, target):
        assert json.loads(Path(source).read_text())["result"] == {"value": "new"}  # whole by now
        raise OSError("the lights went out")

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(OSError, match="lights"):
        save(work, {"value": "new"})
    assert work.path(work.units[0]).read_bytes() == before
    assert [path.name for path in work.folder.iterdir()] == ["k=0.json"]


def test_a_result_that_is_not_json_leaves_the_old_file(work: Work):
    save(work, {"value": "old"})
    with pytest.raises(TypeError):
        save(work, {"value": object()})
    assert loaded(work) == {"value": "old"}
    assert [path.name for path in work.folder.iterdir()] == ["k=0.json"]


def test_what_a_killed_process_left_half_written_is_no_result(work: Work):
    half = work.folder / ".k=0.json.4711.partial"
    half.write_text('{"config": ')
    assert work.load(work.units[0]) is None
    assert work.results() is None


def refused(work: Work, text: str | bytes) -> str:
    """The message with which a file of this content is refused; the file must stay as it is."""
    path = work.folder / "k=0.json"
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(content)
    for read in (work.stored, work.missing, work.results, lambda: work.load(work.units[0])):
        with pytest.raises(gs.InvalidInput) as refusal:
            read()
    assert work.count() == (0, 1)
    assert path.read_bytes() == content
    message = str(refusal.value)
    assert "\n" not in message
    assert str(path) in message
    assert "--force" in message
    return message


WHOLE = (
    '{"config": {"name": "k=0", "k": 0, "seed": 0}, "result": {"value": 1}, "made": {"seconds": 1}}'
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        WHOLE[:-20],
        "null",
        "[]",
        '"word"',
        "{}",
        '{"config": {"name": "k=0", "k": 0, "seed": 0}}',
        WHOLE.replace('{"name": "k=0", "k": 0, "seed": 0}', "7"),
        WHOLE.replace('"seconds": 1', '"seconds": "long"'),
        WHOLE.replace('{"value": 1}', "7"),
        WHOLE.replace('{"value": 1}', '{"value": {"float": "big"}}'),
        b"\xff\xfe\x00",
        "[" * 100_000,
    ],
    ids=lambda text: repr(text[-24:]),
)
def test_damaged_and_foreign_files_are_refused_and_left_alone(work: Work, text: str | bytes):
    assert "is damaged or not a result of Gossamer; delete it" in refused(work, text)


@pytest.mark.parametrize(("old", "new"), [("0.25", "0.75"), ('"value"', '"valve"'), ("inf", "nan")])
def test_a_changed_number_or_word_is_noticed(work: Work, old: str, new: str):
    text = save(work, {"value": [0.25, math.inf]}).read_text()
    assert loaded(work) == {"value": [0.25, math.inf]}
    assert text.count(old) == 1
    assert "is damaged" in refused(work, text.replace(old, new))


def test_the_undamaged_file_of_these_tests_is_read(work: Work):
    (work.folder / "k=0.json").write_text(WHOLE)
    assert loaded(work) == {"value": 1}


def test_results_of_another_configuration_are_refused_and_left_alone(work: Work):
    other = WHOLE.replace('"seed": 0', '"seed": 1')
    assert "made with another configuration (seed)" in refused(work, other)
    more = WHOLE.replace('"seed": 0', '"seed": 0, "lr": null')
    assert "made with another configuration (lr)" in refused(work, more)


def test_a_file_that_may_not_be_read_is_not_called_damaged(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    """Whoever is told so would delete a good result."""
    save(work, {"value": 1})

    def forbidden(path, *arguments, **options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", forbidden)
    with pytest.raises(PermissionError, match=r"k=0\.json"):
        work.load(work.units[0])


def test_a_folder_in_place_of_a_file_is_refused(work: Work):
    work.path(work.units[0]).mkdir(parents=True)
    with pytest.raises(gs.InvalidInput, match="is damaged or not a result"):
        work.load(work.units[0])


def test_results_only_when_all_units_are_stored(work: Work):
    for k, unit in enumerate(work.units):
        assert work.results() is None
        save(work, {"value": unit.name}, k)
    assert work.results() == {u.name: {"value": u.name} for u in work.units}
    work.forget(work.units[:1])
    assert [unit.name for unit in work.missing()] == ["k=0"]


@pytest.mark.parametrize("below", ["file", "file/deeper"])
def test_a_folder_that_cannot_be_made_is_refused_by_name(tmp_path: Path, below: str):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(gs.InvalidInput, match=r"out: cannot write to .*choose another --out"):
        Work.below(tmp_path / below, TOY, Options()).run()
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write_is_refused(tmp_path: Path):
    (tmp_path / "quick").mkdir(mode=0o500)
    with pytest.raises(gs.InvalidInput, match=r"cannot write to .*toy \(Permission denied\)"):
        Work.below(tmp_path, TOY, Options()).run()


def test_a_read_only_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The same for whoever may write everywhere."""

    def read_only(path, *arguments, **options):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "touch", read_only)
    with pytest.raises(gs.InvalidInput, match=r"toy \(Read-only file system\)"):
        Work.below(tmp_path, TOY, Options()).run()
