"""`check_method`: what every method must keep, and what is told of one that does not."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from algorithms.asking import Dithered, Layerwise, Storm
from algorithms.table import TABLE, Row

import gossamer as gs
from gossamer.algorithms import Algorithm, Positive, Stateless


@dataclass(frozen=True)
class Mine(Algorithm[Stateless]):
    lr: Positive

    def init(self, x):
        return Stateless()

    def step(self, t, x, grad, state, mix):
        return mix.pull(x - self.lr * self.direction(t, x, grad)), state

    def direction(self, t, x, grad):
        return grad / grad.norm(dim=-1, keepdim=True)


def with_direction(direction) -> Mine:
    kind = type("Wrong", (Mine,), {"direction": direction})
    return kind(lr=0.1)


def with_step(step) -> Mine:
    return type("Wrong", (Mine,), {"step": step})(lr=0.1)


def counting(self, t, x, grad):
    object.__setattr__(self, "steps", getattr(self, "steps", 0) + 1)
    return grad / self.steps


def seeded(self, t, x, grad):
    drawn = torch.rand(x.shape, generator=torch.Generator().manual_seed(t), dtype=x.dtype)
    return grad * drawn.to(x.device)


def first_node_faster(self, t, x, grad):
    speed = torch.ones_like(x)
    speed[0] = 2.0
    return speed * grad


def in_place(self, t, x, grad, state, mix):
    x -= self.lr * grad
    return mix.pull(x), state


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_every_method_of_the_library_passes(row: Row):
    assert gs.check_method(row.algorithm) < 1e-12


@pytest.mark.parametrize(
    "method",
    [
        Mine(0.1),
        Storm(0.1, 0.2),
        Dithered(0.01),
        Layerwise(0.1),
        gs.PushSum(Mine(0.1)),
        gs.GTNSGDm(lr=gs.InversePower(0.1), momentum=0.8),
        gs.DSGD(lr=lambda t: 0.2 / (t + 1)),
    ],
    ids=str,
)
def test_methods_of_ones_own_and_schedules_pass(method: gs.Algorithm):
    assert gs.check_method(method, seed=1) < 1e-12


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda self, t, x, grad: grad / grad.norm(), "in a stack of runs, need .* last axis only"),
        (lambda self, t, x, grad: grad * torch.rand_like(x), "taken again, need .* local.uniform"),
        (lambda self, t, x, grad: grad * float(np.random.rand()), "when it is taken again"),
        (counting, "when it is taken again, need .* keep nothing but the state"),
        (seeded, "in a stack of runs"),
        (lambda self, t, x, grad: grad.mean(0, keepdim=True), "without them .* only by mix.pull"),
        (lambda self, t, x, grad: grad.mean(0), "beside nodes that it does not hear"),
        (first_node_faster, "beside nodes that it does not hear"),
        (lambda self, t, x, grad: grad / grad.norm(dim=2, keepdim=True), r"shape \(dim,\)"),
        (lambda self, t, x, grad: float(self.lr) * grad, "as in a sweep .* arithmetic only"),
        (lambda self, t, x, grad: grad.double(), r"need one .* float32 .*write y\.to\(x\)"),
        (lambda self, t, x, grad: torch.tensor(np.asarray(grad)), "on another device than the CPU"),
        (lambda self, t, x, grad: 1e300 * grad**3, "need hyper-parameters with which it does not"),
    ],
)
def test_what_a_direction_must_not_do_is_told_with_the_reason(wrong, words: str):
    with pytest.raises(gs.InvalidInput, match=f"(step of Wrong|method): got .*{words}"):
        gs.check_method(with_direction(wrong))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda self, t, x, grad, state, mix: mix.pull(x - self.lr * grad), "type Tensor, need"),
        (in_place, "arguments that it has changed"),
        (lambda self, t, x, grad, state, mix: (mix.pull(x), (x,)), "a state of type tuple, need"),
    ],
)
def test_what_a_step_must_not_do_is_told(wrong, words: str):
    with pytest.raises(gs.InvalidInput, match=f"step of Wrong: got .*{words}"):
        gs.check_method(with_step(wrong))


def test_nodes_in_another_order_must_do_the_same():
    """Alone, a node is the first one; in another order, another is."""

    def later_nodes_slower(self, t, x, grad, state, mix):
        heard = mix.pull(torch.ones_like(x).cumsum(0) if x.ndim > 1 else torch.ones_like(x))
        moved = x - self.lr * grad
        return mix.pull(moved) + 0.01 * (heard - torch.ones_like(x).cumsum(0)), state

    with pytest.raises(gs.InvalidInput, match="with the nodes in another order, need"):
        gs.check_method(with_step(later_nodes_slower))


def test_classes_are_refused():
    with pytest.raises(gs.InvalidInput, match=re.escape("e.g. gs.DSGD(lr=0.1), with its hyper")):
        gs.check_method(gs.DSGD)


def test_a_stack_of_settings_is_refused():
    with pytest.raises(gs.InvalidInput, match=r"shapes {'lr': \(2, 1\)}, need one number for each"):
        gs.check_method(gs.DSGD(lr=torch.tensor([[0.1], [0.2]])))


def test_the_random_numbers_of_the_caller_go_on_as_if_nothing_had_been():
    def noisy(self, t, x, grad):
        return grad * torch.rand_like(x)

    torch.manual_seed(0)
    first = torch.rand(3)
    torch.manual_seed(0)
    with pytest.raises(gs.InvalidInput, match="taken again"):
        gs.check_method(with_direction(noisy))
    assert torch.equal(torch.rand(3), first)
