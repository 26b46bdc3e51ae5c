"""Two machines, here two network namespaces, whose ranks meet in a tunnel."""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import torch
from processes import context
from test_stranger import listeners

import gossamer as gs

HERE = Path(__file__).parent
CAN = os.geteuid() == 0 and shutil.which("ip") and Path("/dev/net/tun").exists()
OUTSIDE, INSIDE = ("10.79.0.1", "10.79.0.2"), ("10.78.0.1", "10.78.0.2")
CLONE_NEWNET = 0x40000000


def train(pipe: Connection, machine: str, variables: dict[str, str]) -> None:
    """A rank on its machine: where it ends, and on which addresses it listens."""
    enter(machine)
    os.environ.update(variables)
    parameter = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    optimizer = gs.DecentralizedOptimizer([parameter], gs.GTDSGD(lr=0.3), gs.ring, timeout=30)
    for _ in range(100):
        parameter.grad = parameter.detach() - optimizer.rank
        optimizer.step()
    optimizer.consensus_error()
    pipe.send((parameter.tolist(), {address for address, _ in listeners([os.getpid()])}))
    os._exit(0)


def enter(machine: str) -> None:
    """What `os.setns` does from Python 3.12 on."""
    with open(f"/var/run/netns/{machine}") as namespace:
        assert ctypes.CDLL(None).setns(namespace.fileno(), CLONE_NEWNET) == 0


def ip(command: str) -> None:
    subprocess.run(["ip", *command.split()], check=True)


@contextmanager
def two_machines() -> Iterator[list[str]]:
    """Two namespaces, a cable between them, and a tunnel through the cable."""
    names, tunnels = [f"gossamer-{end}-{os.getpid()}" for end in "ab"], []
    try:
        for name in names:
            ip(f"netns add {name}")
            ip(f"-n {name} link set lo up")
        ip(f"link add cable netns {names[0]} type veth peer name cable netns {names[1]}")
        for k, name in enumerate(names):
            ip(f"-n {name} addr add {OUTSIDE[k]}/24 dev cable")
            ip(f"-n {name} link set cable up")
        for k, name in enumerate(names):
            ends = INSIDE[k], OUTSIDE[k], OUTSIDE[1 - k]
            command = ["ip", "netns", "exec", name, sys.executable, str(HERE / "tunnel.py"), *ends]
            started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert started.stdout is not None
            assert started.stdout.readline() == "ready\n"
            tunnels.append(started)
        yield names
    finally:
        for tunnel in tunnels:
            tunnel.kill()
            tunnel.communicate()
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


@pytest.mark.slow
@pytest.mark.skipif(not CAN, reason="needs root, iproute2 and /dev/net/tun")
def test_a_run_through_a_tunnel_listens_in_the_tunnel_only():
    told = {"WORLD_SIZE": "2", "MASTER_ADDR": INSIDE[0], "MASTER_PORT": "29400"}
    told |= {"GLOO_SOCKET_IFNAME": "tun0", "GOSSAMER_SECRET": "correct horse battery staple"}
    with two_machines() as machines:
        pipes = []
        for k, machine in enumerate(machines):
            mine, theirs = context.Pipe(duplex=False)
            arguments = (theirs, machine, told | {"RANK": str(k)})
            context.Process(target=train, args=arguments, daemon=True).start()
            pipes.append(mine)
        assert all(pipe.poll(90) for pipe in pipes)
        answers = [pipe.recv() for pipe in pipes]
    for k, (x, addresses) in enumerate(answers):
        assert x == pytest.approx([0.5, 0.5], abs=1e-9)
        assert addresses == {INSIDE[k]}
