"""Checkpoints resume a run bit for bit and survive damage."""

import random
import resource
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from processes import on_ranks
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR

from gossamer.algorithms import DSGD, GTNSGDm
from gossamer.distributed import Checkpoints, DecentralizedOptimizer, MinibatchSampler, export
from gossamer.distributed.checkpoint import (
    node_file,
    read_node,
    read_nodes,
    steps_of_node,
    write_node,
)
from gossamer.errors import InvalidInput
from gossamer.networks import ring

METHOD = GTNSGDm(lr=0.1, momentum=0.8)
DATA = torch.randn(64, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


class Trainer:
    """A run whose every source of change is to be resumed: data order, three RNGs, a schedule."""

    def __init__(self, rank: int, folder: Path, method=METHOD):
        torch.manual_seed(rank), np.random.seed(rank), random.seed(rank)
        self.model = nn.Sequential(nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, 1)).double()
        named = self.model.named_parameters()
        self.optimizer = DecentralizedOptimizer(named, method, ring)
        self.scheduler = OneCycleLR(self.optimizer, 0.2, total_steps=40, cycle_momentum=False)
        self.sampler = MinibatchSampler(64, 4, num_nodes=4, node=rank)
        extras = {"scheduler": self.scheduler, "sampler": self.sampler}
        self.checkpoints = Checkpoints(folder, self.optimizer, self.model, **extras)

    def run_to(self, end: int) -> Tensor:
        while self.optimizer.steps < end:
            noise = torch.rand(()) + np.random.rand() + random.random()
            self.optimizer.zero_grad()
            (self.model(DATA[next(self.sampler)]) - noise).square().mean().backward()
            self.optimizer.step()
            self.scheduler.step()
            if self.optimizer.steps % 5 == 0:
                self.checkpoints.save()
        return self.optimizer.x.clone()

    def resume(self) -> tuple[int, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            step = self.checkpoints.resume()
        assert all(w.filename == __file__ for w in caught)
        return step, [str(w.message) for w in caught]


def damage(rank: int, folder: Path) -> None:
    """Rank 0's newest file has another byte in a tensor, rank 1's is cut, rank 2's is not ours,
    rank 3 is a step ahead of the others."""
    newest = node_file(folder, 20, rank)
    if rank == 0:
        flip(newest, newest.stat().st_size - 3)
    if rank == 1:
        newest.write_bytes(newest.read_bytes()[:-100])
    if rank == 2:
        save_file({"x": torch.zeros(3)}, newest)
    if rank == 3:
        record = read_node(folder, 20, rank)
        write_node(folder, type(record)(**{**vars(record), "step": 25}))


def flip(path: Path, place: int) -> None:
    """Another byte at one place of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << place % 8
    path.write_bytes(content)


def refused(attempt: Callable[[], object]) -> str:
    with pytest.raises(InvalidInput) as caught:
        attempt()
    return str(caught.value)


def two_groups(rank: int, folder: Path) -> tuple[list[str], float]:
    """Ranks 0, 2 and ranks 1, 3, as two runs in one folder: each goes on with its own numbers."""
    pairs = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    torch.manual_seed(rank)
    optimizer = DecentralizedOptimizer(
        [nn.Parameter(torch.ones(3))], METHOD, ring, process_group=pairs[rank % 2]
    )
    checkpoints = Checkpoints(folder, optimizer, None)
    optimizer.step()
    checkpoints.save()
    drawn = float(torch.rand(()))
    torch.manual_seed(7)
    assert checkpoints.resume() == 1
    assert float(torch.rand(())) == drawn
    dist.barrier()
    return sorted(path.name for path in folder.iterdir()), drawn


def train_and_resume(rank: int, folder: Path) -> dict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = Trainer(rank, folder / "whole")
        final = {"whole": whole.run_to(25)}
        Trainer(rank, folder / "cut").run_to(20)
    kept = steps_of_node(folder / "cut", rank)
    other = refused(Trainer(rank, folder / "cut", DSGD(lr=0.1)).resume)
    fresh = Trainer(rank, folder / "cut")
    newest = fresh.resume()
    final["resumed at 20"] = fresh.run_to(25)
    bytes_sent = whole.optimizer.bytes_sent, fresh.optimizer.bytes_sent
    shutil.rmtree(folder / "cut" / "step-00000025", ignore_errors=True)
    Trainer(rank, folder / "damaged").run_to(20)
    damage(rank, folder / "damaged")
    fresh = Trainer(rank, folder / "damaged")
    older = fresh.resume()
    final["resumed at 15"] = fresh.run_to(25)
    empty = Trainer(rank, folder / "nothing here").resume()
    groups, drawn = two_groups(rank, folder / "groups")
    return locals() | {"fresh": None, "whole": None}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def results(folder) -> list[dict]:
    return on_ranks(train_and_resume, folder)


def test_a_resumed_run_equals_the_uninterrupted_one_bit_for_bit(results):
    for rank in range(4):
        final = results[rank]["final"]
        assert torch.equal(final["resumed at 20"], final["whole"])
        assert torch.equal(final["resumed at 15"], final["whole"])


def test_bytes_sent_before_a_resume_count(results):
    """25 steps of two messages of 22 numbers to two neighbours."""
    for rank in range(4):
        assert results[rank]["bytes_sent"] == (25 * 2 * 2 * 22 * 8,) * 2


def test_two_are_kept_and_the_newest_is_taken(results):
    for rank in range(4):
        assert results[rank]["kept"] == [15, 20]
        assert results[rank]["newest"] == (20, [])
        assert results[rank]["empty"] == (0, [])


def test_a_damaged_newest_step_falls_back_to_the_older_on_all_ranks(results):
    assert [results[rank]["older"][0] for rank in range(4)] == [15] * 4
    for rank, word in ((0, "is damaged"), (1, "is damaged"), (2, "is damaged")):
        assert f"step-00000020/node-{rank}.safetensors {word}" in results[rank]["older"][1][0]
        assert "take an older step, or delete this file" in results[rank]["older"][1][0]
    assert results[3]["older"][1] == []


def test_the_checkpoint_of_another_method_is_refused_on_all_ranks(results):
    for rank in range(4):
        assert "no step that all ranks can resume; rank 0: " in results[rank]["other"]
        assert "'GTNSGDm', 4, 22" in results[rank]["other"]
        assert "'DSGD', 4, 22" in results[rank]["other"]
        assert "save to another folder" in results[rank]["other"]


def test_groups_have_folders_and_random_numbers_of_their_own(results):
    for rank in range(4):
        assert results[rank]["groups"] == ["ranks-0-2", "ranks-1-3"]
    assert len({results[rank]["drawn"] for rank in range(4)}) == 4


def test_export_of_a_node_and_of_the_average(results, folder, tmp_path):
    model = nn.Sequential(nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, 1)).double()
    xs = torch.stack([results[rank]["final"]["whole"] for rank in range(4)])
    for node, expected in ((2, xs[2]), (None, xs.mean(0))):
        export(folder / "whole", tmp_path / "model.safetensors", node=node)
        model.load_state_dict(load_file(tmp_path / "model.safetensors"))
        assert torch.equal(nn.utils.parameters_to_vector(model.parameters()), expected)


def alone(method, folder: Path, steps: int, params=None, model=None, **extras) -> Checkpoints:
    params = params or [nn.Parameter(torch.zeros(3))]
    optimizer = DecentralizedOptimizer(params, method, ring)
    checkpoints = Checkpoints(folder, optimizer, model, **extras)
    for _ in range(steps):
        optimizer.step()
        checkpoints.save()
    return checkpoints


@pytest.mark.filterwarnings("ignore:passed over")
def test_a_run_keeps_its_checkpoints_beside_the_later_ones_of_another(tmp_path):
    alone(DSGD(lr=0.1), tmp_path, steps=9)
    with pytest.warns(RuntimeWarning, match="holds step 9 of an earlier run"):
        alone(METHOD, tmp_path, steps=4)
    assert steps_of_node(tmp_path, 0) == [3, 4, 8, 9]
    assert alone(METHOD, tmp_path, steps=0).resume() == 4


def test_other_extras_or_param_groups_are_refused_before_anything_is_loaded(tmp_path):
    alone(METHOD, tmp_path, steps=2)
    sampler = MinibatchSampler(8, 2, num_nodes=1, node=0)
    frozen = nn.Parameter(torch.zeros(1), requires_grad=False)
    groups = [{"params": [p]} for p in (nn.Parameter(torch.zeros(3)), frozen)]
    for fresh in (
        alone(METHOD, tmp_path, steps=0, sampler=sampler),
        alone(METHOD, tmp_path, steps=0, params=groups),
    ):
        with pytest.raises(InvalidInput, match=r"1 param groups and extras .* at step 2, need"):
            fresh.resume()
        assert fresh.optimizer.steps == 0


class Tied(nn.Module):
    """A frozen layer, running statistics, an output layer tied to the input, a trained head."""

    def __init__(self):
        super().__init__()
        self.embed, self.output = nn.Linear(4, 4), nn.Linear(4, 4)
        self.output.weight = self.embed.weight
        self.frozen, self.norm = nn.Linear(4, 4).requires_grad_(False), nn.BatchNorm1d(4)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.norm(self.frozen(self.embed(x))))


def train_tied(rank: int, folder: Path) -> dict[str, Tensor]:
    torch.manual_seed(rank)
    model = Tied().double()
    optimizer = DecentralizedOptimizer(model.parameters(), METHOD, ring)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(8, 4).double()).square().mean().backward()
        optimizer.step()
    Checkpoints(folder, optimizer, model).save()
    held = {name: z.clone() for name, z in model.state_dict().items()}
    fresh = Tied().double()
    Checkpoints(folder, DecentralizedOptimizer(fresh.parameters(), METHOD, ring), fresh).resume()
    for name, z in fresh.state_dict().items():
        assert torch.equal(z, held[name]), name
    return held


def test_an_export_loads_strictly_into_a_model_with_frozen_tied_and_counted_tensors(tmp_path):
    nodes = on_ranks(train_tied, tmp_path, size=2)
    model, path = Tied().double(), tmp_path / "model.safetensors"
    for node, pick in ((None, lambda a, b: (a + b) / 2), (1, lambda a, b: b)):
        export(tmp_path, path, node)
        assert not any(model.load_state_dict(load_file(path), strict=True))
        assert model.output.weight is model.embed.weight
        for name, z in model.state_dict().items():
            expected = pick(nodes[0][name].double(), nodes[1][name].double())
            torch.testing.assert_close(z.double(), expected, rtol=0, atol=1e-12)
    assert not torch.equal(nodes[0]["norm.running_mean"], nodes[1]["norm.running_mean"])


def test_a_model_with_other_buffers_or_without_the_parameters_is_refused(tmp_path):
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    alone(METHOD, tmp_path, steps=1, params=list(model.parameters()), model=model)
    fresh = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, track_running_stats=False))
    with pytest.raises(InvalidInput, match=r"1\.running_mean.* need no ones; resume with what"):
        alone(METHOD, tmp_path, 0, params=list(fresh.parameters()), model=fresh).resume()
    with pytest.raises(InvalidInput, match=r"one without parameters of shapes \[\(3,\)\]"):
        alone(METHOD, tmp_path, 0, model=model)


def test_a_flipped_byte_anywhere_is_refused_by_name(tmp_path):
    """Forty places: the first bytes, and others by chance; the soak tries hundreds."""
    alone(METHOD, tmp_path, steps=1)
    path = node_file(tmp_path, 1, 0)
    content = path.read_bytes()
    draw = random.Random(0)
    for place in [*range(10), *(draw.randrange(len(content)) for _ in range(30))]:
        path.write_bytes(content)
        flip(path, place)
        with pytest.raises(InvalidInput, match=r"step-00000001/node-0\.safetensors .*delete this"):
            read_node(tmp_path, 1, 0)
    path.write_bytes(content)
    assert read_node(tmp_path, 1, 0).step == 1


def test_files_can_be_read_by_whom_the_umask_lets(tmp_path):
    (tmp_path / "plain").touch()
    alone(METHOD, tmp_path, steps=1)
    export(tmp_path, tmp_path / "model.safetensors")
    for path in (node_file(tmp_path, 1, 0), tmp_path / "model.safetensors"):
        assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_a_kill_left_half_written_goes_with_its_step(tmp_path):
    left = node_file(tmp_path, 1, 0).with_name(".node-0.safetensors.123.partial")
    left.parent.mkdir()
    left.touch()
    alone(METHOD, tmp_path, steps=3)
    assert sorted(tmp_path.glob("step-*")) == [node_file(tmp_path, k, 0).parent for k in (2, 3)]


def test_an_old_step_that_cannot_be_deleted_stays_and_the_run_goes_on(tmp_path):
    kept = node_file(tmp_path, 1, 0).with_name("node-0.kept")
    kept.mkdir(parents=True)
    alone(METHOD, tmp_path, steps=4)
    assert kept.exists()
    assert steps_of_node(tmp_path, 0) == [3, 4]


def test_a_folder_that_cannot_be_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        InvalidInput, match=r"folder: cannot write to .*file/runs \(Not a directory"
    ):
        alone(METHOD, tmp_path / "file" / "runs", steps=0)


def test_an_export_is_of_the_step_that_is_asked_for(tmp_path):
    path = tmp_path / "model.safetensors"
    alone(METHOD, tmp_path, steps=3)
    for step in (2, 3):
        export(tmp_path, path, step=step)
        with safe_open(path, framework="pt") as file:
            assert file.metadata()["step"] == str(step)


def test_an_export_of_a_node_that_is_not_there_is_refused(tmp_path):
    alone(METHOD, tmp_path, steps=1)
    with pytest.raises(InvalidInput, match=r"node: got 1, need None .* \[0, 0\]"):
        export(tmp_path, tmp_path / "model.safetensors", node=1)


def test_an_export_without_a_complete_step_says_why(tmp_path):
    with pytest.raises(InvalidInput, match="no complete step"):
        export(tmp_path, tmp_path / "model.safetensors")


def with_a_full_disk(rank: int, folder: Path) -> tuple[str, list[int], int]:
    """Rank 1 has no room for its second file, and its third has room again."""
    parameter = nn.Parameter(torch.zeros(10_000))
    optimizer = DecentralizedOptimizer([parameter], METHOD, ring, timeout=10.0)
    checkpoints, said = Checkpoints(folder, optimizer, None), ""
    for room in (True, False, True):
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard if room or rank != 1 else 1000, hard))
        optimizer.step()
        try:
            checkpoints.save()
        except OSError as reason:
            said = str(reason)
            kept = [record.step for record in read_nodes(folder)]
    return said, kept, read_nodes(folder)[rank].step


def test_a_full_disk_on_one_rank_is_an_error_on_all_and_they_can_go_on(tmp_path):
    for said, kept, last in on_ranks(with_a_full_disk, tmp_path, size=3):
        assert "rank 1: File too large" in said
        assert (kept, last) == ([1, 1, 1], 3)
    assert sorted(path.name for path in tmp_path.glob("step-*")) == [
        "step-00000001",
        "step-00000003",
    ]
