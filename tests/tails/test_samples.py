import numpy as np
import pytest
import torch

from gossamer.errors import InvalidInput
from gossamer.tails import hill
from gossamer.tails.samples import as_array, as_magnitudes, as_vectors, centre


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_refuses_non_finite_samples(bad: float):
    with pytest.raises(InvalidInput, match=r"2 non-finite values of 4.*diverged step"):
        as_array([1.0, bad, 2.0, bad])


@pytest.mark.parametrize("samples", [["a", "b"], [[1.0, 2.0], [3.0]], [{}]])
def test_refuses_what_is_no_table_of_numbers(samples: list[object]):
    with pytest.raises(InvalidInput, match="need numbers, a rectangular array"):
        as_array(samples)


@pytest.mark.parametrize("convert", [np.asarray, torch.tensor, list])
def test_reads_arrays_tensors_and_lists(convert: type):
    samples = convert([3.0, -1.0, 0.0])
    assert as_magnitudes(samples).tolist() == [3.0, 1.0]


def test_reads_a_tensor_that_requires_grad():
    assert as_array(torch.ones(2, dtype=torch.bfloat16, requires_grad=True)).dtype == np.float64


@pytest.mark.parametrize("samples", [[1.0, -1.0, 1.0], [0.0, 0.0], [0.0, 2.0], []])
def test_refuses_samples_without_a_tail(samples: list[float]):
    with pytest.raises(InvalidInput, match="two different magnitudes"):
        as_magnitudes(samples)


def test_coordinates_are_not_pooled():
    with pytest.raises(InvalidInput, match="pooled coordinates"):
        hill(np.random.default_rng(0).normal(size=(100, 3)), k=10)


def test_three_axes_are_not_taken_for_norms():
    with pytest.raises(InvalidInput, match=r"shape \(9, 2, 2\), need noise vectors .*\(m, d\)$"):
        as_vectors(np.ones((9, 2, 2)))


def test_norms_are_not_vectors():
    norms = np.random.default_rng(0).exponential(size=100)
    with pytest.raises(InvalidInput, match=r"shape \(100,\).*never cancel in a sum"):
        as_vectors(norms)
    with pytest.raises(InvalidInput, match=r"a single sign.*never cancel in a sum"):
        as_vectors(norms[:, None])


def test_centred_vectors_are_left_alone():
    vectors = np.random.default_rng(0).standard_t(1.5, size=(10_000, 3))
    same, note = centre(vectors)
    assert same is vectors
    assert note == ""


def test_a_drift_is_subtracted_and_said():
    vectors = np.random.default_rng(0).normal(size=(10_000, 3)) + 1
    centred, note = centre(vectors)
    assert "not centred" in note
    np.testing.assert_allclose(centred.mean(axis=0), 0, atol=1e-12)
