"""Schedules: their values, what is refused, stacked ones, and how they are written down."""

import json
import math
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

import gossamer as gs
from gossamer.algorithms import Count, Mix, Positive, Real, Stateless, named
from gossamer.algorithms.described_schedules import Described, from_description
from gossamer.algorithms.schedule import FunctionSchedule
from gossamer.algorithms.stacked_schedules import stacked
from gossamer.simulation.run import as_json


def power(t: int) -> float:
    return 0.3 / (t + 1) ** 0.6


@dataclass(frozen=True, repr=False)
class Sawtooth(gs.Schedule):
    """One of a user's own."""

    height: Real
    period: Positive

    def values(self, t: Tensor) -> Tensor:
        return self.height * (1 - (t % self.period) / self.period)


FORMULAS = {
    gs.InversePower(0.3): lambda t: 0.3 / math.sqrt(t + 1),
    gs.InversePower(0.3, 1): lambda t: 0.3 / (t + 1),
    gs.Linear(0.3, 10, 0.1): lambda t: 0.3 - 0.2 * min(t, 10) / 10,
    gs.Cosine(0.3, 10, 0.1): lambda t: 0.1 + 0.1 * (1 + math.cos(math.pi * min(t, 10) / 10)),
    gs.WarmUp(0.3, 4): lambda t: 0.3 * min(1, (t + 1) / 4),
    gs.WarmUp(gs.Linear(0.3, 10), 4): lambda t: (
        0.3 * (t + 1) / 4 if t < 4 else max(0, 0.3 - 0.03 * (t - 4))
    ),
    gs.WarmUp(power, 2): lambda t: 0.15 if t == 0 else power(max(0, t - 2)),
    FunctionSchedule(power): power,
    Sawtooth(0.3, 3): lambda t: 0.3 * (1 - (t % 3) / 3),
}


@pytest.mark.parametrize("schedule", FORMULAS, ids=str)
def test_values_are_those_of_the_formula(schedule: gs.Schedule):
    for t in (0, 1, 2, 3, 4, 5, 9, 10, 11, 1000):
        assert schedule.at(t) == pytest.approx(FORMULAS[schedule](t), abs=1e-15)
        method = gs.DSGD(lr=schedule).at(t)
        assert method == gs.DSGD(lr=schedule.at(t))
        assert isinstance(method.lr, float)


def test_the_end_is_reached_exactly():
    """A rounding error below 0 would be no step size."""
    for steps in range(1, 200):
        for kind in (gs.Linear, gs.Cosine):
            assert kind(0.1, steps).at(steps) == 0.0 == kind(0.1, steps).at(10 * steps)


def test_a_step_by_hand_takes_the_value_of_its_step():
    x = torch.tensor([4.0])
    moved, _ = gs.DSGD(lr=gs.Linear(1.0, 4)).step(1, x, x, Stateless(), mix=lambda z: z)
    assert moved.item() == 1.0


def test_a_method_without_schedules_is_itself_at_every_step():
    method = gs.GTNSGDm(lr=0.1, momentum=0.8)
    assert method.at(5) is method
    assert all(one is method for one in method.along(range(3)))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: gs.DSGD(gs.Linear(0.1, 10, -0.1)), r"lr: got Linear\(0.1, 10, -0.1\), which is "
         r"-0.1 at step 10, need a number in \[0, ∞\)"),
        (lambda: gs.QGDSGDm(gs.Cosine(0.1, 10)), r"lr: got Cosine\(0.1, 10\), which is 0 at step"),
        (lambda: gs.GTNSGDm(0.1, gs.WarmUp(1.0, 5)), "momentum: got .* is 1 at step 5"),
        (lambda: gs.DSGD(lambda t: -1.0), "lr: got <lambda>, which is -1 at step 0"),
        (lambda: gs.DSGD(lambda t: [][t]), "<lambda>: fails at step 0 .IndexError"),
        (lambda: gs.Cosine(0.1, 0), r"steps of Cosine: got 0, need a number in \(0, ∞\)"),
        (lambda: gs.Linear("fast", 3), "start of Linear: got 'fast'"),
        (lambda: gs.DSGDGClip(0.1, 1.0, order=power), "order: got power, need one of"),
        (lambda: gs.DSGD(gs.Cosine), "lr: got <class"),
    ],
)  # fmt: skip
def test_what_no_step_could_have_is_refused_when_it_is_made(build, words: str):
    with pytest.raises(gs.InvalidInput, match=words):
        build()


def test_what_leaves_the_admissible_set_later_is_refused_there():
    method = gs.DSGD(lr=lambda t: 0.5 - t / 10)
    assert method.at(5).lr == 0.0
    with pytest.raises(gs.InvalidInput, match=r"which is -0.1 at steps 4 to 6, need a number"):
        list(method.along(range(4, 7)))


MIXTURE = [gs.Cosine(0.1, 10), gs.Cosine(0.2, 20), 0.05, power, gs.WarmUp(gs.Cosine(0.1, 5), 3),
           gs.WarmUp(gs.Cosine(0.1, 7), 4), gs.WarmUp(0.1, 3), 0.07, gs.Cosine(0.1, 10),
           gs.WarmUp(power, 3), gs.WarmUp(power, 5), Sawtooth(0.1, 3)]  # fmt: skip


def test_stacked_schedules_are_each_alone():
    values = [gs.DSGD(lr).lr for lr in MIXTURE]
    method = gs.DSGD(stacked(values))
    method.require_runs(len(MIXTURE))
    for t in (0, 1, 3, 4, 7, 12, 100):
        expected = [[gs.DSGD(lr).at(t).lr] for lr in MIXTURE]
        found = method.at(t).lr
        expected = torch.tensor(expected, dtype=torch.float64)
        torch.testing.assert_close(found, expected, rtol=1e-14, atol=1e-16)
        some = method.select(torch.tensor([11, 3, 0])).at(t).lr
        assert torch.equal(some, found[[11, 3, 0]])


def test_schedules_of_one_kind_are_evaluated_once():
    (part,) = stacked([gs.Cosine(0.1, 10), gs.Cosine(0.2, 10), gs.Cosine(0.1, 10)]).parts
    assert (part.start.tolist(), part.steps) == ([[0.1], [0.2]], 10)


def test_numbers_of_a_schedule_may_be_one_per_run():
    schedule = gs.Cosine(torch.tensor([[0.1], [0.2]]), torch.tensor([[10], [20]]))
    method = gs.DSGD(schedule)
    expected = [0.05, 0.2 * math.cos(math.pi / 8) ** 2]
    assert method.at(5).lr.flatten().tolist() == pytest.approx(expected)
    assert method.select(torch.tensor([1])).at(20).lr.tolist() == [[0.0]]
    with pytest.raises(gs.InvalidInput, match=r"lr: got shape \(2, 1\), need a number, or .*3, 1"):
        method.require_runs(3)
    single = method.at(5, torch.zeros(1, dtype=torch.float32)).lr
    assert (single.dtype, single.shape) == (torch.float32, (2, 1))


@pytest.mark.parametrize("schedule", gs.SCHEDULES.values(), ids=lambda kind: kind.__name__)
def test_json_and_the_command_line_give_the_schedule_back(schedule: type[gs.Schedule]):
    made = schedule(gs.Cosine(0.1, 10, 0.01), 20) if schedule is gs.WarmUp else schedule(0.1, 20)
    assert from_description(json.loads(json.dumps(as_json(made.describe())))) == made
    assert named(f"GTNSGDm(lr={made}, momentum=0.8)") == gs.GTNSGDm(made, 0.8)
    assert named(f"PushSum(DSGD(lr={made}))") == gs.PushSum(gs.DSGD(made))


def test_a_function_is_described_and_does_not_come_back():
    told = as_json({"lr": FunctionSchedule(power)})["lr"]
    assert (told["name"], "0.3 / (t + 1) ** 0.6" in told["source"]) == ("power", True)
    again = from_description(told)
    assert (isinstance(again, Described), str(again), again.describe()) == (True, "power", told)
    with pytest.raises(gs.InvalidInput, match=r"power: .* need the function or class itself"):
        gs.DSGD(again)


def test_names_that_are_no_schedules_are_refused():
    with pytest.raises(gs.InvalidInput, match=r"algorithm: got 'Cosin', need .*mean 'Cosine'"):
        named("DSGD(lr=Cosin(0.1, 10))")
    with pytest.raises(gs.InvalidInput, match="algorithm: got 'Cosine', need one of DSGD"):
        named("Cosine(0.1, 10)")


@dataclass(frozen=True)
class Counting(gs.Algorithm[Stateless]):
    """Several local steps, with or without their sign."""

    lr: Positive
    local_steps: Count = 2
    signs: bool = False

    def init(self, x: Tensor) -> Stateless:
        return Stateless()

    def step(self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix):
        for _ in range(self.local_steps):
            x = x - self.lr * (grad.sign() if self.signs else grad)
        return mix.pull(x), state


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"local_steps": 0}, "local_steps: got 0, need an integer ≥ 1"),
        ({"local_steps": 2.0}, "local_steps: got 2.0, need an integer"),
        ({"local_steps": True}, "local_steps: got True"),
        ({"local_steps": gs.Linear(3, 2, 1)}, "local_steps: got Linear"),
        ({"signs": 1}, "signs: got 1, need one of False, True"),
    ],
)
def test_integers_and_switches_are_checked(values, words: str):
    with pytest.raises(gs.InvalidInput, match=words):
        Counting(0.1, **values)


def test_integers_and_switches_are_run_and_swept_one_at_a_time():
    problem, network = gs.Quadratic(4, 2), gs.ring(4)
    grid = {"lr": [0.1, 0.2], "local_steps": [3], "signs": [True]}
    best = gs.sweep(Counting, grid, problem, network, steps=20).best()
    assert best.hyperparameters["local_steps"] == 3
    assert best.hyperparameters["signs"] is True
    assert (
        best.title == f"Counting (lr = {best.hyperparameters['lr']}, local_steps = 3, signs = True)"
    )
    alone = gs.simulate(Counting(**best.hyperparameters), problem, network, steps=20)
    torch.testing.assert_close(best.x, alone.x, rtol=1e-12, atol=1e-12)
    for name, values in {"local_steps": [2, 3], "signs": [False, True]}.items():
        with pytest.raises(gs.InvalidInput, match=f"{name}: got .* one value .* once for each"):
            gs.sweep(Counting, {"lr": [0.1], name: values}, problem, network, steps=2)
