"""Schedules on processes: the very steps of the simulator, and who may set what."""

import copy
import warnings
from pathlib import Path

import pytest
import torch
from processes import on_ranks
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR, StepLR

import gossamer as gs
from gossamer.distributed import Checkpoints

PROBLEM, NETWORK, STEPS = gs.Quadratic(4, 3), gs.ring(4), 30
METHOD = gs.GTNSGDm(gs.WarmUp(gs.Cosine(0.1, 20), 5), momentum=lambda t: 0.5 + t / 100)


def made(method=METHOD, network=gs.ring) -> tuple[nn.Parameter, gs.DecentralizedOptimizer]:
    x = nn.Parameter(PROBLEM.start.clone())
    return x, gs.DecentralizedOptimizer([x], method, network)


def train(x: nn.Parameter, optimizer: gs.DecentralizedOptimizer, steps: int) -> None:
    for _ in range(steps):
        x.grad = PROBLEM.local_grad(x.detach().expand(4, 1, 3))[optimizer.rank, 0]
        optimizer.step()


def real_steps(rank: int) -> Tensor:
    x, optimizer = made(network=NETWORK)
    train(x, optimizer, STEPS)
    return x.detach()


def test_processes_equal_the_simulator():
    real = torch.stack(on_ranks(real_steps))
    run = gs.simulate(METHOD, PROBLEM, NETWORK, steps=STEPS)
    torch.testing.assert_close(real, run.x[:, 0], rtol=1e-12, atol=1e-12)


def test_param_groups_show_the_value_of_the_last_step():
    x, optimizer = made()
    shown = []
    for _ in range(7):
        train(x, optimizer, 1)
        shown.append(optimizer.param_groups[0]["lr"])
    assert shown == [METHOD.lr.at(t) for t in range(7)]


def test_a_state_dict_and_a_checkpoint_go_on_along_the_schedule(tmp_path: Path):
    x, optimizer = made()
    train(x, optimizer, 8)
    Checkpoints(tmp_path, optimizer, None).save()
    saved, start = copy.deepcopy(optimizer.state_dict()), x.detach().clone()
    train(x, optimizer, 5)
    twin, loaded = made()
    with torch.no_grad():
        twin.copy_(start)
    loaded.load_state_dict(saved)
    train(twin, loaded, 5)
    assert torch.equal(twin, x)
    third, resumed = made()
    Checkpoints(tmp_path, resumed, None).resume()
    train(third, resumed, 5)
    assert torch.equal(third, x)


COSINE = gs.Cosine(0.1, 10)


def resumed(folder: Path, lr, steps: int) -> tuple[gs.DecentralizedOptimizer, list[str]]:
    """Resume a run whose script asks for this lr, and go on; what it was warned of."""
    x, optimizer = made(gs.DSGD(lr))
    checkpoints = Checkpoints(folder, optimizer, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checkpoints.resume()
    train(x, optimizer, steps)
    checkpoints.save()
    return optimizer, [str(w.message) for w in caught]


def test_another_schedule_is_followed_from_the_step_of_the_checkpoint(tmp_path: Path):
    longer = gs.Cosine(0.1, 20)
    for lr, told in [(COSINE, []), (COSINE, [])]:
        assert resumed(tmp_path, lr, 4)[1] == told
    optimizer, told = resumed(tmp_path, longer, 1)
    assert told == [f"lr: {longer} is followed from here; the checkpoint's run had {COSINE}"]
    assert optimizer.param_groups[0]["lr"] == longer.at(8)


def test_a_number_after_a_schedule_is_replaced_by_name(tmp_path: Path):
    resumed(tmp_path, COSINE, 10)
    optimizer, (told,) = resumed(tmp_path, 0.05, 1)
    last = COSINE.at(9)
    assert told.startswith(f"lr: 0.05 was asked for; the checkpoint's {last} is used; set param_g")
    assert optimizer.param_groups[0]["lr"] == last


def test_a_schedule_after_a_number_is_followed_and_named(tmp_path: Path):
    resumed(tmp_path, 0.1, 2)
    optimizer, told = resumed(tmp_path, COSINE, 1)
    assert told == [f"lr: {COSINE} is followed from here; the checkpoint's run had 0.1"]
    assert optimizer.param_groups[0]["lr"] == COSINE.at(2)


@pytest.mark.parametrize(
    "scheduler",
    [
        lambda optimizer: LambdaLR(optimizer, lambda step: 0.5**step),
        lambda optimizer: StepLR(optimizer, 2),
        lambda optimizer: OneCycleLR(optimizer, 0.4, total_steps=10, cycle_momentum=False),
    ],
    ids=["LambdaLR", "StepLR", "OneCycleLR"],
)
def test_torchs_schedulers_may_not_drive_what_has_a_schedule(scheduler):
    x, optimizer = made()
    theirs = scheduler(optimizer)

    def train_and_schedule() -> None:
        for _ in range(4):
            train(x, optimizer, 1)
            theirs.step()

    with pytest.raises(gs.InvalidInput, match=r"lr: got .* in a param group, need .*WarmUp\(Cosi"):
        train_and_schedule()


def test_torchs_schedulers_drive_what_has_none():
    x, optimizer = made(gs.GTNSGDm(0.1, momentum=gs.Linear(0.5, 10, 0.9)))
    theirs = LambdaLR(optimizer, lambda step: 0.5**step)
    for t in range(4):
        before = x.detach().clone()
        train(x, optimizer, 1)
        moved = torch.linalg.vector_norm(x.detach() - before).item()
        assert moved == pytest.approx(0.1 * 0.5**t, rel=1e-12)
        theirs.step()


def test_groups_have_no_number_of_their_own_where_there_is_a_schedule():
    a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    groups = [{"params": [a]}, {"params": [b], "lr": 0.3}]
    optimizer = gs.DecentralizedOptimizer(groups, gs.DSGD(gs.Cosine(0.1, 10)), gs.ring)
    with pytest.raises(gs.InvalidInput, match=r"lr: got 0.3 in a param group"):
        optimizer.step()
