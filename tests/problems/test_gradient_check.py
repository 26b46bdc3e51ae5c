import re

import pytest
import torch
from torch import Tensor, nn

import gossamer as gs


class Wrong(gs.Quadratic):
    """Off by a little at one node and coordinate."""

    by: float = 1e-6

    def local_grad(self, x: Tensor) -> Tensor:
        grads = super().local_grad(x).clone()
        grads[2, :, 1] += self.by
        return grads


def test_names_the_node_and_the_coordinate():
    with pytest.raises(gs.InvalidInput, match=re.escape("at node 2, coordinate 1, need")):
        gs.check_gradient(Wrong(5, 3))


def test_nan_and_wrong_shapes_are_wrong():
    problem = Wrong(5, 3)
    problem.by = float("nan")
    with pytest.raises(gs.InvalidInput, match=r"got nan at node 2, coordinate 1"):
        gs.check_gradient(problem)

    class Flat(gs.Quadratic):
        def local_grad(self, x: Tensor) -> Tensor:
            return super().local_grad(x).sum(1)

    with pytest.raises(
        gs.InvalidInput, match=r"local_grad: got shape \(5, 3\), need shape \(5, 3, 3\)"
    ):
        gs.check_gradient(Flat(5, 3))


@pytest.mark.parametrize(
    "problem",
    [
        gs.RobustRegression(7),
        gs.Quadratic(3, 4, spread=1e4),
        gs.FunctionProblem(lambda x, c: (1e3 * (x - c).cosh()).sum(), torch.zeros(3, 2), dim=2),
        gs.FunctionProblem(lambda x: x.abs().sum(), [()], dim=3),
    ],
    ids=["robust", "far from its centres", "steep", "a kink elsewhere"],
)
def test_right_gradients_pass(problem: gs.Problem):
    assert gs.check_gradient(problem) < 1e-6 * float(
        problem.local_grad(problem.start.expand(problem.num_nodes, 1, -1) + 1).abs().max() + 1
    )


def test_modules_in_single_precision_are_checked_in_double():
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    held = [(torch.randn(5, 4), torch.tensor([0, 1, 0, 1, 1])) for _ in range(3)]
    loss = nn.functional.cross_entropy
    problem = gs.ModuleProblem(module, loss, held, batch_size=2, penalty=gs.L2Penalty(0.1))
    assert gs.check_gradient(problem, coordinates=8) < 1e-8
    assert problem.start.dtype == torch.float32


def test_a_few_coordinates_of_many_are_chosen_by_the_seed():
    problem = gs.Quadratic(2, 5000)
    asked: list[Tensor] = []
    problem.local_loss = lambda x: asked.append(x) or gs.Quadratic.local_loss(problem, x)
    for seed in (0, 0, 1):
        gs.check_gradient(problem, coordinates=7, seed=seed)
    once = len(asked) // 3
    first, again, other = (torch.cat(asked[k : k + once], 1) for k in range(0, 3 * once, once))
    assert max(x.shape[1] for x in asked) == 3 * 7
    assert torch.equal(first, again)
    assert not torch.isin(other, first).any(), "all points are others"
    chosen = [(x[:, :21] != x[:, 21:42]).any(1).any(0).nonzero() for x in (first, other)]
    assert len(chosen[0]) == len(chosen[1]) == 7, "those that are above at first, and then below"
    assert not torch.equal(*chosen)
