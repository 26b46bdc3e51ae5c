"""PushSum: a class of its own for every method, the method itself where w stays 1, and refusals."""

import dataclasses
import pickle

import pytest
import torch
from algorithms.contract import CHANGING, close, setup, trajectory
from algorithms.table import TABLE, Row
from torch import Tensor

import gossamer as gs
from gossamer.algorithms import admissible_sets, named
from gossamer.simulation.search_sets import search_set

PLAIN = [row for row in TABLE if not row.name.startswith("PushSum")]


@pytest.mark.parametrize("row", PLAIN, ids=str)
def test_where_the_weights_stay_1_it_is_the_method(row: Row):
    x, grads = setup(CHANGING, 2)
    expected = trajectory(row.algorithm, CHANGING, x, grads)
    close(trajectory(gs.PushSum(row.algorithm), CHANGING, x, grads), expected)


@pytest.mark.parametrize("row", PLAIN, ids=str)
def test_it_is_made_once_with_the_method_s_hyperparameters(row: Row):
    method, kind = row.algorithm, type(row.algorithm)
    pushed, made = gs.PushSum(method), gs.PushSum(kind)
    assert type(pushed) is made is gs.PushSum(kind)
    assert issubclass(made, kind)
    assert pushed.hyperparameters == method.hyperparameters
    assert admissible_sets(made) == admissible_sets(kind)
    assert search_set(made) == search_set(kind)
    assert (made.__name__, made.label) == (f"PushSum({kind.__name__})", f"PushSum({kind.label})")
    assert (made.tracker, made.pushes) == (kind.tracker, (*kind.pushes, "push_weight"))


def test_it_is_a_frozen_method_like_any_other():
    method = gs.PushSum(gs.DSGDGClip(lr=torch.tensor([[0.1], [0.2]]), clip=1.0))
    assert dataclasses.replace(method, clip=2.0) == gs.PushSum(gs.DSGDGClip)(method.lr, 2.0)
    assert type(method.select(torch.tensor([1]))) is type(method)
    assert method.select(torch.tensor([1])).lr.tolist() == [[pytest.approx(0.2)]]
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.clip = 3.0
    with pytest.raises(gs.InvalidInput, match=r"clip: got -1.0, need a number in \(0, ∞\)"):
        dataclasses.replace(method, clip=-1.0)
    assert gs.PushSum(gs.DSGD(lr=0.1)) != gs.DSGD(lr=0.1)


def test_what_is_printed_can_be_typed():
    method = gs.PushSum(gs.GTNSGDm(lr=0.1, momentum=0.8))
    assert repr(method) == "PushSum(GTNSGDm(lr=0.1, momentum=0.8))"
    assert named(repr(method)) == method
    assert named(type(method).__name__) is type(method)
    assert repr(type(method)) == "<class 'gossamer.algorithms.push_sum.PushSum(GTNSGDm)'>"


def test_classes_methods_and_states_pickle():
    method = gs.PushSum(gs.GTDSGD(lr=0.1))
    assert pickle.loads(pickle.dumps(type(method))) is type(method)
    assert pickle.loads(pickle.dumps(method)) == method
    state = method.init(torch.ones(3, 2))
    again = pickle.loads(pickle.dumps(state))
    assert type(again) is type(state)
    assert again._fields == ("y", "grad", "push_weight", "owed")
    assert all(map(torch.equal, again, state))


def test_one_number_per_node_is_kept_and_sent():
    sent = []

    def mix(z: Tensor) -> Tensor:
        sent.append(tuple(z.shape))
        return z

    method, x = gs.PushSum(gs.DSGD(lr=0.1)), torch.ones(4, 2, 3)
    state = method.init(x)
    assert state.push_weight.shape == (4, 2, 1)
    method.step(0, x, x, state, mix)
    assert sent == [(4, 2, 3), (4, 2, 1)]


def test_whoever_moves_x_moves_u_with_it():
    method, x = gs.PushSum(gs.DSGD(lr=0.5)), torch.zeros(2, 1).double()
    state = method.init(x)._replace(push_weight=torch.tensor([[0.5], [1.5]]).double())
    x, state = method.step(0, x + 7, torch.zeros_like(x), state, mix=lambda z: z.flip(0))
    assert x.tolist() == [[7.0], [7.0]]
    assert state.push_weight.tolist() == [[1.5], [0.5]]


class PullsTwice(gs.DSGD):
    def step(self, t, x, grad, state, mix):
        return mix.pull(mix.pull(x) - self.lr * grad), state


class NeverPulls(gs.DSGD):
    def step(self, t, x, grad, state, mix):
        return x - self.lr * grad, state


@pytest.mark.parametrize(("method", "times"), [(PullsTwice(lr=0.1), 2), (NeverPulls(lr=0.1), 0)])
def test_a_method_that_does_not_pull_once_is_refused(method: gs.Algorithm, times: int):
    pushed, x = gs.PushSum(method), torch.ones(2, 1)
    words = rf"{type(method).__name__}, whose step pulls {times} times, need a method that pulls"
    with pytest.raises(gs.InvalidInput, match=words):
        pushed.step(0, x, x, pushed.init(x), mix=lambda z: z)


@pytest.mark.parametrize("bad", ["DSGD", 0.1, None, gs.PushSum(gs.DSGD), gs.PushSum(gs.DSGD(0.1))])
def test_what_is_no_plain_method_is_refused(bad: object):
    with pytest.raises(gs.InvalidInput, match=r"method: got .* not push-sum yet.* gs\.PushSum\("):
        gs.PushSum(bad)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("PushSum", "algorithm: PushSum: missing .* 'method'; the arguments of PushSum are"),
        ("PushSum()", r"algorithm: PushSum\(\): missing .* 'method'; the arguments of PushSum are"),
        ("PushSum(DGSD)", r"method: got 'DGSD', need a method .*; e\.g\. gs\.PushSum\("),
        ("PushSum(DSGD())", r"algorithm: .*: missing .* 'lr'; the arguments of DSGD are \(lr\)"),
    ],
)
def test_what_cannot_be_found_is_refused(text: str, words: str):
    with pytest.raises(gs.InvalidInput, match=words):
        named(text)


def test_a_node_that_hears_nothing_for_long_stays_where_it_is():
    """Its weight is halved until nothing is left of it; then it hears the others again."""
    deaf = torch.tensor([[0.5, 0.0], [0.5, 1.0]]).double()
    method, x = gs.PushSum(gs.DSGD(lr=0.1)), torch.ones(2, 1).double()
    state = method.init(x)
    for t in range(1500):
        x, state = method.step(t, x, x, state, mix=lambda z: deaf @ z)
    assert state.push_weight[0] == 0
    assert x.isfinite().all()
    for t in range(200):
        x, state = method.step(t, x, x, state, mix=lambda z: z.mean(0, keepdim=True).expand(2, 1))
    assert x.abs().max() < 1e-3
