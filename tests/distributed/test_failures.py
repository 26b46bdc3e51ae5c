"""A rank dies or hangs: every other rank says so, or goes on without it."""

import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import Dead, Failed, Launched, Processes, on_ranks
from torch import Tensor, nn

from gossamer.algorithms import DSGD, EXTRA, GTDSGD, DIGing, GTNSGDm
from gossamer.distributed import Checkpoints, DecentralizedOptimizer, PeerFailure, read_nodes
from gossamer.errors import InvalidInput
from gossamer.networks import complete, exponential, line, ring
from gossamer.problems import Quadratic

PROBLEM = Quadratic(num_nodes=4, dim=6, seed=0)
TIMEOUT = 3.0


def quadratic_steps(
    rank, method, network, steps, dies_at=None, log=None, drop=False, pause=0.0, overlap=False
):
    """Exact gradients of node `rank`'s quadratic; `dies_at` names a step before which to exit."""
    warnings.simplefilter("ignore")
    parameter = nn.Parameter(torch.zeros(6, dtype=torch.float64))
    on_peer_failure = "drop" if drop else "raise"
    options = {"timeout": TIMEOUT, "on_peer_failure": on_peer_failure, "overlap": overlap}
    optimizer = DecentralizedOptimizer([parameter], method, network, **options)
    for t in range(steps):
        if log is not None:
            Path(f"{log}-{rank}").write_text(str(t))
        if (rank, t) == dies_at:
            os._exit(1)
        time.sleep(pause)
        parameter.grad = PROBLEM.local_grad(parameter.detach().expand(4, 1, 6))[rank, 0]
        optimizer.step()
    return optimizer.x, optimizer.network.name, optimizer.steps


def survivors_optimum(dead: int) -> Tensor:
    kept = [node for node in range(4) if node != dead]
    pull = (PROBLEM._curvatures * PROBLEM._centers)[kept].sum(0)
    return pull / PROBLEM._curvatures[kept].sum(0)


def wait_for_step(log: Path, rank: int, step: int) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        file = Path(f"{log}-{rank}")
        if file.exists() and int(file.read_text() or 0) >= step:
            return
        time.sleep(0.01)
    raise AssertionError(f"rank {rank} did not reach step {step}")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_dead_or_hung_rank_is_reported_by_all_others_in_time(tmp_path, number):
    log = tmp_path / "step"
    arguments = (GTNSGDm(lr=0.01, momentum=0.8), ring(4), 10**6, None, log, False, 0.002)
    processes = Processes(quadratic_steps, *arguments)
    wait_for_step(log, 2, 5)
    start = time.time()
    processes.signal(2, number)
    answers = processes.results(TIMEOUT + 15, 2)
    others = [answers[rank] for rank in (0, 1, 3)]
    for rank, answer in zip((0, 1, 3), others, strict=True):
        assert isinstance(answer, Failed)
        assert isinstance(answer.error, PeerFailure)
        sender, receiver = answer.error.edges[0]
        assert rank in (sender, receiver)
        assert f"edge {sender} → {receiver}" in str(answer.error)
        assert answer.error.step >= 5
        limit = TIMEOUT + 2 if number == signal.SIGSTOP else 2
        assert answer.at - start < limit
    assert any(2 in answer.error.edges[0] for answer in others)


def with_forked_processes(rank: int, timeout: float) -> None:
    """Rank 2 is gone before step 10; the others have forked processes, as a `DataLoader` does."""
    parameter = nn.Parameter(torch.zeros(6))
    optimizer = DecentralizedOptimizer([parameter], GTDSGD(lr=0.1), ring, timeout=timeout)
    while True:
        if optimizer.steps == 5 and rank != 2 and os.fork() == 0:
            time.sleep(timeout + 5)
            os._exit(0)
        if (rank, optimizer.steps) == (2, 10):
            os._exit(1)
        parameter.grad = torch.ones(6)
        optimizer.step()


def test_forked_processes_keep_no_failure_from_ranks_further_away():
    timeout, start = 15.0, time.time()
    answers = Processes(with_forked_processes, timeout).results()
    assert isinstance(answers.pop(2), Dead)
    for answer in answers:
        assert isinstance(answer.error, PeerFailure)
        assert answer.at - start < timeout


def test_the_survivors_of_a_drop_take_the_steps_of_the_simulation():
    """Rank 2 is gone before step 10, so all others fail in that step and none is ahead."""
    method, network = GTNSGDm(lr=0.05, momentum=0.8), ring(4)
    processes = Processes(quadratic_steps, method, network, 30, (2, 10), None, True)
    answers = processes.results(deadline=40)
    assert isinstance(answers.pop(2), Dead)
    simulated = simulate_drop(method, network, steps=30, dead=2, at=10)
    for answer, expected in zip(answers, simulated, strict=True):
        x, name, steps = answer
        assert (name, steps) == ("ring(4).without(2)", 30)
        torch.testing.assert_close(x, expected, rtol=0, atol=1e-12)


def test_a_drop_while_messages_are_on_their_way():
    """Rank 2 may have told of step 10 or not, and some have heard it: all go on, to the optimum."""
    arguments = (DIGing(lr=0.5), ring(4), 200, (2, 10), None, True, 0.0, True)
    answers = Processes(quadratic_steps, *arguments).results(deadline=40)
    assert isinstance(answers.pop(2), Dead)
    for x, name, steps in answers:
        assert (name, steps) == ("ring(4).without(2)", 200)
        assert float((x - survivors_optimum(2)).abs().max()) < 1e-6


def test_without_the_reset_the_trackers_would_stay_biased():
    """What dropping a node does to gradient tracking, and why its state starts anew."""
    method, optimum = GTDSGD(lr=0.3), survivors_optimum(2)
    for reset in (True, False):
        x = simulate_drop(method, ring(4), steps=600, dead=2, at=10, reset=reset)
        error = float((x - optimum).abs().max())
        assert error < 1e-6 if reset else error > 0.01


def simulate_drop(method, network, steps, dead, at, reset=True) -> Tensor:
    nodes = list(range(4))
    x = torch.zeros(4, 1, 6, dtype=torch.float64)
    state = method.init(x)
    for t in range(steps):
        if t == at:
            nodes.remove(dead)
            x, network = x[nodes], network.without(dead)
            state = method.init(x) if reset else type(state)(*(z[nodes] for z in state))
        grad = torch.stack(
            [PROBLEM.local_grad(one.expand(4, 1, 6))[i] for i, one in zip(nodes, x, strict=True)]
        )
        x, state = method.step(t, x, grad, state, network.mixer())
    return x[:, 0]


def test_after_a_kill_the_survivors_reach_their_own_optimum(tmp_path):
    """At any moment, with exact gradients: without a restart of the state a bias would stay."""
    runs = {dead: tmp_path / f"without-{dead}" for dead in (0, 3)}
    methods = {0: GTDSGD(lr=0.8), 3: EXTRA(lr=0.8)}
    started = {
        dead: Processes(quadratic_steps, methods[dead], ring(4), 150, None, log, True, 0.002)
        for dead, log in runs.items()
    }
    for dead, processes in started.items():
        wait_for_step(runs[dead], dead, 20)
        processes.kill(dead)
    for dead, processes in started.items():
        answers = processes.results(deadline=60)
        assert isinstance(answers.pop(dead), Dead)
        for x, name, steps in answers:
            assert (name, steps) == (f"ring(4).without({dead})", 150)
            torch.testing.assert_close(x, survivors_optimum(dead), rtol=0, atol=1e-6)


def go_back_after_a_drop(rank: int) -> tuple[int, Tensor]:
    warnings.simplefilter("ignore")
    parameter = nn.Parameter(torch.zeros(6))
    options = {"timeout": TIMEOUT, "on_peer_failure": "drop"}
    optimizer = DecentralizedOptimizer([parameter], DSGD(lr=0.5), ring, **options)
    optimizer.load_state_dict(optimizer.state_dict())  # which leaves it able to drop
    parameter.grad = torch.ones(6)
    while optimizer.steps < 6:
        if (rank, optimizer.steps) == (2, 3):
            os._exit(1)
        optimizer.step()
    optimizer.restore(1, torch.zeros(6), {})
    optimizer.step()
    return optimizer.steps, optimizer.x


def test_the_survivors_of_a_drop_can_load_and_go_back():
    answers = Processes(go_back_after_a_drop).results(deadline=40)
    assert isinstance(answers.pop(2), Dead)
    for steps, x in answers:
        assert steps == 2
        torch.testing.assert_close(x, torch.full((6,), -0.5), rtol=0, atol=1e-6)


def test_a_hung_rank_is_dropped_and_told_so_when_it_wakes(tmp_path):
    log = tmp_path / "step"
    processes = Processes(quadratic_steps, GTDSGD(lr=0.8), ring(4), 150, None, log, True, 0.002)
    wait_for_step(log, 1, 20)
    processes.signal(1, signal.SIGSTOP)
    wait_for_step(log, 0, 60)
    processes.signal(1, signal.SIGCONT)
    answers = processes.results(deadline=60)
    hung = answers.pop(1)
    assert "the others go on without it" in str(hung.error)
    for x, _, _ in answers:
        torch.testing.assert_close(x, survivors_optimum(1), rtol=0, atol=1e-6)


def test_a_drop_that_cuts_the_network_is_refused_by_all_survivors():
    processes = Processes(quadratic_steps, DSGD(lr=0.1), line(4), 30, (1, 5), None, True)
    answers = processes.results(deadline=40)
    assert isinstance(answers.pop(1), Dead)
    for answer in answers:
        assert isinstance(answer.error, PeerFailure)
        assert "cannot go on without [1]" in str(answer.error)
        assert "not connected" in str(answer.error)


def two_deaths(rank: int) -> list[str]:
    """Ranks 1 and 3 of five die one after the other; what the others are told."""
    parameter = nn.Parameter(torch.zeros(3))
    options = {"timeout": TIMEOUT, "on_peer_failure": "drop"}
    optimizer = DecentralizedOptimizer([parameter], DSGD(lr=0.1), complete, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for t in range(12):
            if (rank, t) in ((1, 3), (3, 6)):
                os._exit(1)
            parameter.grad = torch.full((3,), float("nan") if (rank, t) == (4, 10) else 1.0)
            optimizer.step()
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def test_messages_have_the_numbers_of_the_beginning():
    answers = Processes(two_deaths, size=5).results(deadline=60)
    for rank in (0, 2, 4):
        first, second, *_ = answers[rank]
        assert "going on without rank(s) [1]" in first
        assert "going on without rank(s) [3]" in second
    assert "rank 4, step 10: the gradient is not finite" in answers[4][2]


def small_run(policy: str, folder: Path, **options) -> tuple[DecentralizedOptimizer, Checkpoints]:
    warnings.simplefilter("ignore")
    parameter = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    options |= {"timeout": TIMEOUT, "on_peer_failure": policy}
    optimizer = DecentralizedOptimizer([parameter], DSGD(lr=0.1), complete, **options)
    return optimizer, Checkpoints(folder, optimizer, None)


def deaths_in_collectives(rank: int, folder: Path) -> tuple[list[float], list[float], list[int]]:
    """Of six ranks four die, each where all do something together; where the others are then."""
    optimizer, checkpoints = small_run("drop", folder, min_nodes=2)

    def dies(number: int) -> None:
        if rank == number:
            os._exit(1)

    def mean() -> float:
        with optimizer.averaged_parameters():
            return float(optimizer.x[0])

    def error_without(number: int) -> float:
        average = optimizer.mean
        optimizer.mean = lambda: (average(), dies(number))[0]  # between its two sums
        return optimizer.consensus_error()

    def agree() -> float:
        optimizer.restore(2, optimizer.x, {})
        dies(2)
        optimizer.step()
        return optimizer.steps

    def save() -> float:
        dies(3)
        checkpoints.save()
        return len(read_nodes(folder))

    optimizer.x.fill_(float(rank))
    values, seconds = [], []
    for act in (lambda: (dies(5), mean())[1], lambda: error_without(4), save, agree):
        start = time.monotonic()
        values.append(act())
        seconds.append(time.monotonic() - start)
    return values, seconds, optimizer.steps


def test_a_death_in_a_collective_is_dropped_too(tmp_path):
    answers = Processes(deaths_in_collectives, tmp_path, size=6).results(deadline=60)
    assert [isinstance(answer, Dead) for answer in answers] == [False, False, *[True] * 4]
    for values, seconds, steps in answers[:2]:
        assert values == [2.0, 1.0, 3, 3]  # the mean of 0 to 4, its distance from 0 to 3, …
        assert steps == 3
        assert max(seconds) < 2, seconds


def resume(rank: int, folder: Path) -> int:
    return small_run("raise", folder)[1].resume()


def save_with_a_death(rank: int, folder: Path) -> None:
    """A checkpoint of all, one step more, and one without rank 2."""
    optimizer, checkpoints = small_run("drop", folder)
    checkpoints.save()
    optimizer.step()
    if rank == 2:
        os._exit(1)
    checkpoints.save()


def test_a_restart_does_not_go_back_behind_a_drop(tmp_path):
    Processes(save_with_a_death, tmp_path).results(deadline=30)
    for answer in Processes(resume, tmp_path).results():
        assert isinstance(answer.error, InvalidInput)
        assert "checkpoint: got step 1 with 3 nodes, need no newer step than 0" in str(answer.error)
    assert on_ranks(resume, tmp_path, size=3) == [1, 1, 1]


def former_ranks(rank: int, folder: Path) -> tuple[int, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parameter = nn.Parameter(torch.zeros(1, dtype=torch.float64))
        optimizer = DecentralizedOptimizer([parameter], DSGD(lr=0.1), complete, timeout=TIMEOUT)
        checkpoints = Checkpoints(folder, optimizer, None)
        checkpoints.resume()
    optimizer.step()
    checkpoints.save()
    told = [str(warning.message) for warning in caught if "after a drop" in str(warning.message)]
    return checkpoints.original_rank, told


def test_a_restart_after_a_drop_says_whose_data_each_rank_goes_on_with(tmp_path):
    Processes(save_with_a_death, tmp_path).results(deadline=30)
    told = "after a drop, rank 2 goes on as the former rank 3"
    for _ in range(2):  # also when it is resumed once more
        assert on_ranks(former_ranks, tmp_path, size=3) == [(0, [told]), (1, []), (3, [])]


def dies_in(rank: int, what: str, folder: Path) -> None:
    optimizer, checkpoints = small_run("raise", folder)
    if rank == 1:
        os._exit(1)
    checkpoints.save() if what == "save" else optimizer.consensus_error()


@pytest.mark.parametrize("what", ["save", "consensus_error"])
def test_a_death_in_a_collective_is_reported_by_all_others(tmp_path, what):
    start = time.time()
    answers = Processes(dies_in, what, tmp_path, size=3).results(deadline=30)
    for answer in (answers[0], answers[2]):
        assert isinstance(answer.error, PeerFailure)
        assert "step 0: exchange failed (" in str(answer.error)
        assert "taken fewer steps than the others" in str(answer.error)
        assert "a call that all ranks must make, e.g. save()" in str(answer.error)
        assert answer.at - start < 15


def steps_until_told(rank: int, log: Path, min_nodes: int | None) -> tuple[Any, ...]:
    """GT-DSGD on a ring of those left, until `log` exists; networks, seconds of drops, state."""
    warnings.simplefilter("ignore")
    parameter = nn.Parameter(torch.zeros(6, dtype=torch.float64))
    options = {"timeout": TIMEOUT, "on_peer_failure": "drop", "min_nodes": min_nodes}
    optimizer = DecentralizedOptimizer([parameter], GTDSGD(lr=0.1), ring, **options)
    networks, seconds, start = [optimizer.network.name], [], time.monotonic()
    while not all(optimizer.gather(log.exists)):
        Path(f"{log}-{rank}").write_text(str(optimizer.steps))
        parameter.grad = parameter.detach() - rank
        optimizer.step()
        end = time.monotonic()
        if optimizer.network.name != networks[-1]:
            networks.append(optimizer.network.name)
            seconds.append(end - start)
        start = end
    return networks, seconds, optimizer.algorithm_state


def later(log: Path, rank: int, steps: int = 20) -> None:
    """Wait until a rank has taken more steps."""
    wait_for_step(log, rank, int(Path(f"{log}-{rank}").read_text() or 0) + steps)


def test_two_at_once_then_a_silent_one_are_dropped_in_time(tmp_path):
    """Without ranks 1 and 3 the ring of five falls apart; a ring of three is made of the others."""
    log = tmp_path / "step"
    run = Launched(steps_until_told, log, 2, size=5)
    wait_for_step(log, 0, 5)
    run.kill(1)
    run.kill(3)
    later(log, 0)
    run.signal(4, signal.SIGSTOP)
    later(log, 0)
    log.touch()
    answers = run.results(30, 1, 3, 4)
    for rank in (0, 2):
        networks, (closed, silent), _ = answers[rank]
        assert networks == ["ring(5)", "ring(3)", "ring(2)"]
        assert closed < 1.5
        assert silent < TIMEOUT + 1
    trackers, gradients = (
        getattr(answers[0][2], k) + getattr(answers[2][2], k) for k in ("y", "grad")
    )
    torch.testing.assert_close(trackers, gradients, rtol=0, atol=1e-12)


def test_with_the_store_gone_a_death_ends_the_run_at_once(tmp_path):
    log = tmp_path / "step"
    run = Launched(steps_until_told, log, None, size=3)
    wait_for_step(log, 0, 5)
    run.store.kill()
    later(log, 0)  # steps do without it
    killed = time.time()
    run.kill(2)
    for answer in run.results(30, 2)[:2]:
        assert isinstance(answer.error, PeerFailure)
        assert "the rendezvous store is of no use" in str(answer.error)
        assert answer.at - killed < 2


def test_neither_side_of_a_partition_goes_on_if_only_the_smaller_has_the_store(tmp_path):
    """Rank 0 and the store on one side; what is stopped is as silent as what is cut off."""
    log = tmp_path / "step"
    run = Launched(steps_until_told, log, None)
    wait_for_step(log, 0, 5)
    for rank in (1, 2, 3):
        run.signal(rank, signal.SIGSTOP)
    cut = time.time()
    while run.ranks[0].is_alive() and time.time() < cut + 30:
        time.sleep(0.05)
    os.kill(run.store.pid, signal.SIGSTOP)
    woken = time.time()
    for rank in (1, 2, 3):
        run.signal(rank, signal.SIGCONT)
    alone, *others = run.results(30)
    assert "1 of them left, fewer than min_nodes=3" in str(alone.error)
    assert alone.at - cut < 2 * TIMEOUT
    for answer in others:
        assert isinstance(answer.error, PeerFailure)
        assert "the rendezvous store is of no use: no answer within" in str(answer.error)
        assert answer.at - woken < 2 * TIMEOUT


def steps_with_newcomers(rank: int, log: Path) -> tuple[list[str], list[float], int]:
    """Node i has (x − i)²/2: networks, x when each of them ends, and the number of steps."""
    warnings.simplefilter("ignore")
    parameter = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    options = {"timeout": 10.0, "on_peer_failure": "drop"}
    optimizer = DecentralizedOptimizer([parameter], GTDSGD(lr=0.5), ring, **options)
    assert Checkpoints(log.parent / "checkpoints", optimizer, None).resume() == optimizer.steps
    networks, ends = [optimizer.network.name], []
    while not all(optimizer.gather(log.exists)):
        for _ in range(10):
            Path(f"{log}-{rank}").write_text(str(optimizer.steps))
            x = float(parameter)
            parameter.grad = parameter.detach() - rank
            optimizer.step()
            if optimizer.network.name != networks[-1]:
                networks.append(optimizer.network.name)
                ends.append(x)
        before = float(parameter)
        if optimizer.admit():
            networks.append(optimizer.network.name)
            ends.append(before)
    return networks, [*ends, float(parameter)], optimizer.steps


def test_a_dropped_node_comes_back_and_a_new_one_comes(tmp_path):
    log = tmp_path / "step"
    run = Launched(steps_with_newcomers, log)
    wait_for_step(log, 0, 50)
    run.kill(2)
    later(log, 0, 50)
    Path(f"{log}-2").unlink()
    run.start(2)
    wait_for_step(log, 2, 100)
    later(log, 2, 50)
    run.start(4)
    wait_for_step(log, 4, 150)
    later(log, 4, 70)
    log.touch()
    first, _, _, _, again, new = answers = run.results(30, 2)
    networks, ends, steps = first
    assert networks == ["ring(4)", "ring(3)", "ring(4)", "ring(5)"]
    torch.testing.assert_close(ends, [1.5, 4 / 3, 1.5, 2.0], rtol=0, atol=1e-6)
    assert again[0] == ["ring(4)", "ring(5)"]
    assert new[0] == ["ring(5)"]
    for rank in (1, 3, 4, 5):
        torch.testing.assert_close(answers[rank][1][-1], ends[-1], rtol=0, atol=1e-6)
        assert answers[rank][2] == steps


def admitting_first(rank: int, log: Path) -> tuple[list[int], int, float]:
    """Who is let in at last, the number of steps, and x̄ some steps later."""
    warnings.simplefilter("ignore")
    parameter = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    options = {"timeout": 6.0, "on_peer_failure": "drop"}
    optimizer = DecentralizedOptimizer([parameter], EXTRA(lr=0.5), ring, **options)
    admitted, end = [], None
    while optimizer.steps != end:
        if optimizer.steps % 10 == 0 and not admitted:
            admitted = optimizer.admit()
            end = optimizer.steps + 60 if admitted else None
            optimizer.mean()
        Path(f"{log}-{rank}").write_text(str(optimizer.steps))
        parameter.grad = parameter.detach() - rank
        optimizer.step()
    return admitted, optimizer.steps, float(optimizer.mean())


def test_a_node_that_comes_back_to_a_call_of_admit_goes_on_from_it(tmp_path):
    log = tmp_path / "step"
    run = Launched(admitting_first, log)
    wait_for_step(log, 0, 15)
    run.kill(2)
    later(log, 0, 5)
    run.start(2)
    answers = run.results(60, 2)
    for rank in (0, 1, 3, 4):
        admitted, steps, mean = answers[rank]
        assert (admitted, steps) == ([2], answers[0][1])
        assert mean == pytest.approx(1.5, abs=1e-6)


def with_a_misfit(rank: int) -> tuple[list[str], list[int], int]:
    """Node 2 has another step size, node 3 fits: what is said, who comes in, and the nodes."""
    parameter = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    options = {"timeout": 10.0, "on_peer_failure": "drop"}
    method = GTDSGD(lr=0.3 if rank == 2 else 0.5)
    optimizer = DecentralizedOptimizer([parameter], method, ring, **options)
    said, admitted = [], []
    while not admitted or (rank < 2 and not said):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            admitted += optimizer.admit()
        said += [str(warning.message) for warning in caught if "let in" in str(warning.message)]
        parameter.grad = parameter.detach() - rank
        optimizer.step()
        time.sleep(0.01)
    return said, admitted, optimizer.network.num_nodes


def test_a_newcomer_that_does_not_fit_is_sent_away_and_the_others_go_on():
    run = Launched(with_a_misfit, size=2)
    time.sleep(1.0)
    refused = run.answer(run.start(2))
    problem = "rank 2 was not let in: algorithm: the run has GTDSGD(lr=0.5), it has GTDSGD(lr=0.3)"
    assert isinstance(refused.error, InvalidInput)
    assert str(refused.error).startswith(problem)
    run.start(3)
    first, second, _, third = run.results(30)
    for said, admitted, nodes in (first, second):
        assert problem in said[0]
        assert (admitted, nodes) == ([3], 3)
    assert third == ([], [3], 3)


def one_step_less(rank: int) -> None:
    """Rank 0 asks for the average where the others take a step."""
    warnings.simplefilter("ignore")
    parameter = nn.Parameter(torch.zeros(1))
    options = {"timeout": 1.5, "on_peer_failure": "drop"}
    optimizer = DecentralizedOptimizer([parameter], GTDSGD(lr=0.1), ring, **options)
    for _ in range(3 if rank else 2):
        optimizer.step()
    optimizer.mean()


def test_ranks_that_wait_for_different_things_end_together():
    start = time.monotonic()
    for answer in Processes(one_step_less, size=3).results(deadline=60):
        assert isinstance(answer.error, PeerFailure)
        assert "the ranks have failed 3 times at the same place: they seem to" in str(answer.error)
    assert time.monotonic() - start < 40


def uneven(rank: int) -> tuple[int, float]:
    """Rank i has i + 1 batches, each with gradient 1."""
    parameter = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = DecentralizedOptimizer([parameter], DSGD(lr=1.0), complete)
    for t in range(max(optimizer.gather(lambda: rank + 1))):
        optimizer.zero_grad()
        if t <= rank:
            parameter.sum().backward()
        optimizer.step()
    return optimizer.steps, float(optimizer.mean())


def test_ranks_with_less_data_go_on_with_gradient_0():
    for steps, mean in on_ranks(uneven, size=3):
        assert (steps, mean) == (3, pytest.approx(-2.0, abs=1e-12))  # six gradients of three nodes


def test_a_directed_network_cannot_drop():
    answers = Processes(
        quadratic_steps, DSGD(lr=0.1), exponential(4), 1, None, None, True
    ).results()
    for answer in answers:
        assert isinstance(answer.error, InvalidInput)
        assert "static with W = Wᵀ" in str(answer.error)
