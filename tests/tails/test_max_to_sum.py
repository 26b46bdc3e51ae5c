import laws
import numpy as np
import pytest

from gossamer.errors import InvalidInput
from gossamer.tails import max_to_sum, max_to_sum_curve


# Medians of our reference study; across samples R₂ spreads by a factor, more so for heavy tails.
@pytest.mark.parametrize(
    ("law", "median", "band"),
    [("stable 1.5", 0.31, 0.15), ("t 3", 0.035, 0.015), ("Gaussian", 0.002, 0.001)],
)
def test_medians_of_the_study(law: str, median: float, band: float):
    assert np.median([max_to_sum(x) for x in laws.draw(law)]) == pytest.approx(median, abs=band)


def test_decays_exactly_when_the_moment_is_finite():
    # P(|X| > x) ~ x^−1.5: R_p of n samples falls like n^(p/1.5 − 1) for p < 1.5 and stays beyond
    x = laws.draw("t 1.5")
    first, second = (np.array([max_to_sum_curve(row, p) for row in x]) for p in (0.5, 2.0))
    decay = np.median(np.log(first[:, -1] / first[:, 99])) / np.log(100)
    assert decay == pytest.approx(0.5 / 1.5 - 1, abs=0.12)
    assert np.median(second[:, -1]) > 0.2


def test_curve_is_the_ratio_of_each_prefix():
    x = laws.draw("t 3")[0][:50]
    curve = max_to_sum_curve(x, 1.3)
    for n in (1, 2, 17, 50):
        powers = np.abs(x[:n]) ** 1.3
        assert curve[n - 1] == pytest.approx(powers.max() / powers.sum(), rel=1e-12)
    assert max_to_sum(x, 1.3) == curve[-1]


def test_leading_zeros_and_huge_values_do_not_overflow():
    assert max_to_sum_curve([0.0, 1e300, 1e300], 2).tolist() == [0.0, 1.0, 0.5]


@pytest.mark.parametrize("p", [0.0, -1.0, np.inf, np.nan])
def test_refuses_bad_orders(p: float):
    with pytest.raises(InvalidInput, match="p: got"):
        max_to_sum([1.0, 2.0], p)


def test_refuses_vectors_and_silence():
    with pytest.raises(InvalidInput, match=r"norms of shape \(m,\)"):
        max_to_sum(np.ones((3, 2)))
    with pytest.raises(InvalidInput, match="only zeros"):
        max_to_sum([0.0, 0.0])
