"""The noise of mini-batches in a plan: estimated, said, and never taken to be none."""

import pytest
import torch
from torch import Tensor

import gossamer as gs
from gossamer.theory import Plan, estimate_sigma_from_batches, plan

NODES = 4


def regression(batch_size: int | None = 1) -> gs.LogisticRegression:
    """Fifty samples per node, so that 500 mini-batches of one sample are ten epochs."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn((NODES, 50, 3), generator=generator, dtype=torch.float64)
    labels = (rows[..., 0] > torch.arange(NODES)[:, None] / 4).double()
    return gs.LogisticRegression(list(zip(rows, labels, strict=True)), batch_size=batch_size)


def noise_of_samples(problem: gs.Problem, p: float) -> float:
    """σ at the start, with the gradients of all samples in one epoch."""
    x = problem.start.expand(NODES, 1, -1)
    noise = [problem.sample_grad(x, t, [7]) - problem.local_grad(x) for t in range(50)]
    moments = torch.stack(noise).norm(dim=-1).pow(p).mean(0)
    return float(moments.max() ** (1 / p))


def planned(**noise: object) -> Plan:
    return plan(regression(), gs.complete(NODES), 10_000, **noise)


class HeavyTailed(gs.Quadratic):
    """Gradients with Student-t noise of their own."""

    def sample_grad(self, x: Tensor, t: int, seeds: object) -> Tensor:
        generator = torch.Generator().manual_seed(t)
        return self.local_grad(x) + gs.StudentT(1.1).sample(x.shape, generator=generator)


@pytest.mark.parametrize("p", [2.0, 1.5])
def test_sigma_is_that_of_the_node_with_the_most_noise(p: float):
    problem = regression()
    found = estimate_sigma_from_batches(problem, p)
    assert found.value == pytest.approx(noise_of_samples(problem, p), rel=1e-9)
    assert "may be larger elsewhere" in found.how


def test_all_samples_have_no_noise():
    assert estimate_sigma_from_batches(regression(batch_size=50), 2.0).value < 1e-12


def test_a_plan_counts_the_noise_of_mini_batches():
    """It used to call gradients exact that are of one sample."""
    found, level = planned(), noise_of_samples(regression(), 2.0)
    assert (found.constants.p, found.how["p"]) == (
        2,
        "assumed: mini-batches have a finite variance",
    )
    assert found.constants.sigma == pytest.approx(level, rel=1e-9)
    given = planned(p=2.0, sigma=level).bounds
    for name, bound in found.bounds.items():
        assert bound.total == pytest.approx(given[name].total, rel=1e-9)
    assert found.noise.startswith("that of mini-batches, estimated at the start from 500 of every")
    assert found.noise.endswith("It may be larger elsewhere, and then the bounds do not hold.")


def test_both_noises_add_up():
    law = gs.StudentT(1.5, scale=0.1)
    found = planned(noise=law)
    without = plan(regression(None), gs.complete(NODES), 10_000, noise=law)
    assert found.constants.p == without.constants.p == 1.45
    own = noise_of_samples(regression(), 1.45)
    assert found.constants.sigma == pytest.approx(without.constants.sigma + own, rel=1e-9)
    assert found.noise.startswith(
        "StudentT(df=1.5, scale=0.1) in every coordinate, and that of mini"
    )
    assert f"{own:.4g} of mini-batches" in found.how["σ"]


def test_a_given_order_is_that_of_the_measurement():
    assert planned(p=1.5).constants.sigma == pytest.approx(noise_of_samples(regression(), 1.5))


@pytest.mark.parametrize("law", [None, gs.Gaussian(0.001)])
def test_a_given_sigma_is_that_of_all_noise(law: gs.Noise | None):
    found = planned(noise=law, p=2.0, sigma=3.0)
    assert found.constants.sigma == 3
    assert found.noise.endswith("that of mini-batches included")


def test_no_sigma_is_given_the_name_of_exact_gradients():
    assert "exact" not in planned(p=2.0, sigma=0.0).noise


def test_measured_samples_are_of_all_noise():
    samples = gs.Gaussian().sample((500, 3), generator=torch.Generator().manual_seed(0))
    assert (
        planned(samples=samples).noise
        == "as in the measured samples, that of mini-batches included"
    )


def test_heavy_tails_of_the_gradients_themselves_need_an_order():
    problem, network = HeavyTailed(NODES, 2), gs.complete(NODES)
    with pytest.raises(gs.InvalidInput, match=r"finite variance; .*: give p below 2"):
        plan(problem, network, 100)
    assert plan(problem, network, 100, p=1.05).constants.sigma > 0


def test_half_of_a_noise_is_refused():
    with pytest.raises(gs.InvalidInput, match="p: got none beside sigma"):
        planned(sigma=1.0)


def test_lines_fit():
    law = gs.AlphaStable(1.5, skewness=0.5, scale=0.1)
    noise_and_constants, *_ = str(planned(noise=law)).partition("Parameters")
    assert max(map(len, noise_and_constants.splitlines())) <= 80
