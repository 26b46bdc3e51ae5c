"""Two machines, here two network namespaces, whose ranks meet in a tunnel."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CAN = os.geteuid() == 0 and shutil.which("ip") and Path("/dev/net/tun").exists()
OUTSIDE, INSIDE = ("10.79.0.1", "10.79.0.2"), ("10.78.0.1", "10.78.0.2")

RANK = """
import json, os, torch
import gossamer as gs
from test_stranger import listeners

parameter = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
optimizer = gs.DecentralizedOptimizer([parameter], gs.GTDSGD(lr=0.3), gs.ring, timeout=30)
for _ in range(100):
    parameter.grad = parameter.detach() - optimizer.rank
    optimizer.step()
optimizer.consensus_error()
print(json.dumps([parameter.tolist(), sorted(address for address, _ in listeners([os.getpid()]))]))
"""


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
            started = start(name, [sys.executable, str(HERE / "tunnel.py"), *ends], {})
            assert started.stdout.readline() == "ready\n"
            tunnels.append(started)
        yield names
    finally:
        for tunnel in tunnels:
            tunnel.kill()
            tunnel.communicate()
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


def start(machine: str, command: list[str], variables: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["ip", "netns", "exec", machine, *command],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.skipif(not CAN, reason="needs root, iproute2 and /dev/net/tun")
def test_a_run_through_a_tunnel_listens_in_the_tunnel_only():
    told = {"WORLD_SIZE": "2", "MASTER_ADDR": INSIDE[0], "MASTER_PORT": "29400"}
    told |= {"GLOO_SOCKET_IFNAME": "tun0", "GOSSAMER_SECRET": "correct horse battery staple"}
    told |= {"PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent.parent)])}
    with two_machines() as machines:
        ranks = [
            start(machine, [sys.executable, "-c", RANK], told | {"RANK": str(k)})
            for k, machine in enumerate(machines)
        ]
        answers = [json.loads(rank.communicate(timeout=90)[0]) for rank in ranks]
    for k, (x, addresses) in enumerate(answers):
        assert x == pytest.approx([0.5, 0.5], abs=1e-9)
        assert set(addresses) == {INSIDE[k]}
