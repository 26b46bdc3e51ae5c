"""Modules and losses that make no function of a vector."""

import pytest
import torch
from problems.modules import CLASSES, NODES, VECTORS, Padded, build, perceptron
from torch import nn

import gossamer as gs
from gossamer.problems.module_problem import ModuleProblem


def test_running_statistics_are_refused_with_the_way_out():
    with pytest.raises(gs.InvalidInput, match=r"module\.1: got BatchNorm1d with running .*replace"):
        build(perceptron(nn.BatchNorm1d(8)), VECTORS)


@pytest.mark.parametrize("vectorize", [True, False])
def test_sparse_gradients_are_refused_at_once(vectorize: bool):
    module = nn.Sequential(nn.Embedding(CLASSES, 6, sparse=True), nn.Linear(6, CLASSES))
    found = r"module\.0: got Embedding with sparse gradients, .*; build it with sparse=False"
    with pytest.raises(gs.InvalidInput, match=found):
        build(module, None, vectorize=vectorize)
    with pytest.raises(gs.InvalidInput, match=r"fails on the first samples of node 0 .*sparse"):
        build(Padded(0, sparse=True), None, vectorize=vectorize)


@pytest.mark.parametrize(
    ("loss", "found"),
    [
        (None, "loss: got None, need a function"),
        ("cross_entropy", "loss: got 'cross_entropy', need a function"),
        (nn.CrossEntropyLoss, r"loss: got <class .*; write CrossEntropyLoss\(\)"),
    ],
)
def test_what_is_no_loss_is_refused_as_the_loss(loss: object, found: str):
    data = [(torch.randn(9, 5), torch.randint(CLASSES, (9,)))] * NODES
    with pytest.raises(gs.InvalidInput, match=found):
        ModuleProblem(perceptron(), loss, data, batch_size=2)


@pytest.mark.parametrize(
    ("module", "found"),
    [
        (nn.LazyLinear(CLASSES), r"module\.weight: got .* without a shape .* run the module once"),
        (nn.Linear(5, CLASSES, device="meta"), r"module\.weight: got .* meta .*to_empty"),
    ],
)
def test_parameters_without_values_are_refused(module: nn.Module, found: str):
    with pytest.raises(gs.InvalidInput, match=found):
        build(module, VECTORS)


def test_running_statistics_are_refused_of_what_will_be_in_training_mode():
    with pytest.raises(gs.InvalidInput, match=r"module\.1: .*module\.1\.eval\(\) after module"):
        build(perceptron(nn.BatchNorm1d(8)).eval(), VECTORS)


class Spectral(nn.Module):
    """Multiplies Fourier coefficients."""

    def __init__(self) -> None:
        super().__init__()
        self.filter, self.out = nn.Parameter(torch.ones(3, dtype=torch.cfloat)), nn.Linear(5, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.fft.irfft(torch.fft.rfft(x) * self.filter, n=5))


def hooked() -> nn.Module:
    module = perceptron()
    module[0].weight.register_hook(lambda grad: grad * 0)
    return module


@pytest.mark.parametrize(
    ("module", "found"),
    [
        (Spectral(), r"module\.filter: got a complex parameter, need real ones; .*view_as_complex"),
        (hooked(), r"module\.0\.weight: got a parameter with a hook .*; let the module do what"),
    ],
)
def test_parameters_that_are_no_part_of_a_vector_are_refused(module: nn.Module, found: str):
    with pytest.raises(gs.InvalidInput, match=found):
        build(module, VECTORS)
