"""torch.compile around what trains with a `DecentralizedOptimizer`."""

import shutil

import pytest
import torch
from torch import nn

import gossamer as gs

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler"),
    pytest.mark.filterwarnings("ignore"),  # torch.compile warns about torch's own code
]


class Training:
    """Five steps on one batch."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3))
        self.inputs, self.labels = torch.randn(8, 5), torch.randint(3, (8,))
        method = gs.GTNSGDm(lr=0.1, momentum=0.8)
        self.optimizer = gs.DecentralizedOptimizer(self.model.parameters(), method, gs.ring)

    def step(self) -> None:
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(self.inputs), self.labels).backward()
        self.optimizer.step()

    def result(self) -> torch.Tensor:
        assert self.optimizer.steps == 5
        return self.optimizer.x


def test_a_compiled_training_step_with_the_optimizer_left_out():
    """The model alone is compiled in tests/distributed/test_optimizer.py."""
    graphs = torch._dynamo.utils.counters["stats"]
    before, training, plain = graphs["unique_graphs"], Training(), Training()
    training.optimizer.step = torch.compiler.disable(training.optimizer.step)
    step = torch.compile(training.step)
    for _ in range(5):
        step()
        plain.step()
    torch.testing.assert_close(training.result(), plain.result())
    assert graphs["unique_graphs"] > before  # something was compiled
