import math

import laws
import numpy as np
import pytest
from scipy import stats

from gossamer.errors import InvalidInput
from gossamer.tails import hill, hill_curve, hill_cutoffs
from gossamer.tails.estimate import TailEstimate, cutoffs


def test_is_the_maximum_likelihood_fit_of_a_pareto_tail():
    x = laws.draw("t 3")[0]
    ordered = np.sort(np.abs(x))[::-1]
    index, _, _ = stats.pareto.fit(ordered[:500], floc=0, fscale=ordered[500])
    assert hill(x, 500).tail_index == pytest.approx(index, rel=1e-12)


def test_inverse_is_exactly_gamma_distributed_on_a_pareto_tail():
    # 1/α̂ is the mean of k exponentials of mean 1/α, for any k: unbiased, variance 1/(kα²)
    inverse = [1 / hill(x, 100).tail_index for x in laws.draw("Pareto 1.5")]
    assert np.mean(inverse) == pytest.approx(1 / 1.5, abs=4 / 1.5 / math.sqrt(100 * 40))
    assert stats.kstest(1.5 * 100 * np.array(inverse), stats.gamma(100).cdf).pvalue > 1e-3


# Medians at √n of our reference study. A median of 40 has error 1.25 α/√(40 k), and the reference
# is itself such a median: four standard errors of the difference.
@pytest.mark.parametrize(
    ("law", "median"),
    [("Pareto 1.5", 1.51), ("stable 1.5", 1.54), ("t 1.5", 1.48), ("t 3", 2.90), ("Gaussian", 9.2)],
)
def test_medians_of_the_study(law: str, median: float):
    measured = np.median([hill(x, 100).tail_index for x in laws.draw(law)])
    assert measured == pytest.approx(median, abs=4 * math.sqrt(2) * 1.25 * median / math.sqrt(4000))


def test_overstates_a_stable_law_of_index_1_8():
    five_percent = [hill(x, 500) for x in laws.draw("stable 1.8")]
    assert np.median([e.interval[0] for e in five_percent]) > 2.2


def test_skewed_and_symmetric_stable_laws_have_the_same_tail():
    one, other = (
        np.median([hill(x, 100).tail_index for x in laws.draw(law)])
        for law in ("stable 1.5", "skewed stable 1.5")
    )
    assert one == pytest.approx(other, abs=4 * math.sqrt(2) * 1.25 * 1.55 / math.sqrt(4000))


def test_scale_and_sign_do_not_matter():
    x = laws.draw("t 3")[0]
    assert hill(-7 * x, 100).tail_index == pytest.approx(hill(x, 100).tail_index, rel=1e-12)


def test_curve_agrees_with_the_estimator_at_every_k():
    x = laws.draw("t 1.5")[0][:500]
    curve = hill_curve(x)
    for k in (1, 2, 77, 499):
        assert curve.k[k - 1] == k
        assert curve.tail_index[k - 1] == pytest.approx(hill(x, k).tail_index, rel=1e-12)
        assert curve.standard_error[k - 1] == pytest.approx(hill(x, k).standard_error, rel=1e-12)


def test_cutoffs_are_the_root_five_and_ten_percent():
    x = laws.draw("t 3")[0]
    assert hill_cutoffs(x) == {c: hill(x, k) for c, k in cutoffs(x.size).items()}
    assert cutoffs(5000) == {"√n": 70, "2 %": 100, "5 %": 250, "10 %": 500}
    assert cutoffs(20) == {"√n": 4, "2 %": 2, "5 %": 2, "10 %": 2}


def test_zeros_are_not_a_tail():
    assert hill([4.0, 2.0, 1.0, 0.0, 0.0], 2) == hill([4.0, 2.0, 1.0], 2)


def test_tied_largest_values_have_no_finite_index():
    assert hill([2.0, 2.0, 2.0, 1.0], 1).tail_index == math.inf
    assert hill_curve([2.0, 2.0, 2.0, 1.0]).tail_index[0] == math.inf


@pytest.mark.parametrize("k", [0, -1, 3, 10, 1.5])
def test_refuses_k_outside_the_sample(k: int):
    with pytest.raises(InvalidInput, match="k: got"):
        hill([3.0, 2.0, 1.0], k)


def test_interval_is_cut_at_zero():
    assert TailEstimate(1.0, 1.0).interval[0] == 0
