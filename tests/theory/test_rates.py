import dataclasses
import math

import numpy as np
import pytest
import torch

import gossamer as gs
from gossamer.theory import (
    Constants,
    fit_slope,
    forgetting_exponent,
    lag_transient,
    noise_to_drift,
    noise_transient,
    rate,
    steps_for,
    theorem_bound,
    useful_nodes,
)


@pytest.mark.parametrize(
    ("p", "known", "unknown"),
    [(1 + 1e-12, 0, 0), (1.2, 0.125, 1 / 12), (1.5, 0.2, 1 / 6), (2, 0.25, 0.25)],
)
def test_exponents(p: float, known: float, unknown: float):
    assert rate(p) == pytest.approx(known, abs=1e-11)
    assert rate(p, p_known=False) == pytest.approx(unknown, abs=1e-11)


@pytest.mark.parametrize("p", [1.05, 1.45, 1.8, 2.0])
def test_the_known_p_balances_noise_and_lag(p: float):
    e = forgetting_exponent(p)
    assert rate(p) == pytest.approx(e * (1 - 1 / p)) == pytest.approx((1 - e) / 2)
    assert rate(p, p_known=False) == pytest.approx(0.5 * (1 - 1 / p))
    assert rate(p) >= rate(p, p_known=False)


@pytest.mark.parametrize("p_known", [True, False])
@pytest.mark.parametrize("p", [1.2, 1.5, 2.0])
def test_the_bound_decays_at_the_rate(constants: Constants, p: float, p_known: bool):
    constants = dataclasses.replace(constants, p=p)
    T = [1e60, 1e65, 1e70]
    totals = [theorem_bound(constants, t, p_known=p_known).total for t in T]
    assert fit_slope(T, totals).slope == pytest.approx(-rate(p, p_known=p_known), abs=2e-3)


@pytest.mark.parametrize("p_known", [True, False])
def test_steps_for_inverts_the_bound(constants: Constants, p_known: bool):
    for target in (20.0, 3.0, 1.0):
        steps = steps_for(target, constants, p_known=p_known)
        assert theorem_bound(constants, steps, p_known=p_known).total <= target
        assert theorem_bound(constants, steps - 1, p_known=p_known).total > target


def test_steps_for_extremes(constants: Constants):
    assert steps_for(1e9, constants) == 2
    assert steps_for(1e-3, dataclasses.replace(constants, p=1.0001)) == math.inf
    with pytest.raises(gs.InvalidInput, match="target: got 0"):
        steps_for(0, constants)


def test_speed_up_regime(constants: Constants):
    ratio = noise_to_drift(constants)
    assert ratio == pytest.approx(1.3 / (16 ** (1 / 3) * math.sqrt(2 * 3 / 0.5)), rel=1e-12)
    loud = dataclasses.replace(constants, sigma=1000.0)
    assert noise_to_drift(dataclasses.replace(loud, num_nodes=int(useful_nodes(loud)))) == (
        pytest.approx(1, rel=1e-4)
    )


def test_speed_up_in_the_bound(constants: Constants):
    """High noise and T beyond the transients: twice the nodes, 2^(1−1/p) times less."""
    loud = dataclasses.replace(constants, sigma=1e9, p=1.5)
    n = [16, 32, 64, 128]
    totals = [theorem_bound(dataclasses.replace(loud, num_nodes=k), 1e60).total for k in n]
    assert fit_slope(n, totals).slope == pytest.approx(-1 / 3, abs=1e-3)


def test_topology_independence_in_the_bound(constants: Constants):
    heavy = dataclasses.replace(constants, p=1.5)
    totals = [
        theorem_bound(dataclasses.replace(heavy, lam=lam), 1e60, p_known=False).total
        for lam in (0.0, 0.9, 0.99)
    ]
    assert max(totals) / min(totals) < 1.01


def test_lag_transient_is_where_the_binding_changes(constants: Constants):
    far = dataclasses.replace(constants, lam=0.99)
    turn = lag_transient(16, 0.99, 1.5)
    assert far.parameters(0.999 * turn).binding == "tracking"
    assert far.parameters(1.001 * turn).binding == "momentum"


@pytest.mark.parametrize("p_known", [True, False])
@pytest.mark.parametrize(
    ("n", "lam", "p"), [(4, 0.0, 2.0), (16, 0.5, 1.5), (20, 0.967, 1.2), (2, 0.3, 1.9)]
)
def test_noise_transient_is_where_the_terms_cross(
    constants: Constants, n: int, lam: float, p: float, p_known: bool
):
    """Found by walking along T until the tracking noise falls below the averaged noise."""
    constants = dataclasses.replace(constants, num_nodes=n, lam=lam, p=p)

    def excess(steps: float) -> float:
        terms = theorem_bound(constants, steps, p_known=p_known)
        return terms["tracking noise"] - terms["averaged noise"]

    T = np.geomspace(2, 1e9, 2001)
    after = next(index for index, steps in enumerate(T) if excess(steps) <= 0)
    assert T[after - 1] < noise_transient(n, lam, p, p_known=p_known) <= T[after]


def test_transients_grow_as_the_network_weakens():
    assert lag_transient(20, 0.97, 1.5) > lag_transient(20, 0.5, 1.5)
    assert noise_transient(20, 0.97, 1.5) > noise_transient(20, 0.5, 1.5)
    assert noise_transient(40, 0.5, 1.5) > noise_transient(20, 0.5, 1.5)


def test_fit_recovers_a_power_law_within_its_error():
    rng = np.random.default_rng(0)
    T = 2.0 ** np.arange(5, 15)
    noisy = 3 * T**-0.2 * np.exp(0.05 * rng.standard_normal(10))
    slope, error = fit_slope(T.tolist(), noisy.tolist())
    assert abs(slope + 0.2) < 3 * error
    assert error == pytest.approx(
        0.05 / math.sqrt(((np.log(T) - np.log(T).mean()) ** 2).sum()), rel=0.5
    )


def test_jackknife_error_covers_the_spread_of_seeds():
    rng = np.random.default_rng(1)
    T = 2.0 ** np.arange(5, 10)
    errors, slopes = [], []
    for _ in range(200):
        values = T[:, None] ** -0.2 * np.exp(0.3 * rng.standard_normal((5, 12)))
        slope, error = fit_slope(T.tolist(), torch.from_numpy(values))
        slopes.append(slope)
        errors.append(error)
    assert np.mean(slopes) == pytest.approx(-0.2, abs=0.01)
    assert np.mean(errors) == pytest.approx(np.std(slopes), rel=0.15)


@pytest.mark.parametrize(
    ("x", "values", "message"),
    [
        ([1, 2], [1, 2], "at least 3 points"),
        ([1, 2, 3], [1, 2], "2 rows, need 3"),
        ([1, 2, 3], [1, 0, 2], "finite positive"),
        ([1, 2, 3], [1, math.nan, 2], "finite positive"),
        ([1, 2, 3], [[1], [2], [3]], "at least 2 seeds"),
        ([0, 1, 2], [1, 2, 3], "^x: got some not finite and positive"),
        ([2, 2, 2], [1, 2, 3], "^x: got equal points"),
    ],
)
def test_refusals(x: list[float], values: list[float], message: str):
    with pytest.raises(gs.InvalidInput, match=message):
        fit_slope(x, values)


def test_transients_of_no_nodes_are_refused():
    for transient in (lag_transient, noise_transient):
        with pytest.raises(gs.InvalidInput, match="num_nodes: got 0"):
            transient(0, 0.5, 1.5)
