"""The step of a node in few passes is the step as it is written."""

import pytest
import torch
from torch import Tensor, nn

import gossamer as gs
from gossamer.algorithms import ALGORITHMS, Algorithm, Both
from gossamer.distributed import DecentralizedOptimizer
from gossamer.native import build, node_step, threads
from gossamer.networks.channel import Room

DIM = node_step.LONG + 5
HALF = Both(lambda z: 0.5 * z)
NUMBERS = {"lr": 0.1, "clip": 0.5, "momentum": 0.8, "scale": 1.0, "floor": 0.01}
AS_WRITTEN = {"GTLayerNSGDm", "GTSignSGDm", "DeMuon", "GTNSTORM"}
"""Methods that ask for shapes or for a second gradient."""

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="this machine has no C compiler")


class Halving:
    """A mix in the memory of what it is given, which knows the norm of its result."""

    def __init__(self) -> None:
        self.last: Tensor | None = None

    def room(self, length: int, dtype: torch.dtype) -> Room:
        narrow = torch.float32 if dtype == torch.float64 else torch.bfloat16
        return Room(torch.empty(length, dtype=dtype), torch.empty(length, dtype=narrow))

    def pull(self, z: Tensor, room: Room | None = None) -> Tensor:
        if room is not None:
            torch.testing.assert_close(room.said, z.to(room.said.dtype), rtol=0, atol=0)
        self.last = z.mul_(0.5) if room else 0.5 * z
        return self.last

    push = pull

    def norm(self, z: Tensor) -> float | None:
        return float(z.double().norm()) if z is self.last else None


def method(name: str, **changes) -> Algorithm:
    kind = ALGORITHMS[name]
    known = {field: NUMBERS[field] for field in kind.__dataclass_fields__ if field in NUMBERS}
    return kind(**{**known, **changes})


def after_steps(algorithm: Algorithm, passes: bool, steps: int = 3) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(DIM, generator=generator)
    state = algorithm.init(x)
    for t in range(steps):
        grad = torch.randn(DIM, generator=generator)
        if passes:
            step = node_step.node_step(algorithm, x, state)
            x, finish = step(algorithm, t, x, [grad[:7], grad[7:]], state, Halving())
            state = finish()
        else:
            x, state = algorithm.step(t, x, grad, state, HALF)
    return (x, *state)


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - AS_WRITTEN))
def test_as_it_is_written(name: str):
    given = after_steps(method(name), passes=True), after_steps(method(name), passes=False)
    for found, expected in zip(*given, strict=True):
        assert found.dtype == expected.dtype
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5 * expected.abs().max())


def test_in_several_threads(monkeypatch):
    """Which begin and end anywhere in the pieces of a gradient."""
    monkeypatch.setattr(threads, "SMALLEST", 1)
    ends = []
    for spare in (3, 1):
        monkeypatch.setattr(threads, "_spare", spare)
        ends.append(after_steps(method("GTNSGDm"), passes=True))
    for mine, theirs in zip(*ends, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", sorted(AS_WRITTEN))
def test_what_asks_for_more_is_taken_as_it_is_written(name: str):
    x = torch.zeros(DIM)
    assert node_step.node_step(method(name), x, method(name).init(x)) is None


def test_one_step_size_per_parameter():
    algorithm = gs.GTNSGDm(lr=0.1, momentum=0.8).holding({"lr": torch.linspace(0, 1, DIM)})
    given = after_steps(algorithm, passes=True), after_steps(algorithm, passes=False)
    for found, expected in zip(*given, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("order", ["adapt-then-combine", "combine-then-adapt"])
def test_what_is_computed_again_has_the_same_bits(order: str):
    """v is not kept while messages travel; alone, y is the sum of all its changes, to the bit."""
    algorithm = gs.GTNSGDm(lr=0.1, momentum=0.7, order=order)
    x, drawn = torch.zeros(DIM), torch.Generator().manual_seed(0)
    state = algorithm.init(x)
    for t in range(20):
        grad = torch.randn(DIM, generator=drawn) * 10.0 ** (t % 5)
        step = node_step.node_step(algorithm, x, state)
        x, finish = step(algorithm, t, x, grad, state, Alone())
        state = finish()
    assert torch.equal(state.y, state.v.double())


class Alone(Halving):
    """A network of one node."""

    def pull(self, z: Tensor, room: Room | None = None) -> Tensor:
        return z

    push = pull


def test_nothing_is_changed_before_the_end():
    """Until then a neighbour may fail, or x be found not to be finite."""
    algorithm, x = gs.GTNSGDm(lr=0.1, momentum=0.8), torch.ones(DIM)
    state = algorithm.init(x)
    _, finish = node_step.node_step(algorithm, x, state)(
        algorithm, 0, x, torch.ones(DIM), state, Halving()
    )
    assert not torch.cat([*state]).any()
    assert bool((x == 1).all())
    assert finish().v is state.v
    assert state.v.any()


def peak_models(algorithm: Algorithm) -> float:
    """Bytes that a step takes and gives back, at most at the same time, in units of the model's."""
    parameter = nn.Parameter(torch.zeros(DIM))
    optimizer = DecentralizedOptimizer([parameter], algorithm, gs.ring)
    parameter.grad = torch.ones(DIM)
    optimizer.step()
    with torch.profiler.profile(profile_memory=True) as profile:
        optimizer.step()
    taken = most = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            taken += event.nbytes()
            most = max(most, taken)
    return most / parameter.nbytes


@pytest.mark.parametrize(
    ("algorithm", "models"), [(gs.GTNSGDm(lr=0.1, momentum=0.8), 3), (gs.DSGD(lr=0.1), 1)]
)
def test_what_a_step_takes_besides(algorithm: Algorithm, models: int):
    """The next y, in float64, and a message or the next x; and next to nothing."""
    assert models <= peak_models(algorithm) < models + 0.05
