import numpy as np
import pytest
import torch

from gossamer.noise import AlphaStable, Gaussian
from gossamer.tails import StableFit, diagnose, plot
from gossamer.tails.figure import _gaussian_of_quartiles, _stable_survival


@pytest.mark.parametrize("law", [AlphaStable(1.5, 0.5), Gaussian()], ids=str)
def test_draws_three_labelled_panels(law, tmp_path):
    x = law.sample((2000, 3), generator=torch.Generator().manual_seed(0))
    figure = plot(diagnose(x))
    for axes in figure.axes:
        assert axes.get_title()
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert axes.get_legend() is not None
    figure.savefig(tmp_path / "tails.png")
    assert (tmp_path / "tails.png").stat().st_size > 10_000


def test_the_curve_of_the_hill_panel_is_the_hill_estimate():
    x = AlphaStable(1.5).sample((2000, 3), generator=torch.Generator().manual_seed(0))
    diagnosis = diagnose(x)
    curve = plot(x).axes[2].get_lines()[0]
    at = list(curve.get_xdata()).index(100)
    assert curve.get_ydata()[at] == pytest.approx(diagnosis.hill["5 %"].tail_index)


def test_fitted_laws():
    x = np.random.default_rng(0).normal(3, 2, size=100_000)
    assert _gaussian_of_quartiles(x) == pytest.approx((3, 2), abs=0.05)
    survival = _stable_survival(np.array([1.0]), StableFit(2.0, 0.0, 0.5**0.5, 1.0))
    assert survival[0] == pytest.approx(0.5, abs=4 * 0.5 / 2**10)


@pytest.mark.parametrize("zeros", [0.4, 0.6, 0.9])
def test_draws_samples_with_zeros(zeros: float):
    rng = np.random.default_rng(0)
    x = rng.standard_t(1.5, (5000, 3)) * (rng.random((5000, 1)) > zeros)
    x_limits = plot(x).axes[1].get_xlim()
    assert 0 < x_limits[0] < x_limits[1]


def test_draws_samples_with_ties():
    x = np.random.default_rng(0).integers(-5, 5, (1000, 2))
    top = plot(x).axes[2].get_ylim()[1]
    assert np.isfinite(top)
