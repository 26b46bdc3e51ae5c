"""Kill ranks at random moments, again and again: `python tests/distributed/soak.py`.

Restart: torchrun restarts the job after every kill; its final state must equal that of an
uninterrupted run bit for bit. Drop: the survivors must reach their own optimum. Raise: all others
must end with a `PeerFailure`. Come and go: ranks are killed in steps, collectives and saves, while
the others regroup, and while they come back; in the end all must be back, at the optimum of all.
Flips: a checkpoint with another byte, at any place, must be refused by the name of its file.
"""

import argparse
import faulthandler
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from processes import Dead, Failed, Launched, Processes, on_ranks
from test_failures import quadratic_steps, survivors_optimum, wait_for_step
from torch import nn

from gossamer.algorithms import GTDSGD
from gossamer.distributed import Checkpoints, DecentralizedOptimizer, PeerFailure, read_nodes
from gossamer.distributed.checkpoint import node_file, read_node, steps_of_node
from gossamer.errors import InvalidInput
from gossamer.networks import complete, ring
from gossamer.train import train

RANKS = 4
PATIENCE = 5.0
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


def busy(rank: int, log: Path, policy: str) -> float:
    """Node i has (x − i)²/2; steps and all that ranks do together, until `log` exists."""
    warnings.simplefilter("ignore")
    faulthandler.register(signal.SIGUSR1)
    parameter = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    options = {"timeout": PATIENCE, "on_peer_failure": policy}
    options |= {"min_nodes": 2} if policy == "drop" else {}
    optimizer = DecentralizedOptimizer([parameter], GTDSGD(lr=0.5), complete, **options)
    checkpoints = Checkpoints(log.parent / "checkpoints", optimizer, None)
    while not all(optimizer.gather(log.exists)):
        for _ in range(5):
            parameter.grad = parameter.detach() - rank
            optimizer.step()
            optimizer.consensus_error()
            with optimizer.averaged_parameters():
                pass
        checkpoints.save()
        if policy == "drop":
            optimizer.admit()
        Path(f"{log}-{rank}").write_text(f"{optimizer.steps} {optimizer.network.num_nodes}")
    return float(parameter)


class ComeAndGo:
    """A run whose ranks are killed and started again."""

    def __init__(self, folder: Path, policy: str, seed: int) -> None:
        self.log, self.draw, self.longest = folder / "end", random.Random(seed), 0.0
        self.run = Launched(busy, self.log, policy, size=RANKS)
        self.places, self.kills = list(range(RANKS)), 0
        self.wait_for(RANKS, min_steps=5)

    def seen(self, rank: int) -> tuple[int, int]:
        """Steps and nodes, as a rank has last written them."""
        file = Path(f"{self.log}-{rank}")
        text = file.read_text() if file.exists() else ""
        steps, nodes = text.split() if len(text.split()) == 2 else (0, 0)
        return int(steps), int(nodes)

    def wait_for(self, nodes: int, min_steps: int = 0) -> None:
        """Until each of all ranks that live says that there are so many."""
        start = time.monotonic()
        alive = [r for r in range(RANKS) if self.run.ranks[self.places[r]].is_alive()]
        before = {r: self.seen(r)[0] for r in alive}
        while time.monotonic() < start + 40:
            now = {r: self.seen(r) for r in alive}
            if all(now[r][1] == nodes and now[r][0] > before[r] + min_steps for r in alive):
                self.longest = max(self.longest, time.monotonic() - start)
                return
            time.sleep(0.01)
        for rank in alive:
            place = self.places[rank]
            if self.run.pipes[place].poll():
                print(f"rank {rank}:", getattr(self.run.answer(place), "text", "has ended"))
            elif self.run.ranks[place].is_alive():
                self.run.signal(place, signal.SIGUSR1)  # shows where it is
                time.sleep(0.5)
        raise AssertionError(f"ranks {alive} are not {nodes} in 40 s: {now}")

    def kill(self, rank: int) -> None:
        time.sleep(self.draw.uniform(0, 0.1))
        self.run.kill(self.places[rank])
        self.run.ranks[self.places[rank]].join()
        self.kills += 1

    def bring_back(self, rank: int) -> None:
        Path(f"{self.log}-{rank}").unlink(missing_ok=True)
        self.places[rank] = self.run.start(rank)

    def round(self) -> str:
        """Kill one or two and bring them back; which kind it was."""
        kind = self.draw.choice(["one", "regroup", "rejoin"])
        one, other = self.draw.sample(range(RANKS), 2)
        self.kill(one)
        if kind == "regroup":  # of four two are left, who have not agreed yet
            self.kill(other)
            self.wait_for(RANKS - 2)
            self.bring_back(other)
        elif kind == "rejoin":
            self.bring_back(one)
            time.sleep(self.draw.uniform(0, 1.0))
            self.kill(one)
        self.bring_back(one)
        self.wait_for(RANKS)
        return kind

    def end(self) -> list[Any]:
        """What the ranks that live return."""
        time.sleep(1.0)
        self.log.touch()
        killed = set(range(len(self.run.pipes))) - set(self.places)
        answers = self.run.results(60, *killed)
        return [answers[place] for place in self.places]


def soak_come_and_go(folder: Path, kills: int, seed: int) -> None:
    start, life, kinds = time.monotonic(), ComeAndGo(folder, "drop", seed), Counter()
    while life.kills < kills:
        kinds[life.round()] += 1
        print(f"come and go: {life.kills} kills, {dict(kinds)}", flush=True)
    for answer in life.end():
        assert not isinstance(answer, Dead | Failed), getattr(answer, "text", "dead")
        assert abs(answer - (RANKS - 1) / 2) < 1e-6, answer
    took = f"longest wait {life.longest:.1f} s, timeout {PATIENCE:g} s"
    print(f"come and go: {life.kills} kills, all back; {took}; {time.monotonic() - start:.0f} s")


def soak_raises(folder: Path, kills: int, seed: int) -> None:
    slowest = 0.0
    for k in range(kills):
        place = folder / f"raise-{k}"
        place.mkdir()
        life = ComeAndGo(place, "raise", seed + k)
        dead = life.draw.randrange(RANKS)
        life.kill(dead)
        killed = time.time()
        for rank, answer in enumerate(life.run.results(2 * PATIENCE, dead)):
            if rank != dead:
                assert isinstance(answer.error, PeerFailure), answer.text
                slowest = max(slowest, answer.at - killed)
    print(f"raise: {kills} kills, a PeerFailure on all others, at most {slowest:.2f} s later")


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
    parser.add_argument("--raises", type=int, default=10)
    parser.add_argument("--come-and-go", type=int, default=20)
    parser.add_argument("--flips", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.restarts:
            soak_restarts(Path(folder), options.restarts, options.seed)
        if options.drops:
            soak_drops(Path(folder), options.drops, options.seed)
        if options.raises:
            soak_raises(Path(folder), options.raises, options.seed)
        if options.come_and_go:
            soak_come_and_go(Path(folder), options.come_and_go, options.seed)
        if options.flips:
            soak_flips(Path(folder) / "flips", options.flips, options.seed)


if __name__ == "__main__":
    main()
