import math

import laws
import numpy as np
import pytest
import torch

from gossamer.errors import InvalidInput
from gossamer.noise import AlphaStable, Gaussian
from gossamer.tails import log_moment


def by_loops(x: np.ndarray) -> float:
    """Mohammadi, Mohammadpour and Ogata's Corollary 2.4, one vector at a time."""
    size = math.isqrt(len(x))
    sums = [sum(x[i * size + j] for j in range(size)) for i in range(len(x) // size)]
    log_sums = np.mean([math.log(math.sqrt(sum(y * y))) for y in sums])
    log_terms = np.mean([math.log(math.sqrt(sum(y * y))) for y in x])
    return math.log(size) / (log_sums - log_terms)


@pytest.mark.parametrize("dim", [1, 4])
def test_agrees_with_the_formula_written_as_loops(dim: int):
    x = AlphaStable(1.5).sample((1050, dim), generator=torch.Generator().manual_seed(0)).numpy()
    assert log_moment(x).tail_index == pytest.approx(by_loops(x), rel=1e-12)


# The median of 40 has error about 1.25 s.e./√40 with s.e. = 0.05…0.1 at m = 10,000.
@pytest.mark.parametrize(
    ("law", "index", "band"),
    [
        ("stable 1.5", 1.5, 0.06),
        ("skewed stable 1.5", 1.5, 0.06),
        ("stable 1.8", 1.8, 0.08),
        ("Gaussian", 2.0, 0.1),
    ],
)
def test_consistent_for_stable_laws(law: str, index: float, band: float):
    estimates = [log_moment(x[:, None]) for x in laws.draw(law)]
    measured = np.array([e.tail_index for e in estimates])
    assert np.median(measured) == pytest.approx(index, abs=band)
    assert np.median([e.standard_error for e in estimates]) == pytest.approx(
        measured.std(), rel=0.5
    )


@pytest.mark.parametrize("law", ["t 3", "lognormal"])
def test_calls_finite_variance_infinite(law: str):
    assert np.median([log_moment(x[:, None]).interval[1] for x in laws.draw(law)]) < 2


def test_norms_are_refused():
    with pytest.raises(InvalidInput, match="never cancel in a sum"):
        log_moment(np.abs(laws.draw("stable 1.5")[0]))


def test_an_uncentred_gaussian_is_centred_with_a_warning():
    x = Gaussian().sample((10_000, 3), generator=torch.Generator().manual_seed(0)).numpy()
    with pytest.warns(UserWarning, match="not centred"):
        shifted = log_moment(x + 5)
    assert shifted.tail_index == pytest.approx(log_moment(x - x.mean(axis=0)).tail_index, rel=1e-9)
    assert by_loops(x + 5) < 1.05  # what the warning saves us from: a drift reads as index 1


def test_refuses_too_few_vectors():
    with pytest.raises(InvalidInput, match="at least 16"):
        log_moment(np.random.default_rng(0).normal(size=(15, 2)))


def test_refuses_sums_that_all_cancel():
    with pytest.raises(InvalidInput, match="0 sums of 10 that are not 0"):
        log_moment(np.tile([[1.0], [-1.0]], (50, 1)))
