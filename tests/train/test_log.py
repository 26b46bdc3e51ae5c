"""The log beside checkpoints: whole lines, readable at any moment, one story after a resume."""

import math
from pathlib import Path

from gossamer.train.log import LOG, TrainingLog, append


def written(folder: Path, *lines: dict) -> Path:
    for line in lines:
        append(folder / LOG, line)
    return folder / LOG


def steps(path: Path) -> list[tuple[int, float | None]]:
    return [(one["step"], one["loss"]) for one in TrainingLog.read(path).records]


def test_what_was_appended_is_read(tmp_path: Path):
    path = written(tmp_path, {"run": {"steps": 9}}, {"step": 4, "loss": 0.5})
    assert TrainingLog.read(path) == TrainingLog({"steps": 9}, [{"step": 4, "loss": 0.5}])


def test_a_number_that_json_does_not_have_is_null(tmp_path: Path):
    path = written(tmp_path, {"step": 1, "loss": math.nan}, {"step": 2, "loss": math.inf})
    assert steps(path) == [(1, None), (2, None)]


def test_a_run_that_went_back_replaces_what_it_repeats(tmp_path: Path):
    first = [{"step": step, "loss": 1.0} for step in (10, 20, 30)]
    path = written(tmp_path, *first, {"run": {}}, {"step": 20, "loss": 2.0})
    assert steps(path) == [(10, 1.0), (20, 2.0)]


def test_a_line_that_was_cut_off_costs_itself_only(tmp_path: Path):
    path = written(tmp_path, {"step": 1, "loss": 1.0})
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"step": 2, "lo')
    assert steps(path) == [(1, 1.0)]
    written(tmp_path, {"step": 3, "loss": 3.0})
    assert steps(path) == [(1, 1.0), (3, 3.0)]


def test_damage_is_passed_over(tmp_path: Path):
    path = tmp_path / LOG
    path.write_bytes(b'\xff\xfe\n[1]\n{"step": "4"}\n{"run": 3}\n' + b"[" * 100_000 + b"\n")
    assert TrainingLog.read(path) == TrainingLog()
