"""Steps that ask for more, on processes: as in the simulator; closures in torch's convention."""

import pytest
import torch
from algorithms.asking import Dithered, Layerwise, Storm
from processes import on_ranks
from torch import Tensor, nn

import gossamer as gs
from gossamer.data import BatchOrder

NODES, DIM, STEPS, BATCH, SEED = 4, 3, 15, 4, 5
METHODS = {
    "storm": Storm(0.1, 0.2),
    "dithered": Dithered(0.01),
    "pushed": gs.PushSum(Storm(0.1, 0.3)),
}


def loss_of(x: Tensor, rows: Tensor) -> Tensor:
    return ((rows[:, 1:] @ x - rows[:, 0]).cosh().log()).mean()


def data() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(NODES, 20, 1 + DIM, generator=generator, dtype=torch.float64)


def real_steps(rank: int) -> dict[str, Tensor]:
    rows, order = data()[rank], BatchOrder(20, BATCH, SEED, rank)
    final = {}
    for name, method in METHODS.items():
        x = nn.Parameter(torch.zeros(DIM, dtype=torch.float64))
        optimizer = gs.DecentralizedOptimizer([x], method, gs.ring, seed=SEED)

        def closure(x=x, optimizer=optimizer) -> float:
            optimizer.zero_grad()
            loss = loss_of(x, rows[order.at(optimizer.steps)])
            loss.backward()
            return loss.item()

        for _ in range(STEPS):
            optimizer.step(closure)
        final[name] = x.detach()
    return final


def test_processes_equal_the_simulator():
    real = on_ranks(real_steps)
    problem = gs.FunctionProblem(loss_of, data(), dim=DIM, batch_size=BATCH)
    for name, method in METHODS.items():
        run = gs.simulate(method, problem, gs.ring(NODES), steps=STEPS, seeds=SEED)
        found = torch.stack([rank[name] for rank in real])
        torch.testing.assert_close(found, run.x[:, 0], rtol=1e-12, atol=1e-12)


def model_with_dropout() -> nn.Module:
    torch.manual_seed(1)
    layers = nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 1)
    return nn.Sequential(*layers).double()


class Asking(Dithered):
    """Notes the gradient at x, asked for again, and leaves x where it is."""

    def step(self, t, x, grad, state, mix, local):
        self.seen.append((grad.clone(), local.grad(x), local.grad(x + 1), local.shapes))
        return mix.pull(x), state


def test_the_second_gradient_has_the_same_dropout_and_leaves_no_trace():
    model, inputs = model_with_dropout(), torch.ones(16, 3).double()
    Asking.seen = []
    optimizer = gs.DecentralizedOptimizer(model.parameters(), Asking(0.1), gs.ring)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = model(inputs).square().mean()
        loss.backward()
        return loss

    before = optimizer.x.clone()
    optimizer.step(closure)
    after = torch.get_rng_state()
    ((grad, again, elsewhere, shapes),) = Asking.seen
    assert torch.equal(grad, again)
    assert not torch.isclose(grad, elsewhere).all()
    assert torch.equal(optimizer.x, before)
    assert torch.equal(torch.cat([p.grad.flatten() for p in model.parameters()]), grad)
    assert list(shapes) == [p.shape for p in model.parameters()]
    torch.manual_seed(1)
    model_with_dropout()
    model(inputs)
    assert torch.equal(torch.get_rng_state(), after), "the stream has gone on by one evaluation"


def test_a_second_gradient_needs_a_closure():
    model = model_with_dropout()
    optimizer = gs.DecentralizedOptimizer(model.parameters(), Storm(0.1, 0.2), gs.ring)
    optimizer.step()  # the first step of STORM asks for none
    words = r"closure: got none for Storm, which asks .*; call optimizer\.step\(closure\)"
    with pytest.raises(gs.InvalidInput, match=words):
        optimizer.step()


def test_layers_are_normalized_one_by_one():
    model = model_with_dropout()
    optimizer = gs.DecentralizedOptimizer(model.parameters(), Layerwise(0.1), gs.ring)
    before = [p.detach().clone() for p in model.parameters()]
    model(torch.ones(16, 3).double()).square().mean().backward()
    optimizer.step()
    for p, old in zip(model.parameters(), before, strict=True):
        moved = torch.linalg.vector_norm(p.detach() - old).item()
        assert moved == pytest.approx(0.1, rel=1e-12)
