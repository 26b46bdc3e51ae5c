import laws
import numpy as np
import pytest
from scipy.signal import lfilter

from gossamer.tails import correlation_time


def autoregression(innovations: np.ndarray, memory: float) -> np.ndarray:
    return lfilter([1.0], [1.0, -memory], innovations)


@pytest.mark.parametrize("law", ["t 1.5", "Gaussian", "Pareto 1.5", "lognormal"])
def test_independent_samples_are_taken_for_independent(law: str):
    # a threshold of four standard errors: of 2 × 40 none should pass
    x = np.abs(laws.draw(law))
    assert all(correlation_time(row) == 1 for row in x)
    assert all(correlation_time(row[:1000]) == 1 for row in x)


@pytest.mark.parametrize("memory", [0.5, 0.9])
def test_correlation_time_of_an_autoregression(memory: float):
    # of the ranks of a Gaussian one it is that of ρⱼ = (6/π) arcsin(memoryʲ / 2)
    x = autoregression(np.random.default_rng(0).normal(size=200_000), memory)
    lags = np.arange(1, 500)
    exact = 1 + 2 * (6 / np.pi * np.arcsin(memory**lags / 2)).sum()
    assert correlation_time(x) == pytest.approx(exact, rel=0.1)


def test_clusters_of_large_samples_count_though_ranks_are_independent():
    rng = np.random.default_rng(0)
    x = rng.random(10_000)
    for start in rng.integers(0, 9_990, 50):
        x[start : start + 10] += 1
    assert correlation_time(x) == pytest.approx(10, rel=0.5)


def test_sorted_samples_look_dependent():
    assert correlation_time(np.sort(laws.draw("t 3")[0])) > 100


def test_a_drift_of_the_scale_is_seen():
    x = np.abs(laws.draw("Gaussian")[0]) * np.linspace(1, 5, 10_000)
    assert correlation_time(x) > 2


@pytest.mark.parametrize("levels", [1, 2, 3, 20])
def test_equal_samples_are_not_taken_for_dependent(levels: int):
    rng = np.random.default_rng(0)
    assert correlation_time(rng.integers(0, levels, 10_000).astype(float)) == 1
    clipped = np.minimum(np.abs(laws.draw("t 1.5")), levels)
    assert all(correlation_time(row) == 1 for row in clipped)
    assert correlation_time(np.repeat(rng.integers(0, 20, 1000), 10)) > 5
