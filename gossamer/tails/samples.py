"""Samples of gradient noise, checked: what every estimator starts from."""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from gossamer.errors import InvalidInput, require

Array: TypeAlias = NDArray[np.float64]
Samples: TypeAlias = ArrayLike | Tensor
Kind = Literal["vectors", "norms"]


def as_array(samples: Samples) -> Array:
    """The samples as a float64 array, refused when they cannot be a noise sample.

    >>> as_array([1.0, float("nan"), 2.0])
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: samples: got 1 non-finite value of 3, need finite numbers; ...
    """
    if isinstance(samples, Tensor):
        samples = samples.detach().cpu().double().numpy()
    try:
        array = np.asarray(samples, dtype=np.float64)
    except (TypeError, ValueError) as reason:
        raise InvalidInput(
            f"samples: got {reason}, need a rectangular array of numbers"
        ) from reason
    broken = int(array.size - np.isfinite(array).sum())
    require(
        broken == 0,
        "samples",
        f"{broken} non-finite value{'s' * (broken > 1)} of {array.size}",
        "finite numbers",
        "a diverged step is not a noise sample: drop it",
    )
    return array


def as_magnitudes(samples: Samples) -> Array:
    """The positive |x|, in decreasing order, of one sample per entry: norms or scalar noise.

    >>> as_magnitudes([1.0, -3.0, 0.0, 2.0])
    array([3., 2., 1.])
    """
    array = as_array(samples)
    require(
        array.ndim == 1,
        "samples",
        f"shape {array.shape}",
        "one axis",
        "take one norm per vector, np.linalg.norm(vectors, axis=1): pooled coordinates have "
        "different scales, and their mixture has a tail that none of them has",
    )
    magnitudes = np.sort(np.abs(array))[::-1]
    magnitudes = magnitudes[magnitudes > 0]
    require(
        magnitudes.size > 1 and magnitudes[0] > magnitudes[-1],
        "samples",
        f"{magnitudes.size} non-zero, none different from another",
        "at least two different magnitudes",
        "equal samples have no tail: is the noise switched off?",
    )
    return magnitudes


def as_vectors(samples: Samples) -> Array:
    """Noise vectors, one per row: shape (m, d). Norms are refused, for they are not noise.

    >>> as_vectors([1.0, 2.0])
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: samples: got shape (2,), need noise vectors of shape (m, d); ...
    """
    array = as_array(samples)
    norms_not_noise = (
        "norms are positive and never cancel in a sum, so this estimator would answer about 1 for "
        "any law; scalar noise has shape (m, 1)"
    )
    shape = f"shape {array.shape}"
    way_out = norms_not_noise if array.ndim == 1 else ""
    require(array.ndim == 2, "samples", shape, "noise vectors of shape (m, d)", way_out)
    require(bool((array != 0).any()), "samples", "only zeros", "noise that is not zero")
    one_sided = array.shape[1] == 1 and (bool((array >= 0).all()) or bool((array <= 0).all()))
    require(not one_sided, "samples", "a single sign", "noise of both signs", norms_not_noise)
    return array


def centre(vectors: Array) -> tuple[Array, str]:
    r"""The vectors, minus their mean if that is not zero within the noise, and what was done.

    The self-normalized sum \(\|\sum x_i\| / \sqrt{\sum \|x_i\|^2}\) is about 1 for symmetric
    noise, however heavy its tail, and grows like \(\sqrt{m}\) with a drift. Beyond 5 the mean is
    subtracted and the second value says so; below, the vectors are left alone and it is empty,
    since the mean of a heavy-tailed sample is itself a heavy-tailed error. One-sided scalar noise
    may exceed 5 although its mean is 0: Pareto noise does now and then at index 1.5, and every
    second time at 1.1.

    >>> centre(np.array([[1.0], [-1.0]]))[1]
    ''
    """
    drift = float(np.linalg.norm(vectors.sum(axis=0)) / np.sqrt(np.square(vectors).sum()))
    if drift <= 5:
        return vectors, ""
    note = (
        f"the vectors are not centred (self-normalized mean {drift:.0f}, expected about 1), so "
        "their mean was subtracted; noise is stochastic gradient − full gradient at one point"
    )
    return vectors - vectors.mean(axis=0), note


def distances(vectors: Array) -> Array:
    """Norms of the vectors around the median of each coordinate; a vector of zeros stays 0.

    A tail index does not depend on the centre, but estimators do: around the mean of one-sided
    noise, which its tail has moved, the tail seems heavier than it is.

    >>> distances(np.array([[1.0], [2.0], [9.0], [0.0]]))
    array([1., 0., 7., 0.])
    """
    moving = vectors.any(axis=1)
    norms = np.zeros(len(vectors))
    rows = vectors[moving]
    norms[moving] = np.linalg.norm(rows - np.median(rows, axis=0), axis=1)
    return norms
