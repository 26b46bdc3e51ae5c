"""A stranger who reaches the ports: his code does not run, and he cannot change a number."""

import json
import os
import pickle
import socket
import time
from contextlib import suppress
from datetime import timedelta
from ipaddress import ip_address
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from processes import context
from test_agreement import Bomb
from torch import Tensor, nn

from gossamer.algorithms import GTDSGD
from gossamer.distributed import DecentralizedOptimizer, join
from gossamer.distributed.last_words import LastWords
from gossamer.distributed.patient_store import PatientStore
from gossamer.distributed.rendezvous import host_store
from gossamer.distributed.secret import VARIABLE, sealed, secret
from gossamer.errors import InvalidInput
from gossamer.files import whole_file
from gossamer.networks import ring

RANKS, STEPS = 3, 60
SECRET = "correct horse battery staple"


def world(rank: int, port: int, secret: str) -> dict[str, str]:
    values = {"RANK": rank, "WORLD_SIZE": RANKS, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    values |= {"TORCHELASTIC_USE_AGENT_STORE": True, VARIABLE: secret}
    return {name: str(value) for name, value in values.items()}


def until(file: Path, seconds: float) -> None:
    """Wait until the file is there, at most so long."""
    deadline = time.monotonic() + seconds
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def honest(rank: int, port: int, secret: str, folder: str, pipe: Connection) -> None:
    """Train for a while, and send the result, or what was refused."""
    torch.set_num_threads(1)
    os.environ.update(world(rank, port, secret))
    try:
        join(timeout=8)
        parameter = nn.Parameter(torch.zeros(2, dtype=torch.float64))
        optimizer = DecentralizedOptimizer([parameter], GTDSGD(lr=0.5), ring, timeout=15)
        for t in range(STEPS):
            with whole_file(Path(folder, f"step-{rank}")) as partial:  # never seen half written
                partial.write_text(str(t))
            until(Path(folder, "left alone"), 0.3)  # on a fast machine, too, strangers come in time
            parameter.grad = parameter.detach() - rank
            optimizer.step()
        pipe.send_bytes(pickle.dumps(optimizer.x.tolist()))
    except Exception as error:
        pipe.send_bytes(pickle.dumps(f"{type(error).__name__}: {error}"))
    os._exit(0)


def impostor(rank: int, port: int, folder: str) -> None:
    """Take a place by torch's own means, without the secret, and send a pickle that runs code."""
    store = dist.TCPStore("127.0.0.1", port, timeout=timedelta(seconds=15))
    store = dist.PrefixStore("run_0", dist.PrefixStore("attempt_0", store))
    store.set(f"here_{rank}", "")
    limit = timedelta(seconds=2)
    with suppress(Exception):
        dist.init_process_group("gloo", store=store, rank=rank, world_size=RANKS, timeout=limit)
        dist.all_gather_object([None] * RANKS, Bomb(f"{folder}/his code ran"))
    os._exit(0)


class Run:
    """Honest ranks, and what they end with."""

    def __init__(self, folder: Path, secrets: list[str]):
        self.store, self.pipes, self.processes = host_store("127.0.0.1"), [], []
        for rank, known in enumerate(secrets):
            mine, theirs = context.Pipe(duplex=False)
            arguments = (rank, self.store.port, known, str(folder), theirs)
            self.processes.append(context.Process(target=honest, args=arguments, daemon=True))
            self.processes[-1].start()
            theirs.close()
            self.pipes.append(mine)

    def results(self) -> list[str | list[float]]:
        try:
            assert all(pipe.poll(60) for pipe in self.pipes)
            return [pickle.loads(pipe.recv_bytes()) for pipe in self.pipes]
        finally:
            for process in self.processes:
                process.kill()
                process.join()


def test_a_rank_without_the_secret_is_refused_by_name_and_his_code_does_not_run(tmp_path):
    """One run meets a stranger in the place of rank 2, another a colleague with a typing error."""
    strange = Run(tmp_path, [SECRET] * 2)
    colleague = Run(tmp_path, [SECRET] * 2 + [SECRET.title()])
    arguments = (2, strange.store.port, str(tmp_path))
    stranger = context.Process(target=impostor, args=arguments, daemon=True)
    stranger.start()
    for said in strange.results():
        assert said.startswith("ConnectionError: rank 2: did not prove in 8 s to know the"), said
    for said in colleague.results()[:2]:
        assert said.startswith("PermissionError: rank 2: GOSSAMER_SECRET differs from that"), said
    stranger.kill()
    stranger.join()
    assert not (tmp_path / "his code ran").exists()


def test_a_rank_that_was_not_told_the_secret_is_named_by_all_and_to_itself(tmp_path):
    for said in Run(tmp_path, [SECRET, SECRET, ""]).results():
        assert said.startswith(
            "PermissionError: rank 2: GOSSAMER_SECRET differs from that of rank 0, or is not set; "
        ), said


def listeners(pids: list[int]) -> set[tuple[str, int]]:
    """Address and port of every TCP socket on which these processes listen."""
    sockets = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                sockets.add(os.readlink(link))
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    lines += [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    mine = [one[1] for one in lines if one[3] == "0A" and f"socket:[{one[9]}]" in sockets]
    return {as_written(*where.split(":")) for where in mine}


def as_written(address: str, port: str) -> tuple[str, int]:
    """The kernel's hexadecimal words, as people write them."""
    bytes_of = bytes.fromhex(address)
    words = b"".join(bytes_of[k : k + 4][::-1] for k in range(0, len(bytes_of), 4))
    return str(ip_address(words)), int(port, 16)


def disturb(port: int) -> None:
    """Noise, half a message, silence: whatever comes to mind to someone who does not know."""
    bomb = pickle.dumps(Bomb("/"))
    for content in (os.urandom(4096), b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 7, bomb):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.settimeout(0.1)
            connection.sendall(content)
            with suppress(OSError):
                connection.recv(1)


def test_noise_on_all_ports_and_lies_in_the_store_change_no_number(tmp_path):
    """The optimum of the run is exact: any disturbed message would show."""
    run = Run(tmp_path, [SECRET] * RANKS)
    until(tmp_path / "step-0", 40)
    ports = {port for _, port in listeners([process.pid for process in run.processes])}
    assert ports, "no rank listens: the test looks in the wrong place"
    for port in [run.store.port, *ports]:
        disturb(port)
    liar = dist.TCPStore("127.0.0.1", run.store.port, timeout=timedelta(seconds=5))
    for key in ("here_0", "last_words", "words", "decision"):
        liar.set(f"attempt_0/{key}", json.dumps(["node 0: gave up", "no seal"]))
    began = int((tmp_path / "step-0").read_text())
    (tmp_path / "left alone").touch()
    results = run.results()
    assert began < STEPS - 1, "the run was over before the stranger had come"
    undisturbed = Run(tmp_path, [SECRET] * RANKS).results()
    assert results == undisturbed
    torch.testing.assert_close(Tensor(results[0]), torch.ones(2), atol=1e-5, rtol=0)


def test_words_without_a_seal_are_not_heard(monkeypatch):
    monkeypatch.setenv(VARIABLE, SECRET)
    store = dist.HashStore()
    words = LastWords(PatientStore(store, patience=5.0), "last_words_1")
    for lie in ("node 0: gave up", json.dumps(["node 0: gave up", "0" * 64]), json.dumps(7)):
        store.set("last_words_1/words", lie)
        assert words.heard() is None
    monkeypatch.setenv(VARIABLE, SECRET.title())
    store.set("last_words_1/words", sealed("last_words_1/words", "node 0: gave up"))
    assert words.heard() == "node 0: gave up"
    monkeypatch.setenv(VARIABLE, SECRET)
    assert words.heard() is None


def test_a_short_secret_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "1234")
    with pytest.raises(InvalidInput, match="GOSSAMER_SECRET: got 4 characters, need none, or at"):
        secret()
