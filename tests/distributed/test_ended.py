"""A run that has ended on a rank: the rank does not go on as if it were alone in the world."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from processes import Dead, Processes, hear_ctrl_c, on_ranks
from torch import nn

from gossamer.algorithms import DSGD, GTDSGD
from gossamer.distributed import (
    Checkpoints,
    DecentralizedOptimizer,
    Diverged,
    PeerFailure,
    read_nodes,
)
from gossamer.distributed.checkpoint import steps_of_node
from gossamer.errors import InvalidInput
from gossamer.networks import ring


def made(method: Any, **options: Any) -> tuple[DecentralizedOptimizer, nn.Parameter]:
    parameter = nn.Parameter(torch.zeros(3))
    return DecentralizedOptimizer([parameter], method, ring, timeout=5, **options), parameter


def refusals(calls: dict[str, Callable[[], Any]]) -> dict[str, str]:
    """What each call is refused with; those that are not refused are left out."""
    said = {}
    for name, call in calls.items():
        try:
            call()
        except InvalidInput as reason:
            said[name] = str(reason)
    return said


def after_a_death(rank: int, folder: Path) -> tuple[int, dict[str, str]]:
    optimizer, parameter = made(GTDSGD(lr=0.1))
    checkpoints = Checkpoints(folder, optimizer, None)

    def step() -> None:
        parameter.grad = parameter.detach() - rank
        optimizer.step()

    def average() -> None:
        with optimizer.averaged_parameters():
            pass

    with suppress(PeerFailure):
        while optimizer.steps < 100:
            step()
            if optimizer.steps == 10:
                checkpoints.save()
            if (rank, optimizer.steps) == (2, 15):
                os._exit(1)
    calls = {"step": step, "mean": optimizer.mean, "average": average, "save": checkpoints.save}
    assert "optimizer" not in refusals({"state_dict": optimizer.state_dict})
    return optimizer.rank, refusals(calls)


def test_after_a_death_nothing_is_averaged_or_saved_as_if_the_rank_were_alone(tmp_path):
    answers = Processes(after_a_death, tmp_path).results()
    assert isinstance(answers[2], Dead)
    for rank in (0, 1, 3):
        own, said = answers[rank]
        assert own == rank
        assert [*said] == ["step", "mean", "average", "save"]
        assert all("run has ended (rank" in words for words in said.values())
    assert [steps_of_node(tmp_path, node) for node in range(4)] == [[10]] * 4
    assert [record.step for record in read_nodes(tmp_path)] == [10] * 4


def after_leaving(rank: int) -> dict[str, str]:
    optimizer, _ = made(DSGD(lr=0.1))
    dist.destroy_process_group()
    assert optimizer.rank == rank
    return refusals({"mean": optimizer.mean, "consensus_error": optimizer.consensus_error})


def test_without_its_process_group_a_rank_is_not_alone():
    for said in on_ranks(after_leaving, size=2):
        assert [*said] == ["mean", "consensus_error"]
        assert "its process group was destroyed" in said["mean"]


def press() -> None:
    signal.raise_signal(signal.SIGINT)


class PressedIn(DSGD):
    """DSGD in whose third step somebody presses Ctrl-C, when neighbours have been told of it."""

    def step(self, t, x, grad, state, mix):
        mixed = super().step(t, x, grad, state, mix)
        if t == 2:
            press()
        return mixed


def broken_off(rank: int, folder: Path) -> dict[str, str]:
    hear_ctrl_c()
    optimizer, parameter = made(PressedIn(lr=0.1))
    checkpoints = Checkpoints(folder, optimizer, None)

    def step() -> None:
        parameter.grad = torch.ones(3)
        optimizer.step()

    step()
    step()
    with pytest.raises(KeyboardInterrupt):
        step()
    with pytest.warns(RuntimeWarning, match="step 2 was broken off .* its state may be half"):
        optimizer.state_dict()
    return refusals({"step": step, "mean": optimizer.mean, "save": checkpoints.save})


def test_a_step_that_was_broken_off_is_neither_saved_nor_taken_again(tmp_path):
    for said in on_ranks(broken_off, tmp_path):
        assert [*said] == ["step", "mean", "save"]
        assert all("step 2 was broken off by KeyboardInterrupt" in one for one in said.values())
    assert steps_of_node(tmp_path, 0) == []


def stopped_in_a_collective(rank: int) -> dict[str, str]:
    hear_ctrl_c()
    optimizer, _ = made(DSGD(lr=0.1))
    with pytest.raises(KeyboardInterrupt):
        optimizer.gather(press)
    optimizer.state_dict()
    return refusals({"mean": optimizer.mean})


def test_after_a_collective_that_was_broken_off_there_is_no_other():
    for said in on_ranks(stopped_in_a_collective, size=2):
        assert "a collective was broken off by KeyboardInterrupt" in said["mean"]


def test_a_process_that_is_alone_goes_on_after_a_divergence():
    parameter = nn.Parameter(torch.full((3,), 3e38))
    optimizer = DecentralizedOptimizer([parameter], DSGD(lr=1e3), ring)
    parameter.grad = torch.full((3,), -3e38)
    with pytest.raises(Diverged):
        optimizer.step()
    optimizer.param_groups[0]["lr"] = 0.1
    optimizer.step()
    assert optimizer.steps == 1
    assert torch.equal(optimizer.mean(), parameter)


def test_a_process_that_is_alone_goes_on_after_a_step_that_was_broken_off():
    parameter = nn.Parameter(torch.zeros(3))
    optimizer = DecentralizedOptimizer([parameter], PressedIn(lr=0.1), ring)
    parameter.grad = torch.ones(3)
    optimizer.step()
    optimizer.step()
    with pytest.raises(KeyboardInterrupt):
        optimizer.step()
    assert optimizer.state_dict()["node"] == 0
    assert optimizer.steps == 2


def saved_unequally(rank: int, folder: Path) -> tuple[str, int]:
    optimizer, parameter = made(GTDSGD(lr=0.1), wait=False)
    checkpoints = Checkpoints(folder, optimizer, None)
    checkpoints.save()
    for _ in range(2 if rank == 2 else 1):
        parameter.grad = torch.ones(3)
        optimizer.step()
    return refusals({"save": checkpoints.save})["save"], checkpoints.resume()


def test_ranks_apart_save_nothing_but_may_go_back(tmp_path):
    ((said, step),) = {*on_ranks(saved_unequally, tmp_path)}
    assert "ranks 0, 1, 3 have step 1, rank 2 has step 2" in said
    assert step == 0
    assert [steps_of_node(tmp_path, node) for node in range(4)] == [[0]] * 4
