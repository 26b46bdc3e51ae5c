import math

import pytest
import torch

import gossamer as gs
from gossamer.simulation._sweep import stack_settings
from gossamer.theory import Plan, bound, plan
from gossamer.theory import planned as planned_module

NOISE = gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(gs.RobustRegression(num_nodes=20), gs.ring(20, hops=2), 10_000, noise=NOISE)


def test_constants_come_from_the_problem_and_the_noise(planned: Plan):
    problem, c = gs.RobustRegression(num_nodes=20), planned.constants
    local = problem.local_grad(torch.zeros(20, 1, 20).double())
    assert (c.num_nodes, c.lam, c.p) == (20, gs.ring(20, hops=2).lam, 1.45)
    assert c.smoothness == problem.smoothness
    assert c.gap == float(problem.loss(problem.start[None]))
    assert c.grad_norm == pytest.approx(float(local.mean(0).norm()), rel=1e-12)
    assert c.stacked_grad_norm == pytest.approx(float(local.norm()), rel=1e-12)
    assert c.sigma == pytest.approx((20 * NOISE.moment(1.45)) ** (1 / 1.45), rel=1e-12)


def test_parameters_and_bounds_of_both_theorems(planned: Plan):
    for name, p in {"p known": 1.45, "p unknown": None}.items():
        rule = planned.parameters[name]
        exponent = 0.5 if p is None else p / (3 * p - 2)
        assert rule.momentum == pytest.approx(1 - 10_000**-exponent, rel=1e-12)
        expected = bound(planned.constants, 10_000, rule.lr, rule.momentum).total
        assert planned.bounds[name].total == pytest.approx(expected, rel=1e-12)


def test_better_networks_need_fewer_steps(planned: Plan):
    options = planned.networks()
    assert [o.lam for o in options] == sorted((o.lam for o in options), reverse=True)
    assert [o.bound for o in options] == sorted((o.bound for o in options), reverse=True)
    steps = {o.name: o.steps_to_match for o in options}
    assert steps["ring(20, hops=2)"] == pytest.approx(10_000, rel=1e-3)
    assert steps["complete(20)"] < steps["exponential(20)"] < 10_000 < steps["ring(20)"]


def test_more_nodes_keep_the_gradients_per_node(planned: Plan):
    options = {o.name: o for o in planned.more_nodes()}
    assert len(options) == 12
    assert (
        options["complete(20)"].bound
        == {o.name: o.bound for o in planned.networks()}["complete(20)"]
    )
    assert options["complete(40)"].bound < options["complete(20)"].bound
    assert options["ring(40)"].bound > options["ring(20)"].bound  # λ → 1 costs more than n gives


def test_complete_networks_are_weighed_without_being_built():
    n = 1100
    options = plan(gs.Quadratic(n, 2), gs.ring(n), 100).more_nodes()
    assert (options[-1].name, options[-1].lam) == ("complete(8800)", 0.0)
    with pytest.raises(gs.InvalidInput, match="8,800 nodes that each hear 8,799"):
        gs.complete(8800)


def test_networks_that_are_too_large_to_be_built_are_left_out(monkeypatch: pytest.MonkeyPatch):
    """With 300,000 nodes a plan must not fail on eight times as many, which nobody asked for."""
    monkeypatch.setattr(planned_module, "MOST_NODES", 50)
    options = plan(gs.Quadratic(20, 2), gs.ring(20), 100).more_nodes()
    assert [option.name for option in options if "ring" in option.name] == ["ring(20)", "ring(40)"]


def test_no_noise_means_exact_gradients():
    quiet = plan(gs.Quadratic(4, 2), gs.complete(4), 100)
    assert (quiet.constants.sigma, quiet.constants.p) == (0, 2)
    assert "Noise: none, the gradients are exact" in str(quiet)


def test_the_noise_assumed_is_said(planned: Plan):
    problem, network = gs.Quadratic(4, 2), gs.complete(4)
    samples = gs.Gaussian().sample((500, 2), generator=torch.Generator().manual_seed(0))
    assert f"Noise: {NOISE}" in str(planned)
    assert "p = 1.3 and σ = 2 as given" in plan(problem, network, 100, p=1.3, sigma=2.0).noise
    assert "measured samples" in plan(problem, network, 100, samples=samples).noise


@pytest.mark.parametrize(("given", "missing"), [("p", "sigma"), ("sigma", "p")])
def test_half_of_a_noise_is_refused(given: str, missing: str):
    """A tail without a size used to count as no noise."""
    problem, network = gs.Quadratic(4, 2), gs.complete(4)
    with pytest.raises(gs.InvalidInput, match=f"{missing}: got none beside {given}"):
        plan(problem, network, 100, **{given: 1.5})


def test_a_plan_says_how_far_its_steps_reach(planned: Plan):
    said = "The optimum is 3.8 away. With p known the steps reach at most αT = 0.64, which"
    assert said in planned.advice()[0]
    columns, rows = planned.tables()["Parameters of GT-NSGDm"]
    reach = columns.index("reach αT")
    assert {row[0]: row[reach] for row in rows} == {
        "p known": "0.643",
        "p unknown": "1.1",
        "practical": "18.9",
    }
    long = plan(gs.Quadratic(4, 2), gs.complete(4), 10**6).advice()[0]
    assert "the steps can reach αT = " in long


def test_the_practical_setting_trains_where_the_theorems_do_not(planned: Plan):
    """On the plan's own example: from 3.79, below 0.3 where Theorem 1 is still above 3.5."""
    settings = [setting.hyperparameters for setting in planned.settings.values()]
    together = stack_settings(gs.GTNSGDm, settings, copies=1)
    problem = gs.RobustRegression(num_nodes=20)
    stack = gs.Stack(together, problem, planned.network, NOISE, seeds=[0, 0, 0])
    stack.advance(planned.steps)
    ends = dict(zip(planned.settings, gs.METRICS["error"](stack).tolist(), strict=True))
    assert ends["p known"] > 3.5
    assert ends["p unknown"] > 3.2
    assert ends["practical"] < 0.3


def test_the_bound_of_the_practical_setting_is_that_of_any(planned: Plan):
    ours = planned.practical
    expected = bound(planned.constants, planned.steps, ours.lr, ours.momentum).total
    assert planned.bounds["practical"].total == pytest.approx(expected, rel=1e-12)


def test_given_p_and_sigma_override():
    problem, network = gs.Quadratic(4, 2), gs.complete(4)
    given = plan(problem, network, 100, p=1.3, sigma=2.0)
    assert (given.constants.p, given.constants.sigma) == (1.3, 2.0)
    lower = plan(problem, network, 100, noise=NOISE, p=1.2)
    assert lower.constants.sigma == pytest.approx((2 * NOISE.moment(1.2)) ** (1 / 1.2))


def test_noise_of_a_function_needs_sigma_beside_its_tail_index():
    """As its documentation says."""
    problem, network = gs.Quadratic(4, 2), gs.complete(4)
    drawn = gs.SampledNoise(lambda shape, _: torch.zeros(shape), name="drawn", tail_index=1.5)
    with pytest.raises(gs.InvalidInput, match=r"not known, .*; give sigma, or samples="):
        plan(problem, network, 100, noise=drawn)
    found = plan(problem, network, 100, noise=drawn, sigma=2.0)
    assert (found.constants.p, found.constants.sigma) == (1.45, 2)


def test_samples_give_p_and_sigma():
    samples = gs.Gaussian(3.0).sample((5000, 2), generator=torch.Generator().manual_seed(0))
    found = plan(gs.Quadratic(4, 2), gs.complete(4), 100, samples=samples)
    assert found.constants.p == 2
    assert found.constants.sigma == pytest.approx(3 * math.sqrt(2), rel=0.03)
    array = plan(gs.Quadratic(4, 2), gs.complete(4), 100, samples=samples.numpy())
    assert array.constants == found.constants


def test_samples_of_another_dimension_tell_p_but_not_sigma():
    samples = gs.Gaussian().sample((5000, 3), generator=torch.Generator().manual_seed(0))
    problem, network = gs.Quadratic(4, 2), gs.complete(4)
    for other in (samples, samples.norm(dim=1)):
        with pytest.raises(gs.InvalidInput, match=r"need shape \(samples, 2\)"):
            plan(problem, network, 100, samples=other)
        given = plan(problem, network, 100, samples=other, sigma=3.0)
        assert (given.constants.p, given.constants.sigma) == (2, 3)


def test_reads_as_text(planned: Plan):
    text = str(planned)
    assert repr(planned) == text
    for part in ("ring(20, hops=2)", "upper bound", "tracking noise", "More nodes", "0.9966"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 80
    assert "until T = " in planned.advice()[-1]


def test_a_slow_network_is_not_shown_as_one_that_never_averages():
    """A plan said λ = 1 of it, where nothing converges."""
    slow = plan(gs.Quadratic(2000, 2), gs.ring(2000), 100, noise=gs.Gaussian(0.1))
    constants, _, _, networks, _ = slow.tables().values()
    assert ["λ", "1 − 3.3e-06"] in [list(row[:2]) for row in constants[1]]
    assert "1 − 3.3e-06" in {row[1] for row in networks[1]}


def test_a_bound_that_says_something_needs_no_warning():
    problem = gs.Quadratic.from_centers(torch.tensor([[0.0], [2.0]]))
    assert not any("until T" in line for line in plan(problem, gs.complete(2), 10**6).advice())


def test_tables_are_rectangular(planned: Plan):
    for columns, rows in planned.tables().values():
        assert rows
        assert all(len(row) == len(columns) for row in rows)


def test_figure_stacks_every_term(planned: Plan):
    (ax,) = planned.figure().axes
    widths = [sum(c.patches[i].get_width() for c in ax.containers) for i in (0, 1, 2)]
    totals = [planned.bounds[name].total for name in ("p known", "p unknown", "practical")]
    assert widths == pytest.approx(totals, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9])
def test_any_number_of_nodes(n: int):
    assert len(plan(gs.Quadratic(n, 2), gs.complete(n), 100).networks()) >= 1


def test_refusals():
    problem = gs.Quadratic(4, 2)
    with pytest.raises(gs.InvalidInput, match=r"network: got <function ring .*gs\.ring\(20\)"):
        plan(problem, gs.ring, 100)
    with pytest.raises(gs.InvalidInput, match="problem: got the module Linear, need a problem"):
        plan(torch.nn.Linear(2, 2), gs.ring(4), 100)
    with pytest.raises(gs.InvalidInput, match="network: got 5 nodes where the problem has 4"):
        plan(problem, gs.ring(5), 100)
    with pytest.raises(gs.InvalidInput, match="one doubly stochastic W in every round"):
        plan(problem, gs.one_peer_exponential(4), 100)
    with pytest.raises(gs.InvalidInput, match="steps: got 1"):
        plan(problem, gs.ring(4), 1)
    with pytest.raises(gs.InvalidInput, match="only one of them"):
        plan(problem, gs.ring(4), 100, noise=NOISE, samples=torch.zeros(100, 2))
    with pytest.raises(gs.InvalidInput, match="sigma: got -1"):
        plan(problem, gs.ring(4), 100, p=1.5, sigma=-1)


@pytest.mark.parametrize(
    ("network", "why", "instead"),
    [
        (gs.ring(8).drops(0.1), "messages are lost", "ring(8)"),
        (gs.ring(8).drops(0.1, both_ways=True), "messages are lost", "ring(8)"),
        (gs.ring(8).compressed(gs.TopK(0.1)), "messages are compressed", "ring(8)"),
        (gs.ring(8).every(3), "nodes talk in every 3rd step only", "ring(8)"),
        (gs.random_matching(8), "links are drawn anew in every round", "exponential(8)"),
        (gs.one_peer_exponential(8), "links change from round to round", "exponential(8)"),
        (gs.random_digraph(8, degree=2), "its one-way links are not balanced", "exponential(8)"),
    ],
)
def test_networks_that_the_theorems_are_not_about_are_refused(network, why: str, instead: str):
    with pytest.raises(gs.InvalidInput) as refusal:
        plan(gs.Quadratic(8, 3), network, 100)
    assert f"(here {why}" in str(refusal.value)
    assert f"plan on {instead} and measure what {network.name} changes" in str(refusal.value)


@pytest.mark.parametrize(
    "network", [gs.ring(8).accelerated(2), gs.ring(8).drops(0.0), gs.ring(8).every(1)]
)
def test_networks_with_one_matrix_are_planned_with_its_lam(network):
    planned = plan(gs.Quadratic(8, 3), network, 100)
    assert planned.constants.lam == network.lam
    assert network.name in [option.name for option in planned.networks()]
