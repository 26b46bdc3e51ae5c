"""Joining and leaving: nobody goes while another still connects, and no thread stays behind."""

import os
import subprocess
import sys
import time
from itertools import product
from multiprocessing.connection import Connection

import pytest
from processes import context
from test_stranger import listeners
from torch.distributed import TCPStore

from gossamer.distributed import join
from gossamer.distributed.launch import leave
from gossamer.distributed.rendezvous import host_store
from gossamer.errors import InvalidInput

RANKS = 4
STORES, ROUNDS = 1, 10  # of about fifty connections to one store, torch lets one wait 5 s

SCRIPT = """
import os, torch
import gossamer as gs
from gossamer.distributed.launch import join, leave

def gloo_threads():
    names = (open(f"/proc/self/task/{t}/comm").read() for t in os.listdir("/proc/self/task"))
    return sum("gloo" in name for name in names)

join()
model = torch.nn.Linear(3, 1)
optimizer = gs.DecentralizedOptimizer(model.parameters(), gs.DSGD(lr=0.1), network=gs.ring)
model(torch.ones(3)).sum().backward()
optimizer.step()
optimizer.consensus_error()
assert gloo_threads() > 0
leave()
assert gloo_threads() == 0
"""


def world(rank: int, size: int, port: int, attempt: int = 0) -> dict[str, str]:
    """What torchrun tells a rank."""
    values = {
        "RANK": rank,
        "WORLD_SIZE": size,
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": port,
        "TORCHELASTIC_USE_AGENT_STORE": True,
        "TORCHELASTIC_RESTART_COUNT": attempt,
    }
    return {name: str(value) for name, value in values.items()}


def new_store() -> TCPStore:
    return TCPStore("localhost", 0, is_master=True, wait_for_workers=False)


def test_no_thread_of_gloo_outlives_the_group():
    """One that came late would abort the process; here everything that could hold it is alive."""
    store = new_store()
    environment = {**os.environ, **world(0, 1, store.port)}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=environment, timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def come_and_go(rank: int, ports: list[int]) -> None:
    """Join and leave at once, as a rank that refuses its input does; again and again."""
    for port, attempt in product(ports, range(ROUNDS)):
        os.environ.update(world(rank, RANKS, port, attempt))
        assert join(timeout=20) == rank
        leave()
    os._exit(0)


def come_alone(rank: int, port: int, agent: bool, pipe: Connection) -> None:
    os.environ.update(world(rank, RANKS, port) | {"TORCHELASTIC_USE_AGENT_STORE": str(agent)})
    try:
        join(timeout=2)
    except ConnectionError as error:
        pipe.send(str(error))


def test_who_does_not_come_is_named():
    """Of four ranks 2 and 3 do not come; and of two that look for a store, nobody has made one."""
    store, (free, theirs) = new_store(), context.Pipe(duplex=False)
    ranks = [context.Process(target=come_alone, args=(r, store.port, True, theirs)) for r in (0, 1)]
    ranks.append(context.Process(target=come_alone, args=(1, 1, False, theirs)))
    for process in ranks:
        process.start()
    said = sorted(free.recv() for _ in ranks)
    for process in ranks:
        process.join()
    nobody, *missing = said
    assert nobody.startswith("nobody answers at localhost:1 within 2 s")
    assert "start rank 0 there" in nobody
    ranks_2_3 = "ranks 2, 3 of 4 did not connect within 2 s; start them, or a smaller network"
    assert missing == [ranks_2_3] * 2


VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@pytest.fixture
def nothing_said(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def say(monkeypatch, *values: str) -> None:
    for name, value in zip(VARIABLES, values, strict=False):
        if value:
            monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (("1", "4", "127.0.0.1"), "MASTER_PORT"),
        (("0", "4"), "MASTER_ADDR and MASTER_PORT"),
        (("", "4", "127.0.0.1", "29400"), "RANK"),
        (("0", ""), "WORLD_SIZE and MASTER_ADDR and MASTER_PORT"),
        (("1", "1"), "MASTER_ADDR and MASTER_PORT"),
    ],
)
def test_a_part_of_an_environment_is_refused(values, missing, nothing_said):
    """Else every process would train alone, and take itself for rank 0 of 1."""
    say(nothing_said, *values)
    with pytest.raises(InvalidInput, match=rf"^environment: got .*, need {missing}, too; start"):
        join(timeout=1)


@pytest.mark.parametrize("values", [(), ("", "1"), ("0", "1"), ("", "", "127.0.0.1", "29400")])
def test_an_environment_of_one_process_is_alone(values, nothing_said):
    say(nothing_said, *values)
    assert join() == 0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (("x", "4"), "RANK: got 'x', need an integer of at least 0"),
        (("0", "four"), "WORLD_SIZE: got 'four', need an integer"),
        (("0", "0"), "WORLD_SIZE: got 0, need an integer of at least 1"),
        (("7", "4"), r"RANK: got 7, need an integer in \[0, 3\]"),
    ],
)
def test_a_place_that_is_none_is_refused_at_once(values, words, nothing_said):
    say(nothing_said, *values, "127.0.0.1", "1")
    began = time.monotonic()
    with pytest.raises(InvalidInput, match=words):
        join(timeout=30)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("rank", ["0", "1"])
@pytest.mark.parametrize(
    ("size", "port", "least"), [("1", "65536", 0), ("2", "65536", 1), ("2", "0", 1)]
)
def test_a_port_that_others_cannot_find_is_refused(rank, size, port, least, nothing_said):
    say(nothing_said, rank, size, "127.0.0.1", port)
    with pytest.raises(InvalidInput, match=rf"MASTER_PORT: got {port}, .* in \[{least}, 65535\]"):
        join(timeout=1)


@pytest.mark.parametrize("here", ["0", "-1", "two"])
def test_a_number_of_processes_here_that_is_none_is_refused(here, nothing_said):
    say(nothing_said, "0", "2", "127.0.0.1", "1")
    nothing_said.setenv("LOCAL_WORLD_SIZE", here)
    with pytest.raises(InvalidInput, match=r"LOCAL_WORLD_SIZE: got .*, need an integer of at leas"):
        join(timeout=1)


def test_an_address_that_nobody_has_is_refused():
    with pytest.raises(
        InvalidInput, match=r"store: cannot listen at nohost\.invalid:0 \(.*MASTER_A"
    ):
        host_store("nohost.invalid")


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), 1e20])
def test_a_timeout_that_cannot_be_waited_for_is_refused(timeout):
    with pytest.raises(InvalidInput, match=r"timeout: got .* a number of seconds above 0, at most"):
        join(timeout)


def test_the_store_listens_where_it_was_told_only():
    """torch's own listens everywhere, whatever the address."""
    for store, only_there in ((host_store("127.0.0.1"), True), (new_store(), False)):
        where = {address for address, port in listeners([os.getpid()]) if port == store.port}
        assert (where == {"127.0.0.1"}) is only_there


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(InvalidInput, match=r"store: cannot listen at 192\.0\.2\.1:0 \("):
        host_store("192.0.2.1")


def test_ranks_that_leave_at_once_let_the_others_join():
    stores = [new_store() for _ in range(STORES)]
    ports = [store.port for store in stores]
    ranks = [context.Process(target=come_and_go, args=(r, ports)) for r in range(RANKS)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(timeout=60)
        process.kill()
        process.join()
    assert [process.exitcode for process in ranks] == [0] * RANKS
