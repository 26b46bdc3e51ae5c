"""Results are written whole, read back as they were, and refused where they are not ours."""

import json
import math
import os
import subprocess
from pathlib import Path

import pytest
from toy import Toy

import gossamer as gs
from gossamer.experiments import Options, Store, Unit
from gossamer.experiments.store import commit

TOY = Toy()
UNIT = TOY.units(Options())[0]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path, Options())


def test_quick_and_full_studies_lie_apart(tmp_path: Path):
    quick, full = (Store.open(tmp_path, Options(full)) for full in (False, True))
    quick.save(TOY, UNIT, {"value": 1}, 0.0)
    assert full.load(TOY, UNIT) is None
    assert quick.path(TOY, UNIT) == tmp_path / "quick" / "toy" / "k=0.json"


def test_a_file_carries_configuration_result_and_how_it_was_made(store: Store):
    store.save(TOY, UNIT, {"value": 1}, 1.23456)
    record = json.loads(store.path(TOY, UNIT).read_text())
    assert record["config"] == {"k": 0, "seed": 0}
    assert record["result"] == {"value": 1}
    assert record["made"]["seconds"] == 1.235
    assert record["made"]["gossamer"] == gs.__version__
    assert {"commit", "time", "torch", "python"} <= set(record["made"])
    assert store.seconds(TOY, Options()) == 1.235


def test_the_commit_is_that_of_the_source_tree(monkeypatch: pytest.MonkeyPatch):
    assert commit() is None or len(commit() or "") == 40

    def no_git(*arguments, **options):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", no_git)
    assert commit() is None


def test_results_come_back_as_they_were_stored(store: Store):
    result = {
        "curve": [[1.5, math.inf], [-math.inf, 0.1 + 0.2]],
        "nested": {"words": ["α-stable", True, None], "tuple": (1, 2)},
    }
    store.save(TOY, UNIT, {**result, "undefined": math.nan}, 0.0)
    found = store.load(TOY, UNIT)
    assert found is not None
    assert math.isnan(found.pop("undefined"))
    assert found == {**result, "nested": {"words": ["α-stable", True, None], "tuple": [1, 2]}}
    text = store.path(TOY, UNIT).read_text()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_a_crash_before_the_rename_leaves_the_old_file(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    store.save(TOY, UNIT, {"value": "old"}, 0.0)
    before = store.path(TOY, UNIT).read_bytes()

    def crash(source, target):
        assert json.loads(Path(source).read_text())["result"] == {"value": "new"}  # whole by now
        raise OSError("the lights went out")

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(OSError, match="lights"):
        store.save(TOY, UNIT, {"value": "new"}, 0.0)
    assert store.path(TOY, UNIT).read_bytes() == before
    assert [path.name for path in store.folder(TOY).iterdir()] == ["k=0.json"]


def test_a_result_that_is_not_json_leaves_the_old_file(store: Store):
    store.save(TOY, UNIT, {"value": "old"}, 0.0)
    with pytest.raises(TypeError):
        store.save(TOY, UNIT, {"value": object()}, 0.0)
    assert store.load(TOY, UNIT) == {"value": "old"}
    assert [path.name for path in store.folder(TOY).iterdir()] == ["k=0.json"]


def test_what_a_killed_process_left_half_written_is_no_result(store: Store):
    half = store.folder(TOY) / ".k=0.json.4711.partial"
    half.write_text('{"config": ')
    assert store.load(TOY, UNIT) is None
    assert store.results(TOY, Options()) is None


def refused(store: Store, text: str | bytes) -> str:
    """The message with which a file of this content is refused; the file must stay as it is."""
    path = store.folder(TOY) / "k=0.json"
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(content)
    for read in (store.load, lambda *_: store.missing(TOY, Options())):
        with pytest.raises(gs.InvalidInput) as refusal:
            read(TOY, UNIT)
    with pytest.raises(gs.InvalidInput):
        store.results(TOY, Options())
    assert path.read_bytes() == content
    message = str(refusal.value)
    assert "\n" not in message
    assert str(path) in message
    assert "--force" in message
    return message


WHOLE = '{"config": {"k": 0, "seed": 0}, "result": {"value": 1}, "made": {"seconds": 1}}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        WHOLE[:-20],
        "null",
        "[]",
        '"word"',
        "{}",
        '{"config": {"k": 0, "seed": 0}}',
        WHOLE.replace('{"k": 0, "seed": 0}', "7"),
        WHOLE.replace('"seconds": 1', '"seconds": "long"'),
        WHOLE.replace('{"value": 1}', "7"),
        WHOLE.replace('{"value": 1}', '{"value": {"float": "big"}}'),
        b"\xff\xfe\x00",
        "[" * 100_000,
    ],
    ids=lambda text: repr(text[-24:]),
)
def test_damaged_and_foreign_files_are_refused_and_left_alone(store: Store, text: str | bytes):
    assert "is damaged or not a result of Gossamer; delete it" in refused(store, text)


def test_the_undamaged_file_of_these_tests_is_read(store: Store):
    (store.folder(TOY) / "k=0.json").write_text(WHOLE)
    assert store.load(TOY, UNIT) == {"value": 1}


def test_results_of_another_configuration_are_refused_and_left_alone(store: Store):
    other = WHOLE.replace('"seed": 0', '"seed": 1')
    assert "made with another configuration (seed)" in refused(store, other)
    more = WHOLE.replace('"seed": 0', '"seed": 0, "lr": null')
    assert "made with another configuration (lr)" in refused(store, more)


def test_a_file_that_may_not_be_read_is_not_called_damaged(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    """Whoever is told so would delete a good result."""
    store.save(TOY, UNIT, {"value": 1}, 0.0)

    def forbidden(path, *arguments, **options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", forbidden)
    with pytest.raises(PermissionError, match=r"k=0\.json"):
        store.load(TOY, UNIT)


def test_a_folder_in_place_of_a_file_is_refused(store: Store):
    store.path(TOY, UNIT).mkdir(parents=True)
    with pytest.raises(gs.InvalidInput, match="is damaged or not a result"):
        store.load(TOY, UNIT)


def test_results_only_when_all_units_are_stored(store: Store):
    units = TOY.units(Options())
    for unit in units:
        assert store.results(TOY, Options()) is None
        store.save(TOY, unit, {"value": unit.name}, 1.0)
    assert store.results(TOY, Options()) == {u.name: {"value": u.name} for u in units}
    assert store.seconds(TOY, Options()) == 3.0
    store.forget(TOY, units[:1])
    assert [unit.name for unit in store.missing(TOY, Options())] == ["k=0"]


def test_a_configuration_is_compared_as_json(store: Store):
    """Tuples and lists, numbers as keys: what JSON cannot tell apart is the same."""
    unit = Unit("k=0", {"sizes": (1, 2), "by": {1: math.inf}}, dict)
    store.save(TOY, unit, {"value": 1}, 0.0)
    assert store.load(TOY, unit) == {"value": 1}


@pytest.mark.parametrize("below", ["file", "file/deeper"])
def test_a_folder_that_cannot_be_made_is_refused_by_name(tmp_path: Path, below: str):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(gs.InvalidInput, match=r"out: cannot write to .*choose another --out"):
        Store.open(tmp_path / below, Options())
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write_is_refused(tmp_path: Path):
    (tmp_path / "quick").mkdir(mode=0o500)
    with pytest.raises(gs.InvalidInput, match=r"cannot write to .*quick \(Permission denied\)"):
        Store.open(tmp_path, Options())


def test_a_read_only_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The same for whoever may write everywhere."""

    def read_only(path, *arguments, **options):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "touch", read_only)
    with pytest.raises(gs.InvalidInput, match=r"quick \(Read-only file system\)"):
        Store.open(tmp_path, Options())
