"""Data are named in results by their bytes."""

import torch

import gossamer as gs
from gossamer.data import Corpus, Dataset
from gossamer.digests import digest


def mean_square(x: torch.Tensor, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return (features @ x - labels).square().mean()


def test_digests_never_change():
    """Stored results are found by them."""
    rows = torch.arange(6.0, dtype=torch.float64).view(3, 2)
    data = [(rows, rows[:, 0]), (rows[:2], rows[:2, 1])]
    own = gs.FunctionProblem(mean_square, data, start=torch.ones(2)).describe()
    assert own["data"] == "d7cdf808ca59965c"
    assert own["start"] == digest(torch.ones(2).double()) == "5f07eef034c5a21f"
    assert gs.Quadratic.from_centers(rows).describe()["digest"] == "fef1fe6b4980dbdf"
    assert Dataset("mine", rows, torch.tensor([0, 1, 1])).digest() == "0c6a0e7b5199ddf1"
    assert Corpus.of("mine", ["a b", "b"], ["a"]).digest() == "27f66328ad6517d7"


def test_text_between_tensors_counts():
    one, other = torch.arange(2), torch.arange(3)
    assert digest("(2,)", one, "(3,)", other) != digest(one, other)
    assert digest(one, other) == digest(torch.cat([one, other]))
