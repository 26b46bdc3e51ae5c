"""Messages that travel while the gradient is computed: the same steps, to the bit."""

from concurrent.futures import wait
from contextlib import suppress
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from processes import on_ranks
from torch import Tensor, nn

from gossamer.algorithms import (
    ALGORITHMS,
    Algorithm,
    DIGing,
    DSGDGClip,
    GTAdam,
    GTNSGDm,
    PushSum,
)
from gossamer.distributed import DecentralizedOptimizer
from gossamer.distributed.ahead import Faster
from gossamer.errors import InvalidInput
from gossamer.networks import (
    Network,
    TopK,
    one_peer_exponential,
    random_digraph,
    random_matching,
    ring,
)

DIM, STEPS = 7, 6
GT = GTNSGDm(lr=0.1, momentum=0.8, order="combine-then-adapt")
CLIPPED = DSGDGClip(lr=0.1, clip=1.0, order="combine-then-adapt")
RUNS: list[tuple[Algorithm, Network, torch.dtype | None, int]] = [
    (GT, ring(4), None, 2),
    (GT, ring(4), torch.bfloat16, 2),
    (GT, one_peer_exponential(4), None, 2),
    (GT, ring(4).every(3), None, 2),
    (GT, ring(4).accelerated(2), None, 2),
    (GT, ring(4).compressed(TopK(0.3)), None, 2),
    (GT, random_digraph(4, degree=2).drops(0.3), None, 2),
    (GT, random_matching(4).every(2), None, 2),
    (CLIPPED, ring(4), torch.bfloat16, 1),
    (DIGing(lr=0.1), ring(4).drops(0.3), None, 2),
    (GTAdam(lr=0.1), ring(4), None, 2),
    (PushSum(GT), random_digraph(4, degree=2), None, 2),  # the tracker and the weight
]
"""With how many mixes of a step are known before its gradient."""


class Training:
    """A node that minimizes ‖x − c‖²/2, c its own, and draws no random number of torch's."""

    def __init__(self, rank: int, method: Algorithm, network: Network, **options):
        self.x = nn.Parameter(torch.zeros(DIM))
        self.center = torch.linspace(-rank, 1 + rank, DIM)
        self.optimizer = DecentralizedOptimizer([self.x], method, network, **options)

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.x.grad = self.x.detach() - self.center
            self.optimizer.step()

    @property
    def end(self) -> list[Tensor]:
        links = [z for _, z in sorted(self.optimizer.links.items())]
        return [self.optimizer.x, *self.optimizer.algorithm_state, *links]


def arrived_without_a_step(rank: int) -> bool:
    """Whether all messages of the next step arrive while nobody takes it."""
    training = Training(rank, GT, ring(4), overlap=True)
    training.steps(1)
    under_way = [one.mixed for one in training.optimizer._node.exchange._ahead._under_way.values()]
    return len(under_way) == 2 and not wait(under_way, timeout=20).not_done


def test_messages_travel_between_two_steps():
    assert on_ranks(arrived_without_a_step) == [True] * 4


def every_other_rank(rank: int) -> bool:
    """Whether nothing changes when neighbours differ in whether they send ahead."""
    ends = []
    for overlap in (False, rank % 2 == 0):
        training = Training(rank, GT, ring(4), overlap=overlap)
        training.steps(STEPS)
        ends.append(training.end)
    return all(map(torch.equal, *ends))


def test_ranks_need_not_agree_on_sending_ahead():
    assert on_ranks(every_other_rank) == [True] * 4


@pytest.mark.parametrize("ahead_takes", [0.5, 2.0])
def test_auto_keeps_the_faster_way(monkeypatch, ahead_takes):
    """A step takes 1 s, and `ahead_takes` if its messages were sent ahead."""
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    faster, chosen = Faster(), []
    for _ in range(60):
        chosen.append(faster())
        clock[0] += ahead_takes if chosen[-1] else 1.0
    assert chosen[:25] == [False] * 25
    assert chosen[25:45] == [True] * 20
    assert chosen[45:] == [ahead_takes < 1] * 15


def test_overlap_is_one_of_three():
    with pytest.raises(InvalidInput, match="overlap: got 'yes', need False, True or"):
        DecentralizedOptimizer([nn.Parameter(torch.zeros(2))], GT, ring(1), overlap="yes")


def both_ways(rank: int, method, network, message_dtype, _) -> tuple[bool, list[int], int]:
    """Whether hiding messages changes nothing, the bytes, and how many mixes were under way."""
    ends, sent, begun = [], [], 0
    for overlap in (False, True):
        training = Training(rank, method, network, message_dtype=message_dtype, overlap=overlap)
        training.steps(STEPS)
        ends.append(training.end)
        sent.append(training.optimizer.bytes_sent)
        if overlap:
            begun = len(training.optimizer._node.exchange._ahead._under_way)
    same = all(map(torch.equal, *ends)) and len(ends[0]) == len(ends[1])
    return same, sent, begun


def all_both_ways(rank: int) -> list:
    return [both_ways(rank, *run) for run in RUNS]


@pytest.fixture(scope="module")
def compared() -> list[list]:
    return on_ranks(all_both_ways)


@pytest.mark.parametrize(
    "which", range(len(RUNS)), ids=lambda which: f"{RUNS[which][0]} on {RUNS[which][1].name}"
)
def test_hidden_messages_change_no_bit(compared, which):
    for rank in range(4):
        same, (plain, hidden), begun = compared[rank][which]
        assert same
        assert plain == hidden
        assert begun == RUNS[which][3]


def between_steps(rank: int) -> dict:
    """What is done between two steps, and what comes of it."""
    undisturbed, training = (Training(rank, GT, ring(4), overlap=on) for on in (False, True))
    undisturbed.steps(6)
    training.steps(2)
    with training.optimizer.averaged_parameters():
        pass
    training.steps(2)
    training.optimizer.load_state_dict(training.optimizer.state_dict())
    training.steps(1)
    optimizer = training.optimizer
    state = optimizer.algorithm_state._asdict()
    optimizer.restore(optimizer.steps, optimizer.x.clone(), state)
    training.steps(1)
    same = all(map(torch.equal, undisturbed.end, training.end))
    return {"same": same, "refusals": [refusal(training, name) for name in ("x", "y")]}


def refusal(training: Training, changed: str) -> str:
    """Of a step after which all ranks change what the neighbours were told."""
    training.steps(2)
    dist.barrier()
    if changed == "x":
        training.x.data.add_(1.0)
    else:
        training.optimizer.state[training.x]["y"].add_(1.0)
    try:
        training.steps(1)
    except InvalidInput as error:
        training.optimizer.restore(0, training.optimizer.x.clone(), {})
        return str(error)
    return "none"


def test_what_may_be_done_between_two_steps():
    for found in on_ranks(between_steps):
        assert found["same"]
        x, y = found["refusals"]
        assert x.startswith("overlap: got the parameters changed between two steps")
        assert y.startswith("overlap: got the state changed between two steps")


ORDERED = ["GTNSGDm", "GTLayerNSGDm", "GTSignSGDm", "DeMuon", "DSGDClip", "DSGDGClip", "DSGDCClip"]
AS_THEY_ARE = ["DIGing", "GTAdam", "MomentumTracking", "MoTEF", "EXTRA", "ATCTracking"]
"""The methods of which the page says that their messages can travel with a gradient."""


def test_the_page_names_the_methods_that_overlap():
    overlapping = []
    for name, method in ALGORITHMS.items():
        missing = {f.name for f in fields(method) if f.default is MISSING}
        given = {"lr": 0.1, "momentum": 0.5, "clip": 1.0, "scale": 1.0}
        ordered = {"order": "combine-then-adapt"} if hasattr(method, "order") else {}
        parameter = nn.Parameter(torch.zeros(2, 2))
        made = method(**{name: given.get(name, 0.5) for name in missing}, **ordered)
        optimizer = DecentralizedOptimizer([parameter], made, ring(1), overlap=True)
        parameter.grad = torch.ones(2, 2)
        with suppress(InvalidInput):
            optimizer.step(lambda: torch.zeros(()))
            overlapping.append(name)
    assert sorted(overlapping) == sorted(ORDERED + AS_THEY_ARE)
    page = (Path(__file__).parents[2] / "docs" / "distributed.md").read_text(encoding="utf-8")
    *first, last = (f"`{name}`" for name in ORDERED)
    words = " ".join(page.split())
    assert f"it is also true of {', '.join(first)} and {last}. Methods that send" in words
    assert all(f"`{name}`" in words for name in AS_THEY_ARE)


def test_a_method_without_anything_known_is_refused():
    parameter = nn.Parameter(torch.zeros(2))
    optimizer = DecentralizedOptimizer([parameter], GTNSGDm(0.1, 0.8), ring(1), overlap=True)
    parameter.grad = torch.ones(2)
    with pytest.raises(InvalidInput, match="combine-then-adapt"):
        optimizer.step()
