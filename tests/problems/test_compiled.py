"""Gradients are compiled on GPUs alone, and for long trainings."""

from problems.modules import IMAGES, VECTORS, build, convolution, cuda, perceptron
from torch import nn

from gossamer.problems.vmap_evaluator import COMPILED_FROM


def test_a_cpu_prepares_nothing_for_long_trainings():
    problem = build(perceptron(), VECTORS)
    assert problem.expecting(COMPILED_FROM) is problem


@cuda
def test_a_gpu_compiles_for_long_trainings_unless_told_not_to():
    problem = build(perceptron(), VECTORS).to("cuda")
    assert problem.expecting(COMPILED_FROM - 1) is problem
    assert problem.expecting(COMPILED_FROM).evaluator.at_once.way == "vmap, compiled"
    convolves, draws = build(convolution(), IMAGES), build(perceptron(nn.Dropout(0.5)), VECTORS)
    for other in (convolves, draws, build(perceptron(), VECTORS, compile=False)):
        moved = other.to("cuda")
        assert moved.expecting(COMPILED_FROM) is moved
