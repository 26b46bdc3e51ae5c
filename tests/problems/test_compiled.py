"""Gradients are compiled on GPUs alone, and for long trainings."""

import warnings

import torch
from problems.modules import IMAGES, VECTORS, build, convolution, cuda, perceptron
from torch import nn

from gossamer.problems.compiled import Compiled
from gossamer.problems.vmap_evaluator import COMPILED_FROM


def test_a_cpu_prepares_nothing_for_long_trainings():
    problem = build(perceptron(), VECTORS)
    assert problem.expecting(COMPILED_FROM) is problem


def test_advice_on_the_way_is_no_failure():
    def advised(z: torch.Tensor) -> torch.Tensor:
        warnings.warn("TensorFloat32 is available but not enabled", stacklevel=1)
        return 2 * z

    double = Compiled(advised)
    assert torch.equal(double(torch.ones(3)), torch.full((3,), 2.0))
    assert [program is not advised for program in double._programs.values()] == [True]


@cuda
def test_a_gpu_compiles_for_long_trainings_unless_told_not_to():
    problem = build(perceptron(), VECTORS).to("cuda")
    assert problem.expecting(COMPILED_FROM - 1) is problem
    assert problem.expecting(COMPILED_FROM).evaluator.at_once.way == "vmap, compiled"
    convolves, draws = build(convolution(), IMAGES), build(perceptron(nn.Dropout(0.5)), VECTORS)
    for other in (convolves, draws, build(perceptron(), VECTORS, compile=False)):
        moved = other.to("cuda")
        assert moved.expecting(COMPILED_FROM) is moved
