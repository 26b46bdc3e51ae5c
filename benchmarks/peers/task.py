"""What every tool is given: least squares on a graph, as plain arrays. Needs only numpy.

Every script `with_*.py` is run in the environment of its tool as `python with_x.py task.npz`,
and prints one line of JSON per case: what `answer` makes.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Task:
    """f_i(x) = ½ xᵀP_i x + q_iᵀx = (1/2m) ‖A_i x − b_i‖² + constant, node i of n."""

    hessians: Array  # P, (n, d, d)
    linear: Array  # q, (n, d)
    lr: float
    rounds: int
    repetitions: int

    @property
    def num_nodes(self) -> int:
        return len(self.linear)

    @property
    def dim(self) -> int:
        return self.linear.shape[1]

    @property
    def optimum(self) -> Array:
        return np.linalg.solve(self.hessians.mean(0), -self.linear.mean(0))

    def error(self, x: Array) -> float:
        """(1/n) Σ ‖x_i − x*‖, relative to the start 0."""
        optimum = self.optimum
        return float(np.linalg.norm(x - optimum, axis=1).mean() / np.linalg.norm(optimum))


def make_task(num_nodes: int, rounds: int, repetitions: int, dim: int = 20, seed: int = 0) -> Task:
    """Nodes whose data obey different linear models, so that their optima differ."""
    random = np.random.default_rng(seed)
    samples = 3 * dim
    features = random.standard_normal((num_nodes, samples, dim))
    truth = random.standard_normal(dim) + 0.3 * random.standard_normal((num_nodes, dim))
    labels = np.einsum("nmd,nd->nm", features, truth)
    hessians = np.einsum("nmd,nme->nde", features, features) / samples
    linear = -np.einsum("nmd,nm->nd", features, labels) / samples
    lr = 0.3 / np.linalg.eigvalsh(hessians).max()
    return Task(hessians, linear, float(lr), rounds, repetitions)


def save(task: Task, path: str) -> None:
    np.savez(path, **vars(task))


def load(path: str) -> Task:
    held = np.load(path)
    lr, rounds, repetitions = float(held["lr"]), int(held["rounds"]), int(held["repetitions"])
    return Task(held["hessians"], held["linear"], lr, rounds, repetitions)


def ring_weights(num_nodes: int) -> Array:
    """Every node and its two neighbours with weight 1/3."""
    eye = np.eye(num_nodes)
    return (eye + np.roll(eye, 1, axis=1) + np.roll(eye, -1, axis=1)) / 3


def timed(
    prepare: Callable[[], Callable[[], Array]], repetitions: int
) -> tuple[list[float], Array]:
    """Seconds of each repetition, after one that is not counted, and what the last returned.

    `prepare` makes a run ready to be started, outside the measurement.
    """
    prepare()()
    seconds = []
    for _ in range(repetitions):
        run = prepare()
        start = time.perf_counter()
        x = run()
        seconds.append(time.perf_counter() - start)
    return seconds, x


def answer(case: str, package: str, seconds: list[float], x: Array) -> None:
    """Report a case: seconds of each repetition and the final x, (n, d)."""
    facts = {"case": case, "package": package, "version": version(package)}
    print(json.dumps({**facts, "seconds": seconds, "x": np.asarray(x).tolist()}), flush=True)


def given() -> Task:
    """The task named on the command line."""
    return load(sys.argv[1])
