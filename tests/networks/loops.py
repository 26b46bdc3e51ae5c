"""GT-NSGDm on bad networks as plain loops over nodes and links, in numpy: nothing is shared."""

from collections.abc import Callable

import networkx as nx
import numpy as np

Grad = Callable[[np.ndarray], np.ndarray]
Arrives = Callable[[int, int, int], bool]
"""Whether the message of a round from a sender to a receiver arrives."""


def weights(graph: nx.DiGraph) -> tuple[np.ndarray, np.ndarray]:
    """R and C: a node weighs all it hears alike, and splits what it sends into equal parts."""
    n = len(graph)
    R, C = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        R[i, i] = 1 / (1 + graph.in_degree(i))
        C[i, i] = 1 / (1 + graph.out_degree(i))
    for sender, receiver in graph.edges:
        R[receiver, sender] = R[receiver, receiver]
        C[receiver, sender] = C[sender, sender]
    return R, C


class PushPull:
    """Opinions by R, totals by C."""

    def __init__(self, graph: nx.DiGraph) -> None:
        self.R, self.C = weights(graph)

    def pull(self, t: int, z: np.ndarray) -> np.ndarray:
        return self.R @ z

    def push(self, t: int, z: np.ndarray) -> np.ndarray:
        return self.C @ z


class RunningSums:
    """A sender sends the sum of all c z so far; the receiver takes what is new in it."""

    def __init__(self, graph: nx.DiGraph, arrives: Arrives) -> None:
        self.R, self.C = weights(graph)
        self.links, self.arrives = list(graph.edges), arrives
        self.sent = dict.fromkeys(self.links, 0.0)
        self.heard = dict.fromkeys(self.links, 0.0)

    def pull(self, t: int, z: np.ndarray) -> np.ndarray:
        mixed = z.copy()
        for sender, receiver in self.links:
            if self.arrives(t, sender, receiver):
                mixed[receiver] += self.R[receiver, sender] * (z[sender] - z[receiver])
        return mixed

    def push(self, t: int, z: np.ndarray) -> np.ndarray:
        mixed = np.diag(self.C)[:, None] * z
        for link in self.links:
            sender, receiver = link
            self.sent[link] = self.sent[link] + self.C[receiver, sender] * z[sender]
            if self.arrives(t, sender, receiver):
                mixed[receiver] += self.sent[link] - self.heard[link]
                self.heard[link] = self.sent[link]
        return mixed


class Copies:
    """Public copies that follow the k largest differences; γ of the way to what they say."""

    def __init__(self, graph: nx.DiGraph, count: int, gamma: float) -> None:
        self.R, self.C = weights(graph)
        self.count, self.gamma = count, gamma
        self.copies: dict[str, np.ndarray] = {}

    def pull(self, t: int, z: np.ndarray) -> np.ndarray:
        return self._mix("x", self.R, z)

    def push(self, t: int, z: np.ndarray) -> np.ndarray:
        return self._mix("y", self.C, z)

    def _mix(self, name: str, M: np.ndarray, z: np.ndarray) -> np.ndarray:
        copy = self.copies.get(name, z).copy()
        for i in range(len(z)):
            largest = np.argsort(np.abs(z[i] - copy[i]))[-self.count :]
            copy[i, largest] = z[i, largest]
        self.copies[name] = copy
        return z + self.gamma * (M @ copy - copy)


class NowAndThen:
    """Nothing in the first k − 1 of every k steps."""

    def __init__(self, inner: PushPull, k: int) -> None:
        self.inner, self.k = inner, k

    def pull(self, t: int, z: np.ndarray) -> np.ndarray:
        return self.inner.pull(t, z) if t % self.k == self.k - 1 else z

    def push(self, t: int, z: np.ndarray) -> np.ndarray:
        return self.inner.push(t, z) if t % self.k == self.k - 1 else z


Mix = PushPull | RunningSums | Copies | NowAndThen


def gt_nsgdm(
    mix: Mix, grad: Grad, x: np.ndarray, steps: int, lr: float, momentum: float
) -> np.ndarray:
    """x after some steps."""
    v, y = np.zeros_like(x), np.zeros_like(x)
    for t in range(steps):
        v_new = momentum * v + (1 - momentum) * grad(x)
        y = mix.push(t, y + v_new - v)
        v = v_new
        x = mix.pull(t, x - lr * y / np.linalg.norm(y, axis=1, keepdims=True))
    return x
