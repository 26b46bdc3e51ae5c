"""Work spread over executors: everything is done, whatever dies."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import torch
from processes import context

import gossamer as gs
from gossamer import executors
from gossamer.executors import ThisProcess, spread

METHODS = [gs.GTNSGDm, gs.DSGD(0.1)]
GRIDS = {gs.GTNSGDm: {"lr": [0.01, 0.1], "momentum": [0.5, 0.9]}}


def compare(executor, **how) -> gs.Comparison:
    task = {"noise": gs.StudentT(1.5), "steps": 100, "grids": GRIDS, "seeds": range(3)}
    return gs.compare(
        METHODS, gs.Quadratic(6, 4), gs.ring(6), executor=executor, progress=False, **task, **how
    )


def assert_same(one: gs.Comparison, other: gs.Comparison) -> None:
    for left, right in zip(one.entries, other.entries, strict=True):
        assert torch.equal(left.run.final(), right.run.final())
        assert left.run.hyperparameters == right.run.hyperparameters


def double(x: int) -> int:
    return 2 * x


def die_once(folder: Path, x: int) -> int:
    """The first to come kills its process."""
    try:
        (folder / "died").touch(exist_ok=False)
    except FileExistsError:
        return 2 * x
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def die(x: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return x


def test_everything_is_done_and_more_can_be_added():
    todo = deque(range(3))
    done = {}
    for item, result in spread(double, todo, ThisProcess()):
        done[item] = result
        if item == 0:
            todo.append(7)
    assert done == {0: 0, 1: 2, 2: 4, 7: 14}


def test_here_results_come_as_they_are_done():
    order = []

    def work(x: int) -> int:
        order.append(("work", x))
        return x

    for item, _ in spread(work, deque(range(2)), ThisProcess()):
        order.append(("taken", item))
    assert order == [("work", 0), ("taken", 0), ("work", 1), ("taken", 1)]


def test_an_error_is_raised_as_it_is():
    with pytest.raises(ZeroDivisionError):
        list(spread(lambda x: 1 // x, deque([0]), ThisProcess()))


def test_threads_of_the_user_are_an_executor():
    with ThreadPoolExecutor(2) as threads:
        assert_same(compare(threads), compare(ThisProcess()))


@pytest.mark.slow
def test_workers_compute_the_same_bits_and_one_that_dies_costs_its_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with gs.Workers(2) as workers:
        assert_same(compare(workers), compare(ThisProcess()))
    monkeypatch.setattr(executors, "get_context", lambda method: context)  # need not import torch
    with gs.Workers(2) as workers:
        again = dict(spread(partial(die_once, tmp_path), deque(range(4)), workers))
        assert again == {0: 0, 1: 2, 2: 4, 3: 6}
        monkeypatch.setattr(executors, "ATTEMPTS", 1)
        with pytest.raises(BrokenExecutor, match="terminated abruptly"):
            list(spread(die, deque([1]), workers))


def test_this_process_takes_over_from_an_executor_that_died(tmp_path: Path):
    with (
        ProcessPoolExecutor(1, context) as pool,
        pytest.warns(UserWarning, match="this process goes on"),
    ):
        assert dict(spread(partial(die_once, tmp_path), deque([1, 2]), pool)) == {1: 2, 2: 4}


def test_records_are_told_wherever_they_are_made():
    told: dict[str, list] = {}
    for name, executor in {"none": None, "here": ThisProcess()}.items():
        heard = told.setdefault(name, [])
        gs.simulate(
            gs.DSGD(0.1),
            gs.Quadratic(6, 4),
            gs.ring(6),
            steps=20,
            record_every=10,
            seeds=range(2),
            metrics=["error"],
            executor=executor,
            on_record=lambda one, heard=heard: heard.append(
                (one.algorithm.label, list(one.seeds), one.step, one.metrics["error"].shape)
            ),
        )
    assert told["none"] == [("DSGD", [0, 1], t, (2,)) for t in (0, 10, 20)]
    assert told["here"] == told["none"]


def test_a_comparison_that_is_interrupted_takes_no_more_steps():
    reached = {"DSGD": 0, "GT-DSGD": 0}

    def interrupt(one: gs.Recorded) -> None:
        reached[one.algorithm.label] = one.step
        if one.algorithm.label == "DSGD":
            raise KeyboardInterrupt

    methods, steps = [gs.DSGD(0.1), gs.GTDSGD(0.1)], 200_000
    task = {"steps": steps, "on_record": interrupt, "progress": False}
    with ThreadPoolExecutor(2) as threads:
        with pytest.raises(KeyboardInterrupt):
            gs.compare(methods, gs.Quadratic(6, 4), gs.ring(6), executor=threads, **task)
        assert reached["GT-DSGD"] < steps
        assert threads.submit(double, 2).result() == 4


def orphan(pipe: Connection) -> None:
    workers = gs.Workers(1)
    pipe.send(workers.submit(os.getpid).result())
    os.kill(os.getpid(), signal.SIGKILL)


def test_workers_end_with_their_parent():
    mine, theirs = context.Pipe(duplex=False)
    context.Process(target=orphan, args=(theirs,)).start()
    worker = mine.recv()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{worker}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_a_problem_that_was_changed_between_calls_is_another_one(tmp_path: Path):
    problem = gs.Quadratic(4, 2)
    task = {"network": gs.ring(4), "steps": 4, "metrics": ["error"]}
    with gs.Workers(1) as workers:
        first = gs.simulate(gs.DSGD(0.1), problem, executor=workers, **task)
        problem.start = first.x[:, 0].mean(0)
        second = gs.simulate(gs.DSGD(0.1), problem, executor=workers, store=tmp_path, **task)
    expected = gs.simulate(gs.DSGD(0.1), problem, **task).metrics["error"]
    torch.testing.assert_close(second.metrics["error"], expected, rtol=1e-12, atol=0)
    stored = gs.simulate(gs.DSGD(0.1), problem, store=tmp_path, **task)
    assert torch.equal(stored.metrics["error"], second.metrics["error"])


class Prepared(gs.Quadratic):
    """Notes how often it is prepared on workers, which are threads."""

    times = 0

    def expecting(self, steps: int) -> "Prepared":
        self.times += threading.current_thread().name.startswith("worker")
        return self


def test_a_worker_prepares_a_problem_once_for_all_methods_that_are_compared():
    problem = Prepared(6, 4)
    with ThreadPoolExecutor(1, "worker") as workers:
        for calls in (1, 2):
            gs.compare(METHODS, problem, gs.ring(6), executor=workers, steps=9, grids=GRIDS)
            assert problem.times == calls


UNGUARDED = """
import gossamer as gs

with gs.Workers(1) as workers:
    task = (gs.DSGD(0.1), gs.Quadratic(6, 4), gs.ring(6))
    gs.simulate(*task, steps=9, store="runs", executor=workers)
"""


@pytest.mark.slow
def test_a_worker_that_begins_the_work_itself_is_refused_and_waits_for_nobody(tmp_path: Path):
    (tmp_path / "unguarded.py").write_text(UNGUARDED)
    command = [sys.executable, "unguarded.py"]
    ended = subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=100)
    assert ended.returncode == 1
    assert 'put it below `if __name__ == "__main__":`' in ended.stderr


def simulated(store: Path) -> gs.Run:
    return gs.simulate(gs.DSGD(0.1), gs.Quadratic(6, 4), gs.ring(6), steps=9, store=store)


def test_forked_processes_do_not_hold_the_folder_of_a_store(tmp_path: Path):
    task = (gs.DSGD(0.1), gs.Quadratic(6, 4), gs.ring(6))
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        for seed in range(2):
            gs.simulate(*task, steps=9, seeds=seed, store=tmp_path, executor=pool)
            (folder,) = (path.parent for path in tmp_path.rglob(".lock"))
            with (folder / ".lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert pool.submit(simulated, tmp_path).result().diverged_at == -1


def test_a_problem_may_be_a_dataclass():
    run = gs.simulate(gs.DSGD(0.1), Centered(torch.ones(3, 1).double()), gs.ring(3), steps=50)
    torch.testing.assert_close(run.x, torch.ones(3, 1, 1).double(), atol=0.01, rtol=0)


@dataclass
class Centered(gs.Problem):
    """½ (x − c)², compared by its content, and so without a hash."""

    centers: torch.Tensor

    def __post_init__(self) -> None:
        (self.num_nodes, self.dim), self.start = self.centers.shape, torch.zeros(1).double()

    def local_loss(self, x: torch.Tensor) -> torch.Tensor:
        return (x - self.centers[:, None]).square().sum(-1) / 2

    def local_grad(self, x: torch.Tensor) -> torch.Tensor:
        return x - self.centers[:, None]

    def describe(self) -> dict:
        return {"name": "Centered"}
