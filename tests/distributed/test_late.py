"""Nodes that wait for nobody: nothing is lost, and the end is the optimum of all."""

import os
import pickle
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest
import torch
from processes import Dead, Processes, on_ranks
from torch import Tensor, nn

from gossamer.algorithms import DSGD, GTDSGD, Algorithm, DIGing, GTAdam, GTNSGDm, Linear, PushSum
from gossamer.distributed import Checkpoints, DecentralizedOptimizer, PeerFailure
from gossamer.distributed.carrier import Carrier
from gossamer.distributed.links import Wire, links_of
from gossamer.distributed.links.refusals import require_no_waiting
from gossamer.distributed.mailboxes import MOST_SITES
from gossamer.distributed.transport import Transport
from gossamer.errors import InvalidInput
from gossamer.networks import (
    Network,
    TopK,
    from_digraph,
    one_peer_exponential,
    random_matching,
    ring,
)
from gossamer.networks.channel import RememberedTalk
from gossamer.problems import Quadratic
from gossamer.train import train

DIM, SLOW = 6, 2
PROBLEM = Quadratic(num_nodes=4, dim=DIM, seed=0)
DIGRAPH = from_digraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], name="digraph")

# ---------------------------------------------------------------------- without processes


class PaperBoxes:
    """Mailboxes of one node in this process; a letter comes at a look with probability 1/2."""

    def __init__(self, node: int, wires: dict, generator: torch.Generator):
        self.node, self.wires, self.generator = node, wires, generator
        self.last: dict[tuple[int, int], Tensor] = {}
        self.total_sites: set[int] = set()

    def free(self, site: int, receivers: Iterable[int]) -> list[int]:
        return [k for k in receivers if (site, self.node, k) not in self.wires]

    def send(self, site: int, letters: Mapping[int, Tensor]) -> None:
        self.wires |= {(site, self.node, k): z.clone() for k, z in letters.items()}

    def arrived(self, site: int, senders: Iterable[int], length: int) -> dict[int, Tensor]:
        come = [j for j in senders if (site, j, self.node) in self.wires and self.coin()]
        return {j: self.wires.pop((site, j, self.node)).view(torch.uint8) for j in come}

    def newest(self, site: int, senders: Iterable[int], length: int) -> dict[int, Tensor]:
        self.last |= {(site, j): z for j, z in self.arrived(site, senders, length).items()}
        return {j: self.last[site, j] for j in senders if (site, j) in self.last}

    def coin(self) -> bool:
        return bool(torch.rand(1, generator=self.generator) < 0.5)


class Asynchronous:
    """Four nodes that step in random order, node `SLOW` a fifth as often as the others."""

    def __init__(self, method: Algorithm, network: Network, dtype: torch.dtype):
        self.generator, self.method = torch.Generator().manual_seed(0), method
        self.wires: dict[tuple[int, int, int], Tensor] = {}
        self.x = [torch.zeros(DIM, dtype=torch.float64) for _ in range(4)]
        self.states, self.t = [method.init(x) for x in self.x], [0] * 4
        self.boxes = [PaperBoxes(node, self.wires, self.generator) for node in range(4)]
        wires = [Wire(Carrier(Transport(i, x, None, 1.0)), dtype) for i, x in enumerate(self.x)]
        self.links = [
            links_of(network, wire, 0, box) for wire, box in zip(wires, self.boxes, strict=True)
        ]
        self.memories: list = [()] * 4

    def step(self) -> None:
        paces = torch.tensor([1.0, 1.0, 0.2, 1.0])
        i = int(torch.multinomial(paces, 1, generator=self.generator))
        talk = RememberedTalk(self.links[i], self.t[i], self.memories[i])
        grad = PROBLEM.local_grad(self.x[i].expand(4, 1, DIM))[i, 0]
        arguments = (self.t[i], self.x[i], grad, self.states[i], talk)
        self.x[i], self.states[i] = self.method.step(*arguments)
        self.memories[i], self.t[i] = talk.memory, self.t[i] + 1

    def total(self, tracker: str) -> Tensor:
        """Σ y and what is in flight."""
        held = [getattr(state, tracker) for state in self.states]
        held += [z for memory in self.memories for site in memory for z in site.values()]
        sites = set().union(*(box.total_sites for box in self.boxes))
        held += [z.double() for (site, _, _), z in self.wires.items() if site in sites]
        return torch.stack(held).sum(0)

    @property
    def error(self) -> float:
        return float((torch.stack(self.x) - PROBLEM.optimum).abs().max())


ASYNCHRONOUS = [
    (GTDSGD(lr=1.5), ring(4), torch.float64, "grad", 3000, 1e-8),
    (GTDSGD(lr=1.0), ring(4).every(2), torch.float64, "grad", 1500, 1e-2),
    (GTDSGD(lr=0.4), DIGRAPH, torch.float64, "grad", 1500, 0.05),
    (GTDSGD(lr=0.7), one_peer_exponential(4), torch.float64, "grad", 1500, 0.1),
    (GTAdam(lr=0.02), ring(4), torch.float64, "grad", 1000, 0.1),
    (GTNSGDm(lr=0.04, momentum=0.8), ring(4), torch.bfloat16, "v", 1000, 0.05),
]
"""Method, network, dtype of messages, what the tracker follows, steps, and the error in the end."""


@pytest.mark.parametrize("case", ASYNCHRONOUS, ids=lambda case: f"{case[0]} on {case[1].name}")
def test_no_total_is_lost_and_the_optimum_is_found_at_any_paces(case):
    method, network, dtype, follows, steps, most = case
    nodes = Asynchronous(method, network, dtype)
    for k in range(steps):
        nodes.step()
        if k % 50 == 0:
            put_in = torch.stack([getattr(state, follows) for state in nodes.states]).sum(0)
            total = nodes.total(method.tracker)
            torch.testing.assert_close(total, put_in, rtol=0, atol=1e-12)
    assert nodes.t[SLOW] < min(nodes.t[i] for i in (0, 1, 3)) / 3
    assert nodes.error < most


# ---------------------------------------------------------------------- on processes


class Training:
    """Node `rank` with its quadratic; `nodes` are those whose optimum is sought."""

    def __init__(self, rank: int, nodes: Sequence[int] = range(4), **options):
        self.rank, self.x = rank, nn.Parameter(torch.zeros(DIM, dtype=torch.float64))
        options = {"wait": False, "timeout": 20.0, **options}
        self.optimizer = DecentralizedOptimizer([self.x], GTDSGD(lr=1.2), ring, **options)
        curvatures, centers = (z[list(nodes)] for z in (PROBLEM._curvatures, PROBLEM._centers))
        self.optimum = (curvatures * centers).sum(0) / curvatures.sum(0)

    def step(self) -> None:
        time.sleep(0.002)  # else a busy machine would switch processes once in many steps
        self.x.grad = PROBLEM.local_grad(self.x.detach().expand(4, 1, DIM))[self.rank, 0]
        self.optimizer.step()

    def to_the_optimum(self, before_step: Callable[[int], None] = lambda taken: None) -> int:
        """Steps until some rank is there, and how many this one took."""
        taken = 0
        with self.optimizer.until_all_end():
            while self.error > 1e-10 and not self.optimizer.someone_has_ended:
                before_step(taken)
                self.step()
                taken += 1
        return taken

    @property
    def error(self) -> float:
        return float((self.optimizer.x - self.optimum).abs().max())

    def lost(self) -> float:
        """Of the sum of all gradients; a collective of ranks at rest."""
        state = self.optimizer.algorithm_state
        own = state.y - state.grad + sum(self.optimizer.links.values())
        everyone = torch.tensor(self.optimizer.gather(own.tolist), dtype=torch.float64)
        return float(everyone.sum(0).abs().max())


def with_a_slow_rank(rank: int, folder: Path) -> dict:
    """The slow rank takes one step in the time that another takes five."""
    training, counter = Training(rank), folder / "taken"

    def keep_pace(taken: int) -> None:
        if rank == 0:
            counter.with_suffix(".new").write_text(str(taken))
            counter.with_suffix(".new").rename(counter)
        while rank == SLOW and not training.optimizer.someone_has_ended:
            if counter.exists() and int(counter.read_text()) >= 5 * taken:
                return
            time.sleep(0.001)

    taken = training.to_the_optimum(keep_pace)
    steps, lost = training.optimizer.steps, training.lost()
    return {"error": training.error, "taken": taken, "steps": steps, "lost": lost}


def saved_and_resumed(rank: int, folder: Path) -> dict:
    """Some steps, a save, another training that goes on from there; and a state dict."""
    training = Training(rank)
    for _ in range(10 + rank):
        training.step()
    try:
        training.optimizer.state_dict()
        refused = ""
    except InvalidInput as reason:
        refused = str(reason)
    with training.optimizer.until_all_end():
        pass
    Checkpoints(folder, training.optimizer, None).save()
    resumed, loaded = Training(rank), Training(rank)
    start = Checkpoints(folder, resumed.optimizer, None).resume()
    loaded.optimizer.load_state_dict(training.optimizer.state_dict())
    loaded.optimizer.x.copy_(training.optimizer.x)
    lost = [one.lost() for one in (training, resumed, loaded)]
    resumed.to_the_optimum()
    return {"refused": refused, "start": start, "lost": lost, "error": resumed.error}


def of_unequal_length(rank: int) -> tuple[bool, int, str]:
    """Whether ranks that wait repeat their last gradient; the steps; and what needs a number."""
    lengths, ends = [3, 5, 0, 2], []
    for by_hand in (True, False):
        training = Training(rank, wait=True)
        if by_hand:
            training.x.grad = torch.zeros(DIM, dtype=torch.float64)
            for t in range(5):
                training.step() if t < lengths[rank] else training.optimizer.step()
        else:
            with training.optimizer.until_all_end(lengths[rank]):
                for _ in range(lengths[rank]):
                    training.step()
        ends.append([training.optimizer.x, *training.optimizer.algorithm_state])
    try:
        with training.optimizer.until_all_end():
            pass
        refused = ""
    except InvalidInput as reason:
        refused = str(reason)
    return all(map(torch.equal, *ends)), training.optimizer.steps, refused


def with_a_schedule(rank: int) -> list[float]:
    """The step sizes shown after a block of unequal length, and after one of a resumed run."""
    shown, before = [], None
    for steps in (3 + rank, 1):
        x = nn.Parameter(torch.ones(DIM, dtype=torch.float64))
        optimizer = DecentralizedOptimizer([x], GTDSGD(lr=Linear(0.1, 100)), ring, wait=False)
        if before is not None:
            optimizer.load_state_dict(before)
        with optimizer.until_all_end():
            for _ in range(steps):
                x.grad = torch.ones_like(x)
                optimizer.step()
        shown.append(optimizer.param_groups[0]["lr"])
        before = optimizer.state_dict()
    return shown


def of_a_pickle(rank: int) -> bool:
    """Whether a rank hears from others, within a block, that one has come to its end."""
    x = nn.Parameter(torch.zeros(DIM, dtype=torch.float64))
    optimizer = DecentralizedOptimizer([x], GTDSGD(lr=0.1), ring, wait=False)
    twin = pickle.loads(pickle.dumps(optimizer))
    end = time.monotonic() + 20
    with twin.until_all_end():
        while rank > 0 and not twin.someone_has_ended and time.monotonic() < end:
            twin.step()
        return twin.someone_has_ended


class OftenMixed(GTDSGD):
    """Two mixes in a step, after as many as leave one too many."""

    def step(self, t, x, grad, state, mix):
        for _ in range(MOST_SITES - 1):
            x = mix.pull(x)
        return super().step(t, x, grad, state, mix)


def with_too_many_mixes(rank: int) -> str:
    """What is said of a step whose tags would be those of another opening."""
    x = nn.Parameter(torch.zeros(DIM, dtype=torch.float64))
    optimizer = DecentralizedOptimizer([x], OftenMixed(lr=0.1), ring, wait=False)
    x.grad = torch.ones_like(x)
    try:
        optimizer.step()
    except InvalidInput as reason:
        return str(reason)
    return ""


def everything(rank: int, folder: Path) -> dict:
    return {
        "slow": with_a_slow_rank(rank, folder),
        "saved": saved_and_resumed(rank, folder),
        "unequal": of_unequal_length(rank),
        "schedule": with_a_schedule(rank),
        "pickled": of_a_pickle(rank),
        "too many": with_too_many_mixes(rank),
        "train": train(data="blobs", steps=20, log_every=8, wait=False, lr=0.1, momentum=0.8),
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    return on_ranks(everything, tmp_path_factory.mktemp("late"), deadline=120)


def test_with_a_slow_rank_nobody_waits_and_all_find_the_optimum_of_all(found):
    ran = [one["slow"] for one in found]
    assert ran[0]["taken"] >= 5 * (ran[SLOW]["taken"] - 2)
    for one in ran:
        assert one["error"] < 1e-6
        assert one["lost"] < 1e-12
        assert one["steps"] == max(other["taken"] for other in ran)


def test_ranks_hear_of_an_end_also_after_their_optimizer_was_pickled(found):
    assert [one["pickled"] for one in found] == [False, True, True, True]


def test_ranks_at_rest_are_saved_and_resumed_with_all_that_was_under_way(found):
    for one in (each["saved"] for each in found):
        assert one["refused"].startswith("wait: got totals that are under way, need all ranks at")
        assert one["start"] == 13
        assert max(one["lost"]) < 1e-12
        assert one["error"] < 1e-6


def test_a_rank_that_waits_repeats_its_last_gradient_until_all_end(found):
    for same, steps, refused in (each["unequal"] for each in found):
        assert same
        assert steps == 5
        assert refused.startswith("steps: got None, need how many this rank will take")


def test_after_unequal_lengths_all_follow_the_schedule_from_where_all_are(found):
    for one in found:
        assert one["schedule"] == pytest.approx([0.095, 0.094])  # of the steps 5 and 6


def test_a_step_with_too_many_mixes_is_refused(found):
    for one in found:
        assert one["too many"] == (
            f"wait: got False and a step that mixes more than {MOST_SITES} times, "
            f"need at most {MOST_SITES} mixes in a step, or True"
        )


def test_a_training_by_names_that_does_not_wait_reports_together(found):
    reports = [one["train"] for one in found]
    for report in reports:
        assert report["step"] == 20
        assert report["validation_loss"] == reports[0]["validation_loss"] < 1.0


def without_the_dead(rank: int) -> tuple[Tensor, Tensor, int]:
    """Rank 1 dies before its step 10."""
    warnings.simplefilter("ignore")
    training = Training(rank, nodes=[0, 2, 3], on_peer_failure="drop")
    training.to_the_optimum(lambda taken: os._exit(1) if (rank, taken) == (1, 10) else None)
    return training.optimizer.x, training.optimum, training.optimizer.network.num_nodes


def test_a_dead_rank_is_dropped_and_the_others_find_their_optimum():
    answers = Processes(without_the_dead).results(deadline=60)
    assert isinstance(answers.pop(1), Dead)
    for x, optimum, nodes in answers:
        assert nodes == 3
        torch.testing.assert_close(x, optimum, rtol=0, atol=1e-6)


def ended_early(rank: int) -> None:
    training = Training(rank)
    for _ in range(3 if rank == 1 else 10**6):
        training.step()


def test_a_rank_that_simply_ends_is_a_death_to_the_others():
    answers = Processes(ended_early).results(30)
    for rank in (0, 2, 3):
        assert isinstance(answers[rank].error, PeerFailure)


# ---------------------------------------------------------------------- what is refused

REFUSED = [
    (DSGD(lr=0.1), ring(4), "with DSGD, need True, or a method with a tracker"),
    (PushSum(GTDSGD(lr=0.1)), ring(4), "need True, or a method with a tracker"),
    (GTDSGD(lr=0.1), ring(4).compressed(TopK(0.5)), "need True, or links that are not random"),
    (GTDSGD(lr=0.1), ring(4).drops(0.1), "need True, or links that are not random"),
    (GTDSGD(lr=0.1), ring(4).accelerated(2), "need True, or links that are not random"),
    (GTDSGD(lr=0.1), random_matching(4), "need True, or links that are not random"),
]


@pytest.mark.parametrize(("method", "network", "said"), REFUSED, ids=str)
def test_what_could_not_be_exact_is_refused(method, network, said):
    with pytest.raises(InvalidInput, match=f"wait: got False .*{said}"):
        require_no_waiting(method, network)


def test_an_optimizer_that_does_not_wait_refuses_what_does_not_fit():
    parameter = [nn.Parameter(torch.zeros(DIM))]
    with pytest.raises(InvalidInput, match="wait: got False with DSGD"):
        DecentralizedOptimizer(parameter, DSGD(lr=0.1), ring(1), wait=False)
    with pytest.raises(InvalidInput, match="overlap: got True, need False where nobody waits"):
        DecentralizedOptimizer(parameter, DIGing(lr=0.1), ring(1), wait=False, overlap=True)
    optimizer = DecentralizedOptimizer(parameter, DIGing(lr=0.1), ring(1))
    links = {"0.in_flight.0": torch.ones(DIM)}
    with pytest.raises(InvalidInput, match="links: got totals that were under way"):
        optimizer.restore(0, optimizer.x, {}, links)


def test_a_process_of_its_own_need_not_wait_for_itself():
    x = nn.Parameter(torch.tensor([4.0]))
    optimizer = DecentralizedOptimizer([x], GTDSGD(lr=0.5), ring, wait=False)
    with optimizer.until_all_end():
        for _ in range(2):
            x.grad = x.detach().clone()
            optimizer.step()
    assert x.tolist() == [1.0]
    assert optimizer.steps == 2
    optimizer.state_dict()
