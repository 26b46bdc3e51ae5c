"""The log-moment estimator for centred noise vectors. It assumes a stable law."""

import math
import warnings

import numpy as np

from gossamer.errors import require
from gossamer.tails.estimate import TailEstimate
from gossamer.tails.samples import Array, Samples, as_vectors, centre


def log_moment(vectors: Samples) -> TailEstimate:
    r"""Stability index from how sums of vectors grow. **Assumes a stable law.**

    The sum of K strictly stable vectors has the law of \(K^{1/α}\) times one of them. Let
    \(X_j\) be the m rows of `vectors`, and \(Y_i\) their sums over blocks of
    \(K ≈ \sqrt{m}\) rows. Then

    $$\frac{1}{\hat α} = \frac{1}{\log K}
      \big( \mathrm{mean} \log \|Y_i\| - \mathrm{mean} \log \|X_j\| \big).$$

    Sums of any other law approach a stable law only slowly, so the estimate is below 2 for many
    laws of finite variance: about 1.74 for t(3) and for a lognormal at m = 10,000. Never read
    it alone. Norms are refused, because they never cancel in a sum. Vectors whose mean is not zero
    are centred, with a warning, because their sums would grow like K, which looks like α = 1.

    >>> import torch
    >>> from gossamer.noise import AlphaStable
    >>> x = AlphaStable(1.5).sample((10_000, 5), generator=torch.Generator().manual_seed(0))
    >>> print(log_moment(x))
    1.52 ± 0.03

    Reference: M. Mohammadi, A. Mohammadpour and H. Ogata, "On estimating the tail index and the
    spectral measure of multivariate α-stable distributions", Metrika 78 (2015).
    """
    rows, note = centre(as_vectors(vectors))
    if note:
        warnings.warn(note, UserWarning, stacklevel=2)
    rows = rows[np.abs(rows).max(axis=1) > 0]
    require(len(rows) >= 16, "samples", f"{len(rows)} non-zero vectors", "at least 16")
    size = math.isqrt(len(rows))
    blocks = rows[: len(rows) // size * size].reshape(-1, size, rows.shape[1]).sum(axis=1)
    one, many = _log_norms(rows), _log_norms(blocks)
    require(many.size > 1, "samples", f"{many.size} sums of {size} that are not 0", "at least 2")
    inverse = (many.mean() - one.mean()) / math.log(size)
    error = math.sqrt(one.var() / one.size + many.var() / many.size) / math.log(size)
    index = float(1 / inverse) if inverse > 0 else math.inf
    return TailEstimate(index, error * index**2)


def _log_norms(rows: Array) -> Array:
    norms = np.linalg.norm(rows, axis=1)
    return np.log(norms[norms > 0])
