"""What a recording keeps, and what it refuses to keep."""

import random

import pytest
import torch
from torch import Tensor

from gossamer.native.expressions import Unsupported
from gossamer.native.recorder import record_operations


def test_operations_in_place_are_recorded_as_new_tensors():
    recording = record_operations(lambda x: (x.clone().mul_(2).add_(1),), [torch.ones(3)])
    names = [str(node.target) for node in recording.operations]
    assert names == ["aten.clone.default", "aten.mul.Tensor", "aten.add.Tensor"]
    assert recording.outputs[0] is recording.operations[-1]


def test_a_view_of_what_was_changed_is_not_read():
    def through_a_view(x: Tensor) -> tuple[Tensor]:
        own = x.clone()
        part = own[1:]
        own.mul_(2)
        return (part + 1,)

    with pytest.raises(Unsupported, match="changed in place"):
        record_operations(through_a_view, [torch.ones(3)])


def test_what_does_not_depend_on_the_inputs_is_a_constant():
    fixed = torch.arange(3.0)
    recording = record_operations(lambda x: (x * (fixed + 1),), [torch.ones(3)])
    (product,) = recording.operations
    assert product.constant is None
    assert product.args[1].constant.tolist() == [1.0, 2.0, 3.0]


def test_what_no_output_depends_on_is_not_recorded():
    def gradient(x: Tensor) -> tuple[Tensor]:
        with torch.enable_grad():
            point = x.detach().requires_grad_()
            return torch.autograd.grad((point * point).sum(), point)

    recording = record_operations(gradient, [torch.ones(3)])
    assert torch.ops.aten.sum.default not in [node.target for node in recording.operations]


def test_what_automatic_differentiation_has_kept_is_no_constant():
    def gradient(x: Tensor) -> tuple[Tensor]:
        with torch.enable_grad():
            point = x.detach().requires_grad_()
            return torch.autograd.grad(point.exp().sum(), point)

    recording = record_operations(gradient, [torch.ones(3)])
    assert torch.ops.aten.exp.default in [node.target for node in recording.operations]
    assert recording.outputs[0].constant is None


def test_numbers_that_never_change_may_be_read():
    limit = torch.tensor(2.0)

    def step(x: Tensor) -> tuple[Tensor]:
        return (x * float(limit) if limit.tolist() > 1 else x,)

    recording = record_operations(step, [torch.ones(3)])
    assert recording.operations[-1].args[1] == 2.0


OUTSIDE = torch.zeros(3)

REFUSED = {
    "a branch": (lambda x: x if x.sum() > 0 else -x, "gives Python a number"),
    "a number": (lambda x: x * float(x[0]), "gives Python a number"),
    "a comparison": (lambda x: x if torch.equal(x, OUTSIDE) else -x, "gives Python a number"),
    "a list": (lambda x: torch.tensor(x.tolist()), "gives Python the numbers"),
    "an array": (lambda x: torch.as_tensor(x.numpy() * 2), "gives Python the numbers"),
    "torch.rand": (lambda x: x + torch.rand(3), "at random"),
    "torch.rand_like": (lambda x: x + torch.rand_like(x), "at random"),
    "own generator": (lambda x: x + torch.randn(3, generator=torch.Generator()), "at random"),
    "uniform_": (lambda x: x + torch.zeros(3).uniform_(), "at random"),
    "dropout": (lambda x: torch.dropout(x, 0.5, True), "at random"),
    "memory": (lambda x: OUTSIDE.add_(x) + 1, "has not made"),
    "memory, through a view": (lambda x: OUTSIDE[:].add_(x) + 1, "has not made"),
    "an input, changed": (lambda x: x.mul_(2), "has not made"),
    "out=": (lambda x: torch.add(x, 1, out=torch.zeros(3)), "add.out"),
    "sparse": (lambda x: torch.eye(3).to_sparse_csr() @ x, "layout"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_what_would_be_frozen_is_refused(what: str):
    function, reason = REFUSED[what]
    with torch.no_grad(), pytest.raises(Unsupported, match=reason):
        record_operations(lambda x: (function(x),), [torch.ones(3)])
    assert OUTSIDE.tolist() == [0.0, 0.0, 0.0]


def test_python_numbers_are_part_of_the_recording():
    """So that a second recording tells those that are drawn, or counted."""
    drawn = random.Random(0)
    factors = [
        record_operations(lambda x: (x * drawn.random(),), [torch.ones(3)]).operations[0].args[1]
        for _ in range(2)
    ]
    assert factors[0] != factors[1]
