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

    def loss(self, model: nn.Module) -> torch.Tensor:
        return nn.functional.cross_entropy(model(self.inputs), self.labels)

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.loss(self.model).backward()
        self.optimizer.step()

    def result(self) -> torch.Tensor:
        assert self.optimizer.steps == 5
        return self.optimizer.x


@pytest.fixture
def expected() -> torch.Tensor:
    training = Training()
    for _ in range(5):
        training.step()
    return training.result()


def test_a_compiled_model(expected):
    training = Training()
    compiled = torch.compile(training.model)
    for _ in range(5):
        training.optimizer.zero_grad()
        training.loss(compiled).backward()
        training.optimizer.step()
    torch.testing.assert_close(training.result(), expected)


def test_a_compiled_training_step_with_the_optimizer_left_out(expected):
    graphs = torch._dynamo.utils.counters["stats"]
    before, training = graphs["unique_graphs"], Training()
    training.optimizer.step = torch.compiler.disable(training.optimizer.step)
    step = torch.compile(training.step)
    for _ in range(5):
        step()
    torch.testing.assert_close(training.result(), expected)
    assert graphs["unique_graphs"] > before  # something was compiled
