"""What links remember is the node's: saved, resumed, kept while it means something."""

import copy
import os
import signal
import warnings
from pathlib import Path

import pytest
import torch
from processes import Dead, Failed, Processes, on_ranks
from torch import Tensor, nn

from gossamer.algorithms import DSGD, GTDSGD, GTNSGDm
from gossamer.distributed import Checkpoints, DecentralizedOptimizer, PeerFailure
from gossamer.errors import InvalidInput
from gossamer.networks import QSGD, Network, TopK, from_digraph, one_peer_exponential, ring
from gossamer.problems import Quadratic

DIM, SEED = 6, 3
PROBLEM = Quadratic(num_nodes=4, dim=DIM, seed=0)
DIGRAPH = from_digraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], name="digraph")
LOSSY = [
    DIGRAPH.drops(0.5).compressed(TopK(0.4)),
    ring(4).drops(0.4, both_ways=True).compressed(QSGD(4)).every(2),
]


class Trainer:
    """Gradients of node `rank`'s quadratic, in float32 so that rounding would show."""

    def __init__(self, rank: int, network: Network, **options):
        self.rank, self.parameter = rank, nn.Parameter(torch.zeros(DIM))
        method = GTNSGDm(lr=0.1, momentum=0.8)
        self.optimizer = DecentralizedOptimizer(
            [self.parameter], method, network, seed=SEED, **options
        )

    def run_to(self, end: int) -> dict[str, Tensor]:
        """Everything that the node holds in the end."""
        while self.optimizer.steps < end:
            x = self.parameter.detach().double().expand(4, 1, DIM)
            self.parameter.grad = PROBLEM.local_grad(x)[self.rank, 0].float()
            self.optimizer.step()
        optimizer = self.optimizer
        held = {"x": optimizer.x, **optimizer.algorithm_state._asdict(), **optimizer.links}
        held["bytes sent"] = torch.tensor(optimizer.bytes_sent)
        return {name: z.clone() for name, z in held.items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[k], other[k]) for k in one)


def killed(rank: int, folder: Path) -> None:
    trainers = [Trainer(rank, network, timeout=5) for network in LOSSY]
    for end in (5, 10, 13):
        for k, trainer in enumerate(trainers):
            trainer.run_to(end)
            if end <= 10:
                Checkpoints(folder / str(k), trainer.optimizer, None).save()
    if rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    trainers[0].run_to(20)


def resumed(rank: int, folder: Path) -> list[tuple[int, bool, list[str]]]:
    results = []
    for k, network in enumerate(LOSSY):
        whole, fresh = Trainer(rank, network), Trainer(rank, network)
        at = Checkpoints(folder / str(k), fresh.optimizer, None).resume()
        end = whole.run_to(20)
        results.append((at, same(fresh.run_to(20), end), list(end)))
    return results


def test_a_killed_run_resumes_bit_for_bit_where_messages_are_lost_and_compressed(tmp_path):
    answers = Processes(killed, tmp_path).results()
    assert isinstance(answers.pop(2), Dead)
    for answer in answers:
        assert isinstance(answer, Failed)
        assert isinstance(answer.error, PeerFailure), answer.text
    names = set()
    for results in on_ranks(resumed, tmp_path):
        for at, equal, held in results:
            assert at == 10
            assert equal
            names |= {name.split(".")[1] for name in held if "." in name}
    assert names == {"copy", "in_flight", "missed", "unheard"}


def load_and_go_on(rank: int) -> list[bool]:
    """From a state dict, and from a copy of the optimizer, against the one that just goes on."""
    results = []
    for network in LOSSY:
        trainer, loaded = Trainer(rank, network), Trainer(rank, network)
        trainer.run_to(7)
        state, twin = copy.deepcopy(trainer.optimizer.state_dict()), copy.deepcopy(trainer)
        with torch.no_grad():
            loaded.parameter.copy_(trainer.parameter)
        loaded.optimizer.load_state_dict(state)
        expected = trainer.run_to(12)
        results += [same(loaded.run_to(12), expected), same(twin.run_to(12), expected)]
    return results


def test_state_dicts_and_copies_of_an_optimizer_hold_it():
    assert on_ranks(load_and_go_on) == [[True] * 4] * 4


def join_later(rank: int) -> dict[str, Tensor]:
    """A parameter joins, in front of the other one, while totals are in flight."""
    late, early = nn.Parameter(torch.zeros(2), requires_grad=False), nn.Parameter(torch.zeros(3))
    network = DIGRAPH.drops(0.6)
    optimizer = DecentralizedOptimizer([late, early], GTDSGD(lr=0.1), network, seed=SEED)
    for t in range(7):
        if t == 5:
            late.requires_grad_(True)
        early.grad = torch.full((3,), rank + t + 1.0)
        late.grad = torch.full((2,), 10.0 * rank) if t >= 5 else None
        optimizer.step()
    flying = sum(z for name, z in optimizer.links.items() if name.startswith("0.in_flight"))
    return {"y": optimizer.algorithm_state.y + flying, "flying": torch.as_tensor(flying)}


def test_totals_in_flight_are_kept_when_parameters_join():
    ends = on_ranks(join_later)
    total = sum(end["y"] for end in ends)
    last = [10.0 * (0 + 1 + 2 + 3)] * 2 + [0 + 1 + 2 + 3 + 4 * 7.0] * 3
    torch.testing.assert_close(total, torch.tensor(last).double(), rtol=0, atol=1e-9)
    assert sum(end["flying"].abs().sum() for end in ends) > 0


def refused(rank: int) -> dict[str, str]:
    def attempt(action) -> str:
        try:
            action()
        except InvalidInput as error:
            return str(error)
        return "no error"

    def make(network: Network, method=GTDSGD(lr=0.1), **options):  # noqa: B008
        return DecentralizedOptimizer([nn.Parameter(torch.zeros(3))], method, network, **options)

    def load_without_links():
        optimizer = make(DIGRAPH.drops(0.5))
        state = optimizer.state_dict()
        del state["links"]
        optimizer.load_state_dict(state)

    def join_when_owing():
        optimizer = make(DIGRAPH.drops(0.5).compressed(TopK(0.5)))
        optimizer.step()
        optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(2))]})

    def restore_some_links():
        optimizer = make(ring(4).compressed(TopK(0.5)))
        optimizer.step()
        links = optimizer.links if rank == 1 else {}
        optimizer.restore(1, optimizer.x, optimizer.algorithm_state._asdict(), links)
        optimizer.step()

    lossy, bfloat16 = ring(4).compressed(TopK(0.5)).every(2), torch.bfloat16
    moving = one_peer_exponential(4)
    return {
        "unbalanced": attempt(lambda: make(DIGRAPH, DSGD(lr=0.1))),
        "two roundings": attempt(lambda: make(lossy, message_dtype=bfloat16)),
        "seed": attempt(lambda: make(ring(4).drops(0.5), seed=rank)),
        "no links": attempt(load_without_links),
        "joining": attempt(join_when_owing),
        "some links": attempt(restore_some_links),
        "dropping": attempt(lambda: make(moving.every(2), on_peer_failure="drop")),
    }


@pytest.fixture(scope="module")
def refusals() -> list[dict[str, str]]:
    return on_ranks(refused)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            "unbalanced",
            "digraph, which has no doubly stochastic weights, need gradient tracking or push-sum; "
            "use PushSum",
        ),
        (
            "two roundings",
            "message_dtype: got torch.bfloat16 on ring(4).compressed(TopK(0.5)).every",
        ),
        ("seed", "the ranks disagree on seed: rank 0 has 0, rank 1 has 1"),
        (
            "no links",
            "state_dict: got no memory of the links, need them too: on digraph.drops(0.5)",
        ),
        ("joining", "params: got parameters that join on digraph.drops(0.5).compressed(TopK(0.5))"),
        ("some links", "links: ranks 0, 2, 3 have no public copies, rank 1 has public copies"),
        ("dropping", "network: got one_peer_exponential(4).every(2), need static with W = Wᵀ"),
    ],
)
def test_what_cannot_be_is_refused_on_all_ranks(refusals, case, message):
    for answers in refusals:
        assert message in answers[case]


def survive(rank: int, network: Network) -> tuple[Tensor, str]:
    warnings.simplefilter("ignore")
    parameter = nn.Parameter(torch.zeros(DIM, dtype=torch.float64))
    options = {"seed": SEED, "timeout": 3.0, "on_peer_failure": "drop"}
    optimizer = DecentralizedOptimizer([parameter], GTDSGD(lr=0.1), network, **options)
    for t in range(20):
        if (rank, t) == (2, 10):
            os._exit(1)
        parameter.grad = PROBLEM.local_grad(parameter.detach().expand(4, 1, DIM))[rank, 0]
        optimizer.step()
    return optimizer.x, optimizer.network.name


def simulated_survivors(network: Network) -> Tensor:
    method, nodes, links = GTDSGD(lr=0.1), [0, 1, 2, 3], ()
    x = torch.zeros(4, 1, DIM, dtype=torch.float64)
    state = method.init(x)
    for t in range(20):
        if t == 10:
            nodes, network, links = [0, 1, 3], network.without(2), ()
            x = x[nodes]
            state = method.init(x)
        grad = torch.stack([PROBLEM.local_grad(z.expand(4, 1, DIM)) for z in x])
        grad = torch.stack([grad[i, node] for i, node in enumerate(nodes)])
        talk = network.channel([SEED], torch.float64, "cpu").talk(t, links)
        x, state = method.step(t, x, grad, state, talk)
        links = talk.memory
    return x[:, 0]


def test_survivors_begin_with_links_that_remember_nothing():
    network = ring(4).drops(0.3).compressed(TopK(0.5))
    answers = Processes(survive, network).results(deadline=40)
    assert isinstance(answers.pop(2), Dead)
    for (x, name), expected in zip(answers, simulated_survivors(network), strict=True):
        assert name == "ring(4).without(2).drops(0.3).compressed(TopK(0.5))"
        torch.testing.assert_close(x, expected, rtol=0, atol=1e-12)
