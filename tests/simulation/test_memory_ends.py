"""Where memory ends: fewer runs are taken together, and nothing is counted or told twice."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
import torch
from torch import Tensor

import gossamer as gs
from gossamer.simulation.block import SETTLED

NETWORK, NOISE = gs.ring(4), gs.Gaussian(0.1)


class Roomy(gs.Quadratic):
    """Has memory for so many runs at once."""

    room = 100

    def sample_grad(self, x: Tensor, t: int, seeds) -> Tensor:
        if x.shape[1] > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().sample_grad(x, t, seeds)


def swept(room: int, **options) -> gs.Sweep:
    problem = Roomy(4, 3)
    problem.room = room
    grid = {"lr": [0.01, 0.02, 0.05], "momentum": [0.5, 0.8]}
    given = {"noise": NOISE, "steps": 20, "seeds": range(3), **options}
    return gs.sweep(gs.GTNSGDm, grid, problem, NETWORK, **given)


def test_fewer_runs_are_taken_together():
    told: list[tuple[int, int]] = []
    with pytest.warns(UserWarning, match=r"cpu's memory does not hold \d+ runs at once") as seen:
        found = swept(4, on_record=lambda one: told.append((one.step, len(one.seeds))))
    assert [str(w.message).split("taking")[1] for w in seen] == [
        " at most 9 together",
        " at most 4 together",
    ]
    expected = swept(100)
    torch.testing.assert_close(found.x, expected.x, rtol=1e-12, atol=1e-12)
    assert torch.equal(found.steps, expected.steps)
    runs = {step: sum(n for at, n in told if at == step) for step, _ in told}
    assert runs == dict.fromkeys(expected.steps.tolist(), 18)


def test_one_run_that_does_not_fit_is_refused():
    problem = Roomy(4, 3)
    problem.room = 0
    with pytest.raises(gs.InvalidInput, match=r"device: got cpu, whose memory does not hold one"):
        gs.simulate(gs.GTNSGDm(0.1, 0.8), problem, NETWORK, steps=10)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu():
    """In a process of its own: what others hold of the memory is no matter."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        found, expected = pool.submit(with_less_memory).result()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def with_less_memory() -> tuple[Tensor, Tensor]:
    """Where eight runs end with three quarters of the memory that they need, and with all."""
    dim, batch = 2**16, 2**12  # gradients of a batch are what fills it
    data = [(torch.randn(batch, 16), torch.randn(batch, 16)) for _ in range(4)]
    module = torch.nn.Sequential(
        torch.nn.Linear(16, dim // 32), torch.nn.Tanh(), torch.nn.Linear(dim // 32, 16)
    )
    loss = torch.nn.functional.mse_loss
    how = {"vectorize": True, "compile": False}  # a capture that does not fit is done without
    problem = gs.ModuleProblem(module, loss, data, batch_size=batch, **how)
    given = {"steps": 3 * SETTLED, "seeds": range(8), "metrics": ["loss"], "device": "cuda"}
    given |= {"dtype": torch.float32, "record_every": 2 * SETTLED}
    method, total = gs.GTNSGDm(0.01, 0.8), torch.cuda.get_device_properties(0).total_memory
    expected = gs.simulate(method, problem, NETWORK, **given)
    peak = torch.cuda.max_memory_allocated()
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.75 * peak / total)
    with pytest.warns(UserWarning, match="taking at most 4 together"):
        found = gs.simulate(method, problem, NETWORK, **given)
    return found.x.cpu(), expected.x.cpu()
