"""What is read of a folder, whichever of our commands writes to it."""

import json
import shutil
from pathlib import Path

import pytest

import gossamer as gs
from gossamer.colours import LOOKS
from gossamer.train.log import LOG, append
from gossamer.watch import Watched
from gossamer.watch.section import POINTS, Chart, Curve

STORED = Path(__file__).parents[2] / "results" / "full"


def sections(folder: Path) -> list[dict]:
    state = Watched(folder).state()
    assert json.loads(json.dumps(state, allow_nan=False)) == json.loads(json.dumps(state))
    return state["sections"]


def points(chart: dict) -> dict[str, list]:
    return {curve["label"]: curve["points"] for curve in chart["curves"]}


def test_nothing_is_there_yet(tmp_path: Path):
    assert Watched(tmp_path).state() == {"folder": str(tmp_path), "sections": []}


def test_a_training(tmp_path: Path):
    log, watched = tmp_path / "blobs" / LOG, Watched(tmp_path)
    log.parent.mkdir()
    append(log, {"run": {"algorithm": "GT-NSGDm", "network": "ring(4)", "steps": 100}})
    assert watched.state()["sections"][0]["charts"][0]["curves"][0]["points"] == []
    append(log, {"step": 20, "loss": 0.5, "validation_loss": 0.25, "consensus_error": 0.0})
    append(log, {"step": 40, "loss": float("nan"), "validation_loss": 0.125})
    (section,) = watched.state()["sections"]
    assert (section["title"], section["done"]) == ("blobs: GT-NSGDm on ring(4)", 0.4)
    assert "step 40 of 100, validation loss 0.125" in section["told"]
    loss, apart = section["charts"]
    assert list(points(loss).values()) == [[(20, 0.25), (40, 0.125)], [(20, 0.5)]]
    assert points(apart) == {"GT-NSGDm": [(20, 0.0)]}


def test_stored_runs_while_they_grow(tmp_path: Path):
    task = {"problem": gs.Quadratic(4, 2), "network": gs.ring(4), "store": tmp_path}
    watched = Watched(tmp_path)
    for steps in (10, 20):
        many = {"steps": steps, "seeds": range(3), "record_every": 5}
        runs = [gs.simulate(gs.DSGD(lr=lr), **task, **many) for lr in (0.2, 0.1, 1e200)]
        (section,) = watched.state()["sections"]
        (chart,) = section["charts"]
        assert "Quadratic" in section["title"]
        ((label, drawn),) = points(chart).items()
        assert label == "DSGD (lr = 0.2)"
        middle = runs[0].metrics["error"].median(dim=1).values.tolist()
        assert drawn == list(zip(range(0, steps + 1, 5), middle, strict=True))
        assert f"9 runs, {steps} steps" in section["told"]


def test_stored_runs_tell_their_schedule(tmp_path: Path):
    method = gs.DSGD(gs.Cosine(0.1, 20))
    gs.simulate(method, gs.Quadratic(4, 2), gs.ring(4), steps=20, store=tmp_path)
    (section,) = Watched(tmp_path).state()["sections"]
    assert points(section["charts"][0]).keys() == {"DSGD (lr = Cosine(0.1, 20.0))"}


def test_a_study(tmp_path: Path):
    """Unit by unit, as `gossamer run` writes them; the verdicts come with the last."""
    place, watched = tmp_path / "full" / "claim-1", Watched(tmp_path)
    place.mkdir(parents=True)
    for done, unit in enumerate(["B=1", "B=5", "B=50"], start=1):
        shutil.copy(STORED / "claim-1" / f"{unit}.json", place)
        (section,) = watched.state()["sections"]
        assert (section["done"], len(section["verdicts"])) == (done / 3, 2 * (done == 3))
        assert len(points(section["charts"][0])) == done
    assert {one["holds"] for one in section["verdicts"]} == {"yes"}
    for folder in (place.parent, place):
        assert sections(folder) == [section] == sections(tmp_path)


def test_what_is_damaged_is_named_and_the_rest_is_shown(tmp_path: Path):
    append(tmp_path / LOG, {"run": {}})
    damaged = tmp_path / "test" / "claim-1" / "B=1.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("{")
    foreign = tmp_path / "DSGD-0" / "task.json"
    foreign.parent.mkdir()
    foreign.write_text("[]")
    training, store, study = sections(tmp_path)
    assert training["told"].endswith("nothing is reported yet")
    assert "task.json is damaged" in store["told"]
    assert "B=1.json is damaged" in study["told"]


def test_hidden_and_deep_folders_are_left_alone(tmp_path: Path):
    for place in (".hidden", "a/b/c/d"):
        (tmp_path / place).mkdir(parents=True)
        append(tmp_path / place / LOG, {"run": {}})
    assert sections(tmp_path) == []
    assert len(sections(tmp_path / "a")) == 1


def test_only_what_has_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from gossamer.watch import trainings

    read = []
    monkeypatch.setattr(
        trainings.TrainingLog, "read", classmethod(lambda cls, path: read.append(path) or cls())
    )
    watched = Watched(tmp_path)
    for lines in (1, 2):
        append(tmp_path / LOG, {"run": {}})
        for _ in range(3):
            watched.state()
        assert len(read) == lines


def test_every_method_has_its_colour():
    labels = ["DSGD", "Student-t GT-NSGDm", "GT-NSGDm (lr = 0.1)", "mine"]
    drawn = Chart("error", [Curve(label, {0: 1.0}) for label in labels]).as_json()["curves"]
    assert [one["label"] for one in drawn] == labels
    assert drawn[0]["light"] == LOOKS["DSGD"].colour
    assert drawn[1]["light"] == drawn[2]["light"] == LOOKS["GT-NSGDm"].colour
    assert drawn[1]["dash"] != drawn[2]["dash"]
    assert all(one["dark"] != one["light"] for one in drawn)


@pytest.mark.parametrize("count", [1, POINTS, POINTS + 1, 10 * POINTS + 7])
def test_long_curves_are_thinned_and_keep_their_ends(count: int):
    kept = Curve("x", {k: float(k) for k in range(count)}).thinned()
    assert len(kept) <= POINTS + 1
    assert (kept[0], kept[-1]) == ((0, 0.0), (count - 1, count - 1.0))
    assert len(set(kept)) == len(kept)
