"""Kill ranks at random moments, again and again: `python tests/distributed/soak.py`.

Restart: torchrun restarts the job after every kill; its final state must equal that of an
uninterrupted run bit for bit. Drop: the survivors must reach their own optimum. Flips: a checkpoint
with another byte, at any place, must be refused by the name of its file.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from processes import Dead, Processes, on_ranks
from test_failures import quadratic_steps, survivors_optimum, wait_for_step

from gossamer.algorithms import GTDSGD
from gossamer.distributed import read_nodes
from gossamer.distributed.checkpoint import node_file, read_node, steps_of_node
from gossamer.errors import InvalidInput
from gossamer.networks import ring
from gossamer.train import train

RANKS = 4
RESTARTED = 2  # torchrun ends and starts all ranks, and each imports torch


def launch(folder: Path, steps: int, restarts: int) -> subprocess.Popen:
    """`gossamer.train` on two ranks, with checkpoints in `folder`."""
    torchrun = f"-m torch.distributed.run --nproc-per-node {RESTARTED} --max-restarts {restarts}"
    torchrun += " --monitor-interval 0.1 --rdzv-backend c10d --rdzv-endpoint localhost:0"
    train = f"-m gossamer.train --data blobs --lr 0.1 --momentum 0.8 --steps {steps}"
    train += f" --save-every 20 --log-every {steps} --timeout 20 --checkpoints {folder}"
    with open(folder.with_suffix(".log"), "w") as log:
        return subprocess.Popen(
            [sys.executable, *torchrun.split(), *train.split()],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def finish(job: subprocess.Popen, deadline: float) -> int:
    """The exit status; everything the job started is killed at the deadline."""
    try:
        return job.wait(timeout=max(1.0, deadline - time.monotonic()))
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)


def restart_run(folder: Path, kills: int, steps: int, seed: int, limit: float) -> int:
    """Train to the end while `kills` random ranks are killed, each soon after a new checkpoint.

    Returns how many were.
    """
    draw = random.Random(seed)
    deadline = time.monotonic() + limit
    job = launch(folder, steps, restarts=kills + 2)
    killed, seen = 0, 0
    while killed < kills and job.poll() is None and time.monotonic() < deadline:
        newest = max(steps_of_node(folder, 0), default=0)
        if newest > seen:
            time.sleep(draw.uniform(0, 0.3))
            killed += kill_worker(job, draw.randrange(RESTARTED))
            seen = newest
        time.sleep(0.02)
    assert finish(job, deadline) == 0, folder.with_suffix(".log").read_text()[-3000:]
    return killed


def kill_worker(job: subprocess.Popen, which: int) -> bool:
    children = Path(f"/proc/{job.pid}/task/{job.pid}/children")
    workers = sorted(map(int, children.read_text().split())) if children.exists() else []
    if len(workers) < RESTARTED:
        return False
    os.kill(workers[which], signal.SIGKILL)
    return True


def uninterrupted_run(rank: int, folder: Path, steps: int) -> None:
    """The same run as one of `Processes`."""
    options = {"save_every": 20, "log_every": steps, "checkpoints": str(folder)}
    train(data="blobs", lr=0.1, momentum=0.8, steps=steps, **options)


def require_same_end(ours: Path, theirs: Path) -> None:
    """Every node's parameters and state, bit for bit."""
    for one, other in zip(read_nodes(ours), read_nodes(theirs), strict=True):
        assert one.step == other.step
        for name in ("x", "state.v", "state.y"):
            assert torch.equal(one.tensors[name], other.tensors[name]), (one.node, name)


def drop_run(folder: Path, seed: int) -> float:
    """Kill one random rank at a random step; the survivors' distance to their own optimum."""
    draw = random.Random(seed)
    dead, log = draw.randrange(RANKS), folder / f"step-{seed}"
    processes = Processes(quadratic_steps, GTDSGD(lr=0.3), ring(4), 600, None, log, True, 0.002)
    wait_for_step(log, dead, draw.randrange(300))
    time.sleep(draw.uniform(0, 0.01))
    processes.kill(dead)
    answers = processes.results(deadline=90)
    assert isinstance(answers.pop(dead), Dead)
    return max(float((x - survivors_optimum(dead)).abs().max()) for x, _, _ in answers)


def soak_restarts(folder: Path, kills: int, seed: int) -> None:
    steps, start = 600 * kills, time.monotonic()
    killed = restart_run(folder / "killed", kills, steps, seed, limit=60 * kills)
    on_ranks(uninterrupted_run, folder / "whole", steps, size=RESTARTED, deadline=60 * kills)
    require_same_end(folder / "killed", folder / "whole")
    took = time.monotonic() - start
    print(f"restart: {killed} kills, {steps} steps, the same end bit for bit, {took:.0f} s")


def soak_drops(folder: Path, kills: int, seed: int) -> None:
    errors = [drop_run(folder, seed + k) for k in range(kills)]
    assert max(errors) < 1e-6
    print(f"drop: {len(errors)} kills, largest error {max(errors):.1e}")


def soak_flips(folder: Path, flips: int, seed: int) -> None:
    uninterrupted_run(0, folder, steps=20)
    path, draw = node_file(folder, 20, 0), random.Random(seed)
    content, refused = path.read_bytes(), 0
    for _ in range(flips):
        flipped = bytearray(content)
        flipped[draw.randrange(len(content))] ^= draw.randrange(1, 256)
        path.write_bytes(flipped)
        try:
            read_node(folder, 20, 0)
        except InvalidInput as error:
            refused += str(path) in str(error)
    assert refused == flips
    print(f"flips: {refused} of {flips} in {len(content):,} bytes refused by name")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--drops", type=int, default=20)
    parser.add_argument("--flips", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.restarts:
            soak_restarts(Path(folder), options.restarts, options.seed)
        if options.drops:
            soak_drops(Path(folder), options.drops, options.seed)
        if options.flips:
            soak_flips(Path(folder) / "flips", options.flips, options.seed)


if __name__ == "__main__":
    main()
