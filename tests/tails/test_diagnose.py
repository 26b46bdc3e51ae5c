import json
import math

import laws
import numpy as np
import pytest
import torch

from gossamer.errors import InvalidInput
from gossamer.noise import AlphaStable, Gaussian, Pareto, StudentT
from gossamer.tails import diagnose

REPLICATES = 10


def vectors(law, dim: int = 3, seed: int = 0) -> np.ndarray:
    shape = (10_000, dim)
    return law.sample(shape, generator=torch.Generator().manual_seed(seed)).numpy()


@pytest.mark.parametrize(
    ("law", "tail", "p_below"),
    [
        ("Pareto 1.5", "infinite variance", 1.5),
        ("stable 1.5", "infinite variance", 1.5),
        ("skewed stable 1.5", "infinite variance", 1.5),
        ("t 1.5", "infinite variance", 1.5),
        ("stable 1.8", "undecided", 1.8),
        ("t 3", "finite variance", 2.01),
        ("lognormal", "finite variance", 2.01),
        ("Gaussian", "no power tail", 2.01),
    ],
)
def test_verdicts_of_the_study(law: str, tail: str, p_below: float):
    # each interval fails one time in twenty: a majority must be right, and none grossly wrong
    found = [diagnose(x[:, None]) for x in laws.draw(law)[:REPLICATES]]
    tails = [diagnosis.tail for diagnosis in found]
    assert tails.count(tail) >= 7
    assert set(tails) <= {tail, "undecided"}
    suggested = [diagnosis.suggested_p for diagnosis in found]
    assert np.median(suggested) < p_below
    assert np.median(suggested) > min(2, p_below) - 0.35
    assert all(1 < p <= 2 for p in suggested)


@pytest.mark.parametrize("law", ["t 3", "lognormal"])
def test_says_that_stable_law_estimators_mistake_finite_variance(law: str):
    diagnosis = diagnose(laws.draw(law)[0], kind="vectors")
    assert diagnosis.log_moment is not None
    assert diagnosis.log_moment.interval[1] < 2
    assert diagnosis.verdict.startswith("Heavy tail, finite variance")
    assert any("believe them only if the law is stable" in d for d in diagnosis.disagreements)


def test_says_that_hill_misses_stable_1_8():
    words = [diagnose(x, kind="vectors").disagreements for x in laws.draw("stable 1.8")[:10]]
    assert sum(any("Hill overstates" in d for d in found) for found in words) >= 7


def test_says_that_hill_understates_one_sided_noise():
    diagnosis = diagnose(vectors(Pareto(3.0), dim=1))
    assert any("Hill understates" in d for d in diagnosis.disagreements)
    assert diagnosis.tail == "undecided"


def test_says_when_one_sample_dominates():
    x = vectors(Gaussian())
    x[0] *= 1000
    assert any("of the sum of squares" in d for d in diagnose(x).disagreements)


def test_reads_norms_without_the_estimators_that_need_vectors():
    x = vectors(StudentT(1.5))
    whole, norms = diagnose(x), diagnose(np.linalg.norm(x, axis=1))
    assert (norms.dim, norms.log_moment, norms.stable_index) == (None, None, None)
    assert (norms.hill, norms.moments, norms.tail) == (whole.hill, whole.moments, whole.tail)
    assert any("norms only" in warning for warning in norms.warnings)


def test_norms_of_whole_vectors_may_come_with_some_coordinates():
    x = vectors(StudentT(1.5), dim=10)
    norms = np.linalg.norm(x, axis=1)
    partial = diagnose(x[:, :2], norms=norms)
    assert partial.hill == diagnose(x).hill
    assert partial.dim == 2
    with pytest.raises(InvalidInput, match="one per vector"):
        diagnose(x, norms=norms[:500])


def test_scalar_noise_is_kind_vectors():
    x = vectors(StudentT(3.0), dim=1)
    assert str(diagnose(x[:, 0], kind="vectors")) == str(diagnose(x))


def test_pooled_coordinates_are_refused():
    # two Gaussians of different scale pooled look heavy-tailed: that is why
    x = vectors(Gaussian(), dim=2) * np.array([1.0, 20.0])
    with pytest.raises(InvalidInput, match="must not be pooled"):
        diagnose(x.reshape(-1))
    assert diagnose(x).tail == "no power tail"


def test_norms_are_refused_as_vectors():
    norms = np.linalg.norm(vectors(Gaussian()), axis=1)
    with pytest.raises(InvalidInput, match="never cancel in a sum"):
        diagnose(norms[:, None])
    with pytest.raises(InvalidInput, match=r"norms of shape \(m,\)"):
        diagnose(vectors(Gaussian()), kind="norms")


def test_uncentred_vectors_are_centred_with_a_warning():
    x = vectors(StudentT(1.5))
    with pytest.warns(UserWarning, match="not centred"):
        diagnosis = diagnose(x + 50)
    assert any("not centred" in warning for warning in diagnosis.warnings)
    centred = diagnose(x - x.mean(axis=0))
    assert diagnosis.hill["5 %"].tail_index == pytest.approx(centred.hill["5 %"].tail_index)
    assert diagnosis.tail == "infinite variance"


@pytest.mark.parametrize("law", [Gaussian(), AlphaStable(1.5), StudentT(1.5)], ids=str)
def test_a_short_sample_is_undecided_and_says_so(law):
    diagnosis = diagnose(vectors(law)[:120])
    assert diagnosis.tail == "undecided"
    assert any("only 120 samples" in warning for warning in diagnosis.warnings)
    assert diagnosis.suggested_p < 2


def test_p_is_clipped_where_the_mean_may_not_exist():
    heavy = np.random.default_rng(0).standard_cauchy((10_000, 2))
    diagnosis = diagnose(heavy)
    assert diagnosis.suggested_p == 1.05
    assert "theory needs a mean" in diagnosis.reason


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        (np.random.default_rng(0).normal(size=(99, 2)), "at least 100"),
        (np.full((200, 2), np.nan), "non-finite"),
        (np.ones(200), "two different magnitudes"),
        (np.zeros((200, 2)), "only zeros"),
        (np.tile([[1.0], [-1.0]], (100, 1)), "two different magnitudes"),
    ],
)
def test_refusals(samples: np.ndarray, reason: str):
    with pytest.raises(InvalidInput, match=reason):
        diagnose(samples)


def test_coordinates_that_are_mostly_zero_are_left_out_of_the_stable_fit():
    x = vectors(StudentT(1.5))
    x[: len(x) // 10 * 9, 1] = 0
    assert diagnose(x).stable_index == pytest.approx(diagnose(x[:, [0, 2]]).stable_index)


def test_table_text_and_dictionary_tell_the_same():
    diagnosis = diagnose(vectors(StudentT(1.5)))
    text, fields = str(diagnosis), diagnosis.to_dict()
    assert all(cell in text for row in diagnosis.table() for cell in row)
    assert len(diagnosis.table()) == 9
    assert max(map(len, text.splitlines())) <= 100
    assert json.loads(json.dumps(fields)) == fields
    assert fields["suggested_p"] == diagnosis.suggested_p
    assert fields["moments"]["5 %"]["tail_index"] == diagnosis.moments["5 %"].tail_index
    assert math.isclose(fields["hill"]["√n"]["tail_index"], diagnosis.hill["√n"].tail_index)


def test_zeros_are_no_samples_and_the_table_says_how_many_norms_it_read():
    x = vectors(StudentT(1.5))
    with_zeros = np.concatenate([x, np.zeros_like(x)])
    found, alone = diagnose(with_zeros), diagnose(x)
    assert (found.num_samples, found.hill, found.moments) == (20_000, alone.hill, alone.moments)
    assert [row[3] for row in found.table()[:6]] == [row[3] for row in alone.table()[:6]]
    assert "10,000 norms are 0: the estimators read the others" in found.warnings
    with pytest.raises(InvalidInput, match="got 99 non-zero, need at least 100"):
        diagnose(np.concatenate([x[:99], np.zeros_like(x)]))


def test_an_unknown_kind_is_refused():
    with pytest.raises(InvalidInput, match=r"kind: got 'norm'.*did you mean 'norms'"):
        diagnose(np.arange(200.0), kind="norm")  # type: ignore[arg-type]


def test_p_is_the_lower_end_that_the_reason_names():
    for x in laws.draw("t 1.5")[:10]:
        diagnosis = diagnose(x, kind="vectors")
        assert f"cut-off is {diagnosis.suggested_p:.2f};" in diagnosis.reason


def test_the_dictionary_of_a_light_tail_is_json_too():
    fields = diagnose(vectors(Gaussian())).to_dict()
    assert json.loads(json.dumps(fields, allow_nan=False)) == fields
    assert fields["moments"]["5 %"]["tail_index"] is None
