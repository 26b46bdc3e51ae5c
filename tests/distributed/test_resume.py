"""What may be resumed as which run: nothing is loaded silently into what it does not belong to."""

import os
import resource
import shutil
import signal
import warnings
from collections import deque
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
import torch
from processes import Processes, context, on_ranks
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR, LambdaLR

from gossamer.algorithms import DSGD, GTNSGDm
from gossamer.distributed import Checkpoints, DecentralizedOptimizer
from gossamer.distributed.checkpoint import node_file, read_node, read_nodes, step_folder
from gossamer.distributed.packs import pack, unpack
from gossamer.errors import InvalidInput
from gossamer.networks import complete, ring

METHOD = GTNSGDm(lr=0.1, momentum=0.8)


def checkpoints_of(params, folder: Path, model=None, method=METHOD, **extras) -> Checkpoints:
    return Checkpoints(folder, DecentralizedOptimizer(params, method, ring), model, **extras)


def advance(checkpoints: Checkpoints, steps: int) -> None:
    for _ in range(steps):
        checkpoints.optimizer.step()
        checkpoints.save()


# ---------------------------------------------------------------------- the same parameters


def two_layers() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))


def groups_of(model: nn.Sequential, order: tuple[int, int]) -> list[dict]:
    return [{"params": [model[k].weight]} for k in order]


def test_parameters_in_another_order_are_refused_by_name(tmp_path):
    model = two_layers()
    advance(checkpoints_of(groups_of(model, (0, 1)), tmp_path, model), 2)
    fresh = two_layers()
    before = fresh[0].weight.clone()
    with pytest.raises(InvalidInput) as caught:
        checkpoints_of(groups_of(fresh, (1, 0)), tmp_path, fresh).resume()
    need = "got 0.weight of shape [3, 3] at step 2, need 1.weight of shape [3, 3]"
    assert need in str(caught.value)
    assert "give the optimizer the parameters that were trained then, in the same" in str(
        caught.value
    )
    assert torch.equal(fresh[0].weight, before)


@pytest.mark.parametrize("named", [True, False])
def test_another_architecture_with_as_many_parameters_is_refused(tmp_path, named):
    """6 numbers as 2 × 3 and as 3 × 2, whether the optimizer was told names or not."""
    first, second = nn.Linear(3, 2, bias=False), nn.Linear(2, 3, bias=False)
    listed = nn.Module.named_parameters if named else nn.Module.parameters
    advance(checkpoints_of(listed(first), tmp_path), 2)
    name = "weight" if named else "parameter_0"
    words = rf"got {name} of shape \[2, 3\] at step 2, need {name} of shape \[3, 2\]"
    with pytest.raises(InvalidInput, match=words):
        checkpoints_of(listed(second), tmp_path).resume()


def test_who_begins_frozen_does_not_go_back_behind_the_unfreezing(tmp_path):
    model = two_layers()
    model[1].requires_grad_(False)
    checkpoints = checkpoints_of(model.parameters(), tmp_path, model)
    advance(checkpoints, 1)
    model[1].requires_grad_(True)
    advance(checkpoints, 1)
    fresh = two_layers()
    fresh[1].requires_grad_(False)
    with pytest.raises(InvalidInput, match=r"got step 2 with other parameters \(1\.weight of") as e:
        checkpoints_of(fresh.parameters(), tmp_path, fresh).resume()
    assert "need no newer step than 1" in str(e.value)
    fresh[1].requires_grad_(True)
    with pytest.warns(RuntimeWarning, match="passed over: .* no more parameters at step 1"):
        assert checkpoints_of(fresh.parameters(), tmp_path, fresh).resume() == 2


# ---------------------------------------------------------------------- the same nodes


def small(folder: Path) -> Checkpoints:
    parameter = nn.Parameter(torch.zeros(2))
    return Checkpoints(folder, DecentralizedOptimizer([parameter], DSGD(lr=0.1), complete), None)


def test_the_average_is_not_saved_as_the_state_of_a_node(tmp_path):
    checkpoints = small(tmp_path)
    refused = pytest.raises(InvalidInput, match=r"save: got a call inside averaged_parameters\(\)")
    with checkpoints.optimizer.averaged_parameters(), refused:
        checkpoints.save()
    checkpoints.save()


def save_some(rank: int, folder: Path, steps: int, local: bool) -> None:
    advance(small(folder / str(rank) if local else folder), steps)


def resume(rank: int, folder: Path, local: bool) -> tuple[int, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        step = small(folder / str(rank) if local else folder).resume()
    return step, [str(w.message) for w in caught]


def refusals(folder: Path, local: bool, size: int) -> set[str]:
    answers = Processes(resume, folder, local, size=size).results()
    assert {type(answer.error) for answer in answers} == {InvalidInput}
    return {str(answer.error) for answer in answers}


@pytest.mark.parametrize("steps", [1, 3])
def test_a_rank_that_has_lost_its_files_is_named_by_all(tmp_path, steps):
    on_ranks(save_some, tmp_path, steps, True, size=3)
    shutil.rmtree(tmp_path / "2")
    (said,) = refusals(tmp_path, local=True, size=3)
    where = f"ranks 0, 1 have step {steps}, rank 2 has no checkpoint in {tmp_path / '2'}"
    assert f"no step that all ranks can resume; {where}; restore its folder" in said


def test_two_steps_show_that_one_was_complete_where_no_mark_says_so(tmp_path):
    """Earlier versions wrote no marks."""
    on_ranks(save_some, tmp_path, 2, True, size=2)
    for mark in tmp_path.glob("*/step-*/*.complete"):
        mark.unlink()
    shutil.rmtree(tmp_path / "1")
    (said,) = refusals(tmp_path, local=True, size=2)
    assert f"rank 0 has step 2, rank 1 has no checkpoint in {tmp_path / '1'}; restore" in said


def test_a_run_that_was_killed_in_its_first_save_begins_anew(tmp_path):
    """Rank 1 had not written, so nobody knows that all had."""
    on_ranks(save_some, tmp_path, 1, False, size=2)
    for path in [*tmp_path.glob("step-*/*.complete"), node_file(tmp_path, 1, 1)]:
        path.unlink()
    (first, warned), (second, silent) = on_ranks(resume, tmp_path, False, size=2)
    assert (first, second, silent) == (0, 0, [])
    assert "rank 0 has step 1, rank 1 has no checkpoint in" in warned[0]


def with_one_file_of_another_save(folder: Path, steps: int) -> None:
    """Rank 0 was killed before the last save was complete, and in its second attempt after it."""
    on_ranks(save_some, folder, steps, False, size=2)
    newest = node_file(folder, steps, 0)
    first = newest.read_bytes()
    shutil.rmtree(step_folder(folder, steps))
    on_ranks(save_some_more, folder, size=2)
    newest.write_bytes(first)


def save_some_more(rank: int, folder: Path) -> None:
    checkpoints = small(folder)
    checkpoints.resume()
    advance(checkpoints, 1)


def test_files_of_one_step_from_two_saves_are_no_checkpoint(tmp_path):
    with_one_file_of_another_save(tmp_path, steps=2)
    assert on_ranks(resume, tmp_path, False, size=2) == [(1, []), (1, [])]
    assert {record.step for record in read_nodes(tmp_path)} == {1}
    with pytest.raises(InvalidInput, match=r"got .*node-1.*, need a file from the same save"):
        read_nodes(tmp_path, step=2)


def test_a_first_save_that_was_killed_twice_is_passed_over(tmp_path):
    with_one_file_of_another_save(tmp_path, steps=1)
    for mark in tmp_path.glob("step-*/*.complete"):
        mark.unlink()
    for step, (said,) in on_ranks(resume, tmp_path, False, size=2):
        assert step == 0
        assert said.endswith("no save of all ranks; all have step 1, but from different saves")


def test_another_number_of_processes_is_told_the_right_one(tmp_path):
    on_ranks(save_some, tmp_path, 1, False, size=3)
    for size in (2, 4):
        (said,) = refusals(tmp_path, local=False, size=size)
        assert said.endswith("; start 3 processes, or save to another folder")


# ---------------------------------------------------------------------- hyper-parameters


def warnings_of(folder: Path, lr: float, steps: int, factor: float = 1.0) -> list[str]:
    """Resume a run whose script asks for this lr, and go on under a scheduler."""
    params = [nn.Parameter(torch.ones(2))]
    optimizer = DecentralizedOptimizer(params, DSGD(lr=lr), ring)
    scheduler = ExponentialLR(optimizer, factor)
    checkpoints = Checkpoints(folder, optimizer, None, scheduler=scheduler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checkpoints.resume()
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
    checkpoints.save()
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


def test_a_hyperparameter_that_the_checkpoint_replaces_is_named(tmp_path):
    assert warnings_of(tmp_path, 0.1, steps=2) == []
    assert warnings_of(tmp_path, 0.1, steps=2) == []
    assert warnings_of(tmp_path, 0.001, steps=2) == [
        "lr: 0.001 was asked for; the checkpoint's 0.1 is used; "
        "set param_groups after resume() to change it"
    ]


def test_what_a_scheduler_has_changed_is_no_reason_to_warn(tmp_path):
    assert warnings_of(tmp_path, 0.1, steps=2, factor=0.5) == []
    assert warnings_of(tmp_path, 0.1, steps=2, factor=0.5) == []
    (said,) = warnings_of(tmp_path, 0.2, steps=2, factor=0.5)
    assert said.startswith("lr: 0.2 was asked for; the checkpoint's 0.00625 is used")


def test_a_checkpoint_that_does_not_know_what_was_asked_for_is_resumed(tmp_path, monkeypatch):
    forget = lambda live: pack({name: z for name, z in live.items() if name != "asked"})  # noqa: E731
    monkeypatch.setattr("gossamer.distributed.resume.pack", forget)
    assert warnings_of(tmp_path, 0.1, steps=2) == []
    assert warnings_of(tmp_path, 0.2, steps=0) == []


def test_later_steps_of_a_run_that_was_not_resumed_are_named(tmp_path):
    """`resume` and `export` would take them for the newest of this run."""
    advance(small(tmp_path), 3)
    again = small(tmp_path)
    with pytest.warns(RuntimeWarning, match=r"holds step 3 of an earlier run, which was not res"):
        advance(again, 1)
    with warnings.catch_warnings(action="error"):
        advance(again, 1)
        resumed = small(tmp_path)
        assert resumed.resume() == 3
        advance(resumed, 1)


def test_every_param_group_is_compared_by_itself(tmp_path):
    def resumed(lr: float) -> Checkpoints:
        groups = [{"params": [nn.Parameter(torch.zeros(1))], "lr": k} for k in (0.1, lr)]
        checkpoints = checkpoints_of(groups, tmp_path)
        checkpoints.resume()
        return checkpoints

    advance(resumed(0.2), 1)
    with pytest.warns(RuntimeWarning, match=r"^lr of param group 1: 0\.3 was asked for; .* 0\.2"):
        resumed(0.3)


# ---------------------------------------------------------------------- the same optimizer


def of_another_shape(folder: Path) -> Checkpoints:
    return checkpoints_of([nn.Parameter(torch.ones(3))], folder)


def test_a_second_optimizer_does_not_overwrite_the_checkpoints_of_the_first(tmp_path):
    first, second = small(tmp_path), of_another_shape(tmp_path)
    advance(first, 2)
    kept = node_file(tmp_path, 2, 0).read_bytes()
    with pytest.raises(InvalidInput, match=r"^folder: got .*, where another optimizer of this pr"):
        advance(second, 1)
    assert node_file(tmp_path, 2, 0).read_bytes() == kept
    advance(first, 1)
    advance(of_another_shape(tmp_path / "of its own"), 1)


@pytest.mark.parametrize("steps", [0, 1])
def test_two_optimizers_do_not_begin_with_the_same_checkpoints(tmp_path, steps):
    """Else the second would have the parameters of the first, where their shapes are equal."""
    advance(small(tmp_path), steps)
    first, second = small(tmp_path), small(tmp_path)
    assert first.resume() == steps
    with pytest.raises(
        InvalidInput, match=r"^folder: got .*, need a folder for each; e\.g\. .*/a a"
    ):
        second.resume()


def test_who_has_gone_on_from_the_checkpoints_of_another_saves_beside_them(tmp_path):
    first, second = small(tmp_path), small(tmp_path)
    advance(first, 1)
    assert second.resume() == 1
    advance(second, 1)
    advance(first, 1)


def test_the_folder_of_an_optimizer_that_is_gone_is_free(tmp_path):
    advance(small(tmp_path), 1)
    advance(of_another_shape(tmp_path), 1)


# ---------------------------------------------------------------------- what can be read back


class Extra:
    def __init__(self, value):
        self.value = value

    def state_dict(self):
        return {"nested": [1, {"value": self.value}]}

    def load_state_dict(self, state):
        self.value = state["nested"][1]["value"]


@pytest.mark.parametrize(
    "value", [Path("log"), deque([1]), datetime(2020, 1, 1), np.zeros(2), lambda: 0]
)
def test_an_extra_that_could_not_be_resumed_is_refused_at_the_first_save(tmp_path, value):
    checkpoints = checkpoints_of([nn.Parameter(torch.zeros(1))], tmp_path, s=Extra(value))
    words = f"extras: 's' holds {type(value).__name__}; use numbers, strings, lists, dictionaries"
    with pytest.raises(InvalidInput, match=words):
        checkpoints.save()
    assert not list(tmp_path.glob("step-*"))


def test_an_extra_without_a_state_dict_is_refused_at_once(tmp_path):
    words = "data: got Generator, need an object with state_dict .*; a MinibatchSampler, for"
    with pytest.raises(InvalidInput, match=words):
        checkpoints_of([nn.Parameter(torch.zeros(1))], tmp_path, data=torch.Generator())


def test_a_hyperparameter_that_could_not_be_resumed_is_refused(tmp_path):
    checkpoints = checkpoints_of([nn.Parameter(torch.zeros(1))], tmp_path)
    checkpoints.optimizer.param_groups[0]["log"] = Path("log")
    with pytest.raises(InvalidInput, match="param_groups: 'log' holds PosixPath"):
        checkpoints.save()


def test_a_schedule_of_numpys_numbers_is_saved_and_resumed(tmp_path):
    def trained() -> tuple[DecentralizedOptimizer, LambdaLR, Checkpoints]:
        optimizer = DecentralizedOptimizer([nn.Parameter(torch.zeros(1))], DSGD(lr=0.1), ring)
        scheduler = LambdaLR(optimizer, lambda t: np.cos(t / 9))
        return optimizer, scheduler, Checkpoints(tmp_path, optimizer, None, scheduler=scheduler)

    optimizer, scheduler, checkpoints = trained()
    optimizer.step()
    scheduler.step()
    checkpoints.save()
    optimizer, scheduler, checkpoints = trained()
    assert checkpoints.resume() == 1
    assert optimizer.param_groups[0]["lr"] == scheduler.get_last_lr()[0] == 0.1 * np.cos(1 / 9)


def test_what_can_be_read_back_is_saved(tmp_path):
    value = {"tensor": torch.ones(2), "set": {1}, "text": "a", "number": 1.5, "none": None}
    advance(checkpoints_of([nn.Parameter(torch.zeros(1))], tmp_path, s=Extra(value)), 1)
    assert unpack(read_node(tmp_path, 1, 0).tensors["resume"])["extras"]["s"]["nested"][0] == 1


# ---------------------------------------------------------------------- what a kill leaves


def killed_in_a_save(folder: Path) -> None:
    """The limit on the size of files, by which the system kills, hits in the middle of one."""
    torch.set_num_threads(1)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    checkpoints = checkpoints_of([nn.Parameter(torch.zeros(100_000))], folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    advance(checkpoints, 1)
    os._exit(0)


def test_what_a_kill_in_the_middle_of_a_save_leaves_is_deleted(tmp_path):
    process = context.Process(target=killed_in_a_save, args=(tmp_path,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGXFSZ
    (left,) = step_folder(tmp_path, 1).iterdir()
    assert left.name.startswith(".node-0.safetensors.")
    assert left.name.endswith(".partial")
    others = left.with_name(left.name.replace("node-0", "node-1"))
    others.touch()
    checkpoints = checkpoints_of([nn.Parameter(torch.zeros(3))], tmp_path)
    checkpoints.optimizer.step()
    advance(checkpoints, 1)
    assert not left.exists()
    assert others.exists()
