"""A set of samples with labels: to be standardized, held out in part, and split over nodes."""

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from gossamer.data.splits import Split, iid
from gossamer.digests import digest
from gossamer.errors import require
from gossamer.interval import Interval, within
from gossamer.seeding import stream


@dataclass(frozen=True, repr=False)
class Dataset:
    """Samples, each with features of any shape and with a label: a class or a real number.

    Integer labels are classes. `load` returns data sets that need no internet, and
    `Dataset("mine", X, y)` makes one from your own arrays.

    Args:
        name: the name of the data set in results.
        features: a tensor or array, `(samples, …)`, kept in float64.
        labels: a tensor or array, `(samples,)`, kept in int64 or float64.

    >>> data = Dataset("mine", torch.arange(12.0).view(6, 2), torch.tensor([0, 1, 0, 1, 0, 1]))
    >>> data
    Dataset('mine', 6 samples of shape (2,), 2 classes)
    >>> [labels.tolist() for _, labels in data.split(3)]
    [[1, 0], [0, 1], [0, 1]]
    """

    name: str
    features: Tensor
    labels: Tensor

    def __post_init__(self) -> None:
        features, labels = torch.as_tensor(self.features).double(), torch.as_tensor(self.labels)
        labels = labels.double() if labels.is_floating_point() else labels.long()
        shapes = f"shapes {tuple(features.shape)} and {tuple(labels.shape)}"
        fits = features.ndim > 1 and labels.shape == features.shape[:1] and len(labels) > 0
        way_out = "other targets go to a problem in pairs (features, targets), one per node"
        require(fits, self.name, shapes, "features (samples, …) and labels (samples,)", way_out)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "labels", labels)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def num_classes(self) -> int | None:
        """The number of classes; None if the labels are real numbers."""
        return None if self.labels.is_floating_point() else len(self.labels.unique())

    def standardized(self) -> Self:
        """The same data set with every feature scaled to mean 0 and variance 1.

        A feature that is constant becomes 0.
        """
        centered = self.features - self.features.mean(0)
        deviation = centered.square().mean(0).sqrt()
        tiny = 1e-12 * self.features.abs().amax(0)
        scale = torch.where(deviation > tiny, deviation, torch.inf)
        return replace(self, features=centered / scale)

    def hold_out(self, share: float, seed: int = 0) -> tuple[Self, Self]:
        """Hold out a random `share` of the samples; returns the kept and the held-out samples."""
        count = round(within("share", share, Interval(0, 1)) * len(self))
        require(0 < count < len(self), "share", share, "one that leaves samples to both sets")
        order = torch.randperm(len(self), generator=stream("held out", seed))
        return self.take(order[count:]), self.take(order[:count])

    def take(self, index: Tensor) -> Self:
        """The data set of the samples with these indices."""
        return replace(self, features=self.features[index], labels=self.labels[index])

    def split(
        self, num_nodes: int, how: Split | None = None, seed: int = 0
    ) -> list[tuple[Tensor, Tensor]]:
        """Split the samples over the nodes; returns the (features, labels) of each node.

        The problems that take data, e.g. `gs.LogisticRegression`, take this list.

        Args:
            num_nodes: number of nodes.
            how: the split, e.g. `gs.data.by_label(1)` or `gs.data.dirichlet(0.1)`; by default
                `iid()`.
            seed: seed of the split.
        """
        parts = (how or iid())(self.labels, num_nodes, seed)
        return [(self.features[index], self.labels[index]) for index in parts]

    def digest(self) -> str:
        """A hash of the features and the labels, sixteen hexadecimal digits."""
        return digest(self.features, self.labels)

    def __repr__(self) -> str:
        classes = self.num_classes
        kind = "real labels" if classes is None else f"{classes} classes"
        samples = f"{len(self)} samples of shape {tuple(self.features.shape[1:])}"
        return f"Dataset({self.name!r}, {samples}, {kind})"
