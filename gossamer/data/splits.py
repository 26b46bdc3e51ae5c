"""Who holds which samples: equal, skewed or sorted shares of a set of labelled samples.

A split is made by one of the functions here and then called with labels and a number of nodes. It
gives one tensor of indices per node: disjoint, none empty, together all samples, and a function of
its arguments and the seed alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gossamer.errors import InvalidInput, require, whole
from gossamer.interval import POSITIVE, within
from gossamer.seeding import stream_seed

DRAWS = 1000
"""How often a random split is drawn until no node is empty."""

Parts = list[np.ndarray]
Cut = Callable[[np.ndarray, int, "np.random.Generator"], Parts]  # in quotes: loaded on use
"""(labels, number of nodes, random numbers) ↦ the samples of every node."""


@dataclass(frozen=True, repr=False)
class Split:
    """A way to divide samples among nodes, made e.g. by `iid()` or `by_label(2)`.

    A split is called like a function, `split(data, num_nodes, seed)`, and returns the indices of
    each node's samples. Here `data` are labels, or a data set that has `labels` or `targets`.

    Args:
        name: the text that it is printed as.
        cut: the function that divides the samples. It is given the labels, the number of nodes and
            a generator of random numbers, and returns the indices of each node's samples.
    """

    name: str
    cut: Cut

    def __call__(self, data: Any, num_nodes: int, seed: int = 0) -> list[Tensor]:
        """The indices of every node's samples, in ascending order.

        Args:
            data: labels as a tensor, array or list, or a dataset that has them as `labels` or
                `targets`, e.g. one of torchvision.
            num_nodes: n.
            seed: of what is random.
        """
        labels, nodes = labels_of(data), whole("num_nodes", num_nodes, 1)
        way_out = f"{len(labels)} samples are there"
        require(len(labels) >= nodes, "num_nodes", nodes, "at most one node per sample", way_out)
        parts = self.cut(labels, nodes, np.random.default_rng(stream_seed("split", seed)))
        return [torch.from_numpy(np.sort(part)) for part in parts]

    def __repr__(self) -> str:
        return self.name


def iid() -> Split:
    """Divides the samples at random into parts whose sizes are as equal as possible.

    >>> [part.tolist() for part in iid()([0] * 7, 3)]
    [[1, 4, 6], [2, 3], [0, 5]]
    """
    return Split("iid()", lambda labels, nodes, random: _dealt(len(labels), [1.0] * nodes, random))


def sizes(shares: Sequence[float]) -> Split:
    """Divides the samples at random; the size of node i's part is proportional to `shares[i]`.

    >>> [len(part) for part in sizes([5, 3, 2])(torch.zeros(100), 3)]
    [50, 30, 20]
    """
    listed = [within("shares", share, POSITIVE) for share in shares]
    require(len(listed) > 0, "shares", "none", "a number for every node")

    def cut(labels: np.ndarray, nodes: int, random: np.random.Generator) -> Parts:
        require(len(listed) == nodes, "shares", f"{len(listed)} numbers", f"{nodes}, one per node")
        parts = _dealt(len(labels), listed, random)
        require(all(map(len, parts)), "shares", list(shares), "shares of at least one sample")
        return parts

    return Split(f"sizes({list(shares)})", cut)


def dirichlet(alpha: float) -> Split:
    """Divides each class among the nodes in random shares, drawn from Dirichlet(α, …, α).

    Here α is `alpha`. With α = 100, the nodes have nearly equal shares of each class. With α = 1,
    the shares are uneven. With α = 0.1, a few nodes hold most of a class. Shares are drawn again
    until every node holds a sample.

    Reference: Hsu, Qi and Brown (2019), in the form of Yurochkin et al. (2019).

    >>> labels = torch.arange(1000) % 10
    >>> [len(labels[part].unique()) for part in dirichlet(0.05)(labels, 5)]
    [3, 5, 3, 4, 4]
    """
    within("alpha", alpha, POSITIVE)

    def cut(labels: np.ndarray, nodes: int, random: np.random.Generator) -> Parts:
        classes = _classes(labels)
        for _ in range(DRAWS):
            shares = random.dirichlet(np.full(nodes, alpha), size=len(classes))
            ends = np.round(shares.cumsum(1) * np.array([[len(c)] for c in classes])).astype(int)
            if (np.diff(ends, axis=1, prepend=0).sum(0) > 0).all():
                mixed = [random.permutation(samples) for samples in classes]
                return _gathered([np.split(s, e[:-1]) for s, e in zip(mixed, ends, strict=True)])
        raise InvalidInput(
            f"alpha: got {alpha}, which left a node without samples in each of {DRAWS} draws for "
            f"{nodes} nodes and {len(classes)} classes, need a larger alpha or fewer nodes"
        )

    return Split(f"dirichlet({alpha})", cut)


def by_label(per_node: int) -> Split:
    """Gives every node samples of exactly `per_node` classes.

    Every class is held by the same number of nodes, up to a difference of one. The nodes that hold
    a class share its samples as equally as possible.

    >>> labels = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    >>> [labels[part].tolist() for part in by_label(1)(labels, 4)]
    [[0, 0], [1, 1], [0, 0], [1, 1]]
    """
    whole("per_node", per_node, 1)

    def cut(labels: np.ndarray, nodes: int, random: np.random.Generator) -> Parts:
        classes = _classes(labels)
        fits = per_node <= len(classes) <= nodes * per_node
        room = f"at least {-(-len(classes) // nodes)} and at most {len(classes)} classes per node"
        found = f"{per_node} for {len(classes)} classes on {nodes} nodes"
        require(fits, "per_node", found, room)
        turn = random.permutation(len(classes))
        holders: Parts = [np.flatnonzero(held) for held in _held(turn, nodes, per_node)]
        fewest = min(len(c) - len(h) for c, h in zip(classes, holders, strict=True))
        require(fewest >= 0, "per_node", found, "a sample of the class for each node that holds it")
        parts: list[Parts] = [[] for _ in range(nodes)]
        for samples, who in zip(classes, holders, strict=True):
            dealt = np.array_split(random.permutation(samples), len(who))
            for node, own in zip(who, dealt, strict=True):
                parts[node].append(own)
        return [np.concatenate(own) for own in parts]

    return Split(f"by_label({per_node})", cut)


def shards(per_node: int) -> Split:
    """Cuts the samples, sorted by label, into shards; each node gets `per_node` random shards.

    The shards are equally large, up to one sample. So a node holds about `per_node` classes, if
    there are at least as many shards as classes.
    Reference: McMahan et al. (2017).

    >>> labels = torch.arange(1000) % 10
    >>> [len(part) for part in shards(2)(labels, 5)]
    [200, 200, 200, 200, 200]
    """
    whole("per_node", per_node, 1)

    def cut(labels: np.ndarray, nodes: int, random: np.random.Generator) -> Parts:
        mixed = random.permutation(len(labels))
        by_class = mixed[np.argsort(labels[mixed], kind="stable")]
        need = f"at most {len(labels) // nodes}, the samples of a node"
        require(nodes * per_node <= len(labels), "per_node", per_node, need)
        pieces = np.array_split(by_class, nodes * per_node)
        order = random.permutation(len(pieces)).reshape(nodes, per_node)
        return [np.concatenate([pieces[k] for k in own]) for own in order]

    return Split(f"shards({per_node})", cut)


def labels_of(data: Any) -> np.ndarray:
    """The labels of a dataset, or labels as they are, `(samples,)`."""
    labels = next((getattr(data, n) for n in ("labels", "targets") if hasattr(data, n)), data)
    labels = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)
    need = "labels, one per sample, or a dataset that has them as `labels` or `targets`"
    found = f"{type(data).__name__} of shape {labels.shape}"
    require(labels.ndim == 1 and len(labels) > 0, "data", found, need)
    return labels


def _classes(labels: np.ndarray) -> Parts:
    """The samples of every class; real labels have none."""
    found = f"{labels.dtype} labels"
    whole_numbers = labels.dtype.kind != "f" or bool((labels == np.round(labels)).all())
    require(
        whole_numbers, "labels", found, "classes", "gs.data.iid() and gs.data.sizes() need none"
    )
    return [np.flatnonzero(labels == value) for value in np.unique(labels)]


def _dealt(count: int, shares: list[float], random: "np.random.Generator") -> Parts:
    """0, …, count − 1 in random order, cut in proportion to the shares, as equal as possible."""
    ends = np.ceil(np.cumsum(shares) / np.sum(shares) * count - 1e-9).astype(int)
    return list(np.split(random.permutation(count), ends[:-1]))


def _held(turn: np.ndarray, nodes: int, per_node: int) -> np.ndarray:
    """Which node holds which class, `(classes, nodes)`: `per_node` each, in turn."""
    slots = np.arange(nodes * per_node)
    held = np.zeros((len(turn), nodes), dtype=bool)
    held[turn[slots % len(turn)], slots // per_node] = True
    return held


def _gathered(by_class: list[Parts]) -> Parts:
    """The samples of every node from its samples of every class."""
    return [np.concatenate(own) for own in zip(*by_class, strict=True)]
