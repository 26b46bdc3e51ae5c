"""What the theorems promise, measured: averages below the bound, slopes at the rate."""

import pytest
import torch

import gossamer as gs
from gossamer.studies.theory.measured import average_grad_norm, measure_rule
from gossamer.theory import admissible_p, bound, fit_slope, forgetting_exponent, plan, rate

CAMPS = torch.tensor([[0.0], [2.0], [0.0], [2.0]]).double()
"""Two nodes pull to 0 and two to 2; started at 0, f(x⁰) − f_* = ½ and L = 1."""


def test_average_is_over_every_node_and_step():
    problem, network = gs.Quadratic(4, 2), gs.ring(4)
    algorithm = gs.GTNSGDm(0.05, 0.7)
    run = gs.simulate(
        algorithm, problem, network, noise=gs.Gaussian(), steps=64, seeds=range(3), record_every=1
    )
    stack = gs.Stack(algorithm, problem, network, gs.Gaussian(), range(3))
    halves = average_grad_norm(stack, torch.tensor([16, 64, 64]))
    norms = run.metrics["grad_norm"]
    assert halves[0, 0] == pytest.approx(float(norms[:8, 0].mean()), rel=1e-12)
    assert halves[1, 1] == pytest.approx(float(norms[32:64, 1].mean()), rel=1e-12)
    assert halves[:, 2].mean() == pytest.approx(float(norms[:64, 2].mean()), rel=1e-12)


def test_horizons_must_be_divisible():
    stack = gs.Stack(gs.GTNSGDm(0.1, 0.5), gs.Quadratic.from_centers(CAMPS), gs.ring(4), None, [0])
    with pytest.raises(gs.InvalidInput, match="every: got 3"):
        average_grad_norm(stack, torch.tensor([8]), every=3)


@pytest.mark.parametrize("network", [gs.ring(8), gs.exponential(8), gs.complete(8)])
@pytest.mark.parametrize(
    "noise",
    [gs.Gaussian(3**0.5), gs.StudentT(1.5), gs.AlphaStable(1.5, 0.5, 0.1), gs.Pareto(1.8)],
    ids=lambda noise: type(noise).__name__,
)
def test_measured_below_the_bound(network: gs.Network, noise: gs.Noise):
    problem = gs.RobustRegression(num_nodes=8, num_samples=200, dim=6)
    planned = plan(problem, network, 256, noise=noise)
    for name, p in {"p known": admissible_p(noise), "p unknown": None}.items():
        measured = measure_rule(problem, network, noise, [256], range(8), p=p, every=16).mean()
        assert float(measured) < planned.bounds[name].total
    algorithm = gs.GTNSGDm(lr=0.01, momentum=0.5)  # the bound holds for any of them
    stack = gs.Stack(algorithm, problem, network, noise, range(8))
    measured = average_grad_norm(stack, torch.full((8,), 256), every=16).mean()
    assert float(measured) < bound(planned.constants, 256, 0.01, 0.5).total


AT_REST = gs.Quadratic.from_centers(CAMPS, start=torch.tensor([1.0]))
"""Started at its optimum: no way to go, so that what is measured is due to the noise."""


@pytest.mark.parametrize(
    ("noise", "p"), [(gs.AlphaStable(1.5, 1.0, 0.2), 1.45), (gs.Gaussian(0.2), 2.0)]
)
def test_at_rest_the_average_falls_at_the_rate(noise: gs.Noise, p: float):
    """0.015 between the rates of p = 1.45 and of the index 1.5, and three standard errors."""
    horizons = [2**k for k in range(8, 14)]
    halves = measure_rule(AT_REST, gs.complete(4), noise, horizons, range(24), p=p, gap=0.5)
    slope, error = fit_slope(horizons, halves.mean(0))
    assert error < 0.02
    assert abs(slope + rate(p)) <= 0.015 + 3 * error


@pytest.mark.parametrize("p", [1.45, 2.0])
def test_at_rest_without_noise_only_the_steps_are_left(p: float):
    """The average falls like α, T^(−(1+e)/2) with 1 − β = T^(−e): the rate is not seen."""
    horizons = [64, 128, 256, 512]
    noise, network = gs.Gaussian(1e-9), gs.complete(4)
    halves = measure_rule(AT_REST, network, noise, horizons, range(2), p=p, gap=0.5, every=1)
    slope = fit_slope(horizons, halves.mean(0)).slope
    assert slope == pytest.approx(-(1 + forgetting_exponent(p)) / 2, abs=0.01)
    assert slope < -rate(p) - 0.4


def test_at_rest_networks_draw_level_as_T_grows():
    """Smaller steps keep a weak network nearer to the optimum, less and less so."""
    noise, camps = gs.AlphaStable(1.5, 1.0, 2.0), CAMPS.repeat(2, 1)
    problem = gs.Quadratic.from_centers(camps, start=torch.tensor([1.0]))
    weak, perfect = (
        measure_rule(problem, network, noise, [256, 4096], range(8), gap=0.5).mean((0, 2))
        for network in (gs.ring(8), gs.complete(8))
    )
    early, late = (weak / perfect).tolist()
    assert early < 0.75
    assert early + 0.1 < late < 1


def test_averaging_over_nodes_reduces_stable_noise():
    """E‖(1/n) Σ ξ_i‖ ∝ n^(−(1−1/α)) for α-stable noise: −1/3 at α = 1.5."""
    noise, generator = gs.AlphaStable(1.5), torch.Generator().manual_seed(0)
    nodes = [2, 4, 8, 16, 32, 64]
    draws = noise.sample((20_000, 64, 2), generator=generator)
    averages = [float(draws[:, :n].mean(1).norm(dim=-1).mean()) for n in nodes]
    assert fit_slope(nodes, averages).slope == pytest.approx(-1 / 3, abs=0.03)
