"""Two trainings of different processes do not share a folder of checkpoints."""

import gc
import os
import time
import warnings
from pathlib import Path

import pytest
import torch
from processes import Dead, Processes, context, on_ranks
from torch import nn

from gossamer.algorithms import DSGD
from gossamer.distributed import Checkpoints, DecentralizedOptimizer
from gossamer.distributed.ownership import lock_of
from gossamer.errors import InvalidInput
from gossamer.networks import complete


def checkpoints_in(folder: Path, policy: str = "raise") -> Checkpoints:
    optimizer = DecentralizedOptimizer(
        [nn.Parameter(torch.zeros(1))], DSGD(lr=0.1), complete, timeout=5.0, on_peer_failure=policy
    )
    return Checkpoints(folder, optimizer, None)


def trains_until(rank: int, folder: Path, end: Path) -> str:
    checkpoints = checkpoints_in(folder)
    checkpoints.resume()
    (folder / f"{rank} is there").touch()
    while not end.exists():
        time.sleep(0.01)
    checkpoints.save()
    return (folder / ".lock").read_text()


def resumes(rank: int, folder: Path) -> int:
    return checkpoints_in(folder).resume()


def test_a_second_training_is_refused_on_all_ranks_until_the_first_one_ends(tmp_path):
    folder, end = tmp_path / "runs", tmp_path / "end"
    first = Processes(trains_until, folder, end, size=2)
    deadline = time.monotonic() + 40
    while len(list(folder.glob("* is there"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for answer in Processes(resumes, folder, size=2).results():
        assert isinstance(answer.error, InvalidInput)
        assert "where another training saves its checkpoints (process " in str(answer.error)
        assert f"delete {folder / '.lock'} if its machine has crashed" in str(answer.error)
    end.touch()
    for answer in first.results():
        assert '"process": "process ' in answer
    assert on_ranks(resumes, folder, size=2) == [0, 0]


def test_a_folder_is_free_when_its_lock_is_deleted(tmp_path):
    folder, end = tmp_path / "runs", tmp_path / "end"
    first = Processes(trains_until, folder, end, size=1)
    while not (folder / "0 is there").exists():
        time.sleep(0.01)
    (folder / ".lock").unlink()
    assert on_ranks(resumes, folder, size=1) == [0]
    end.touch()
    first.results()


def ends_abruptly(folder: Path) -> None:
    checkpoints_in(folder).save()
    os._exit(1)


def test_a_crash_leaves_no_folder_locked(tmp_path):
    process = context.Process(target=ends_abruptly, args=(tmp_path,))
    process.start()
    process.join(60)
    assert process.exitcode == 1
    assert (tmp_path / ".lock").exists()
    assert checkpoints_in(tmp_path).resume() == 0


def test_a_folder_is_free_again_when_its_optimizer_is_gone(tmp_path):
    checkpoints = checkpoints_in(tmp_path)
    checkpoints.save()
    (answer,) = Processes(resumes, tmp_path, size=1).results()
    assert f"(process {os.getpid()} on " in str(answer.error)
    del checkpoints
    gc.collect()
    assert on_ranks(resumes, tmp_path, size=1) == [0]


def without_the_owner(rank: int, folder: Path) -> tuple[int, bool]:
    """Rank 0 dies, and rank 1 owns the folder from then on."""
    warnings.simplefilter("ignore")
    checkpoints = checkpoints_in(folder, "drop")
    checkpoints.save()
    if rank == 0:
        os._exit(1)
    checkpoints.optimizer.step()
    checkpoints.save()
    mine = f"process {os.getpid()} on" in (folder / ".lock").read_text()
    return (checkpoints.optimizer.rank, mine)


def test_after_a_drop_the_folder_has_another_owner(tmp_path):
    first, *others = Processes(without_the_owner, tmp_path, size=3).results(deadline=40)
    assert isinstance(first, Dead)
    assert others == [(0, True), (1, False)]


def takes(folder: Path, run: str, pipe) -> None:
    lock = lock_of(folder)
    pipe.send(lock is not None and lock.take(run))
    time.sleep(60)


@pytest.mark.parametrize(("run", "free"), [("a", True), ("b", False), ("", False)])
def test_another_process_of_the_same_run_is_no_other_training(tmp_path, run, free):
    mine, theirs = context.Pipe(duplex=False)
    holder = context.Process(target=takes, args=(tmp_path, "a", theirs), daemon=True)
    holder.start()
    assert mine.recv() == ""
    assert (lock_of(tmp_path).take(run) == "") == free
    holder.kill()
    holder.join()
    assert lock_of(tmp_path).take(run) == ""


def test_a_folder_where_nothing_can_be_written_needs_no_lock(tmp_path):
    (tmp_path / "file").touch()
    assert lock_of(tmp_path / "file") is None
