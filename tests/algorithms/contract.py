"""What every method keeps, on every network: clauses `(row, network) → None` that assert it."""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from algorithms.reference import SHAPES, Matrix
from algorithms.table import Row
from torch import Tensor

import gossamer as gs
from gossamer.algorithms import Local
from gossamer.algorithms.local import STREAM
from gossamer.networks.chance import Coins

Clause = Callable[[Row, gs.Network], None]
STEPS, DIM = 12, sum(map(math.prod, SHAPES))


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def heavy(*shape: int, seed: int = 0) -> Tensor:
    law = gs.StudentT(df=1.5)
    return law.sample(shape, generator=torch.Generator().manual_seed(seed))


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def asked(method: gs.Algorithm[Any], t: int, grad: Callable[[Tensor], Tensor]) -> tuple[Local, ...]:
    """What a step that asks is given: `grad` elsewhere, and the shapes of the references."""
    shapes, coins = [torch.Size(shape) for shape in SHAPES], Coins.of(0, 0, STREAM)
    return (Local(t, grad, coins, shapes),) if method.asks_local else ()


@dataclasses.dataclass(frozen=True)
class Transition:
    t: int
    x: Tensor
    grad: Tensor
    old: Any
    x_next: Tensor
    new: Any


def transitions(
    algorithm: gs.Algorithm[Any], network: gs.Network, x: Tensor, grads: Tensor
) -> Iterator[Transition]:
    """Steps 0, 1, … along the given gradients, `(steps, nodes, …, dim)`, the same everywhere."""
    state = algorithm.init(x)
    for t, grad in enumerate(grads):
        mix = network.at(t).mixer(x.dtype, x.device)
        x_next, new = algorithm.step(t, x, grad, state, mix, *asked(algorithm, t, always(grad)))
        yield Transition(t, x, grad, state, x_next, new)
        x, state = x_next, new


def always(grad: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda point: grad


def trajectory(
    algorithm: gs.Algorithm[Any], network: gs.Network, x: Tensor, grads: Tensor
) -> Tensor:
    """x¹, …, xᵀ, `(steps, nodes, …, dim)`."""
    return torch.stack([step.x_next for step in transitions(algorithm, network, x, grads)])


def setup(network: gs.Network, *runs: int) -> tuple[Tensor, Tensor]:
    """A common start and heavy-tailed gradients."""
    shape = (network.num_nodes, *runs, DIM)
    return normal(DIM).expand(shape).contiguous(), heavy(STEPS, *shape)


def with_tensors(algorithm: gs.Algorithm[Any], *shape: int) -> gs.Algorithm[Any]:
    """The same method with every number as a tensor of `shape`."""
    numbers = {k: v for k, v in algorithm.hyperparameters.items() if not isinstance(v, str)}
    tensors = {k: torch.full(shape, v, dtype=torch.float64) for k, v in numbers.items()}
    return dataclasses.replace(algorithm, **tensors)


def equals_the_loop_over_nodes(row: Row, network: gs.Network) -> None:
    """The method is its numpy reference, with gradients that depend on the point."""

    def weights(t: int) -> np.ndarray:
        return network.at(t).weights.numpy()

    agrees_with_its_loop(row, network.num_nodes, weights, lambda t: network.at(t).mixer())


def agrees_with_its_loop(
    row: Row, nodes: int, weights: Matrix, mixer: Callable[[int], gs.algorithms.Mix]
) -> None:
    """The method with `mixer(t)` is its reference with `weights(t)`."""
    curvatures, centers = normal(nodes, DIM, seed=1).abs() + 0.1, normal(nodes, DIM, seed=2)
    x, noise = normal(DIM).expand(nodes, DIM).contiguous(), 0.3 * heavy(STEPS + 1, nodes, DIM)

    def numpy_grad(t: int, x: np.ndarray) -> np.ndarray:
        return curvatures.numpy() * (x - centers.numpy()) + noise[t].numpy()

    h = row.algorithm.arguments
    expected = row.reference(numpy_grad, weights, x.numpy(), STEPS, **h)
    state = row.algorithm.init(x)
    for t, x_expected in enumerate(expected):

        def grad(point: Tensor, t: int = t) -> Tensor:
            return curvatures * (point - centers) + noise[t]

        more = asked(row.algorithm, t, grad)
        x, state = row.algorithm.step(t, x, grad(x), state, mixer(t), *more)
        close(x, torch.from_numpy(x_expected))


def mean_moves_by_the_mean_update(row: Row, network: gs.Network) -> None:
    """x̄ᵗ⁺¹ = x̄ᵗ − mean update, for W(x − u) and for W x − u alike, since 1ᵀW = 1ᵀ."""
    for s in transitions(row.algorithm, network, *setup(network)):
        update = row.update(row.algorithm, s.t, s.grad, s.old, s.new)
        close(s.x_next.mean(0), s.x.mean(0) - update.mean(0))


def tracker_mean_is_the_tracked_mean(row: Row, network: gs.Network) -> None:
    """ȳ = v̄, the mean over the nodes of what the tracker follows."""
    assert (row.tracks is None) == (row.algorithm.tracker is None)
    if row.tracks is None:
        return
    for s in transitions(row.algorithm, network, *setup(network)):
        tracked = s.grad if row.tracks == "grad" else getattr(s.new, row.tracks)
        close(getattr(s.new, row.algorithm.tracker).mean(0), tracked.mean(0))


def stacked_runs_are_separate_runs(row: Row, network: gs.Network) -> None:
    """`(nodes, runs, dim)` with hyper-parameters `(runs, 1)` = each run alone with numbers."""
    x, grads = setup(network, 3)
    factors = (1.0, 0.5, 0.25)
    numbers = {k: v for k, v in row.algorithm.hyperparameters.items() if not isinstance(v, str)}
    columns = {k: v * normal(0).new_tensor(factors)[:, None] for k, v in numbers.items()}
    stacked = trajectory(dataclasses.replace(row.algorithm, **columns), network, x, grads)
    for run, factor in enumerate(factors):
        scaled = {k: v * factor for k, v in numbers.items()}
        alone = dataclasses.replace(row.algorithm, **scaled)
        close(stacked[:, :, run], trajectory(alone, network, x[:, run], grads[:, :, run]))


def leading_axes_are_free(row: Row, network: gs.Network) -> None:
    """Two axes of runs are one axis of runs."""
    x, grads = setup(network, 2, 3)
    nested = trajectory(row.algorithm, network, x, grads)
    flat = trajectory(row.algorithm, network, x.flatten(1, 2), grads.flatten(2, 3))
    close(nested.flatten(2, 3), flat)


def tensors_are_numbers(row: Row, network: gs.Network) -> None:
    """A hyper-parameter given as a tensor, 0-dimensional or `(runs, 1)`, acts as its number."""
    x, grads = setup(network, 2)
    expected = trajectory(row.algorithm, network, x, grads)
    for shape in ((), (2, 1)):
        close(trajectory(with_tensors(row.algorithm, *shape), network, x, grads), expected)


def dtype_and_device_are_kept(row: Row, network: gs.Network) -> None:
    """x and the state stay in the precision and on the device of x, a total in float64."""
    x, grads = setup(network, 2)
    expected = trajectory(row.algorithm, network, x, grads)[:3]
    kinds = [("cpu", torch.float64), ("cpu", torch.float32), ("cpu", torch.bfloat16)]
    cuda = [("cuda", torch.float32)] if torch.cuda.is_available() else []
    for device, dtype in [*kinds, *cuda, ("meta", torch.float32)]:
        kind = {"device": device, "dtype": dtype}
        for s in transitions(row.algorithm, network, x.to(**kind), grads[:3].to(**kind)):
            for name, tensor in {"x": s.x_next, **s.new._asdict()}.items():
                kept = torch.float64 if name in row.algorithm.pushes else dtype
                assert (tensor.device.type, tensor.dtype) == (device, kept)
            if device != "meta":
                tolerance = 20 * torch.finfo(dtype).eps * float(grads[:3].abs().max())
                torch.testing.assert_close(
                    s.x_next.double().cpu(), expected[s.t], rtol=0, atol=tolerance
                )


def step_is_pure(row: Row, network: gs.Network) -> None:
    """A step changes none of its inputs, and taken again it gives the same bits."""
    x, grads = setup(network, 2)
    for s in transitions(row.algorithm, network, x, grads[:3]):
        inputs = (s.x, s.grad, *s.old)
        copies = [tensor.clone() for tensor in inputs]
        mix = network.at(s.t).mixer()
        more = asked(row.algorithm, s.t, always(s.grad))
        again, state = row.algorithm.step(s.t, s.x, s.grad, s.old, mix, *more)
        assert all(map(torch.equal, inputs, copies))
        assert all(map(torch.equal, (again, *state), (s.x_next, *s.new)))


def info_is_a_number_per_point(row: Row, network: gs.Network) -> None:
    """The same names at every step, none of them a metric's; nothing is changed."""
    x, grads = setup(network, 2)
    names = set(row.algorithm.info(0, x, grads[0], row.algorithm.init(x)))
    assert not names & set(gs.METRICS)
    for s in transitions(row.algorithm, network, x, grads):
        inputs = (s.x, s.grad, *s.old)
        copies = [tensor.clone() for tensor in inputs]
        told = row.algorithm.info(s.t, s.x, s.grad, s.old)
        assert set(told) == names
        assert all(map(torch.equal, inputs, copies))
        for value in told.values():
            assert value.shape == x.shape[:-1]
            assert value.dtype == x.dtype
            assert value.isfinite().all()


def zero_gradients_move_nothing(row: Row, network: gs.Network) -> None:
    """Nodes that agree at a stationary point of every f_i stay there."""
    x, grads = setup(network)
    moved = trajectory(row.algorithm, network, x, torch.zeros_like(grads))
    close(moved, x.expand_as(moved))


def complete_graph_is_the_server(row: Row, network: gs.Network) -> None:
    """On the complete graph the nodes' average is a server that averages its workers' steps.

    Each worker is the method on one node, fed what `row.feed` says. A method that adapts then
    combines leaves every node at the server's point.
    """
    x, grads = setup(network)
    fed = row.feed(grads)
    server, states = x[0], [row.algorithm.init(x[0]) for _ in range(network.num_nodes)]
    for s in transitions(row.algorithm, network, x, grads):
        steps = [
            row.algorithm.step(
                s.t, server, g, state, lambda z: z, *asked(row.algorithm, s.t, always(g))
            )
            for g, state in zip(fed[s.t], states, strict=True)
        ]
        server = torch.stack([worker for worker, _ in steps]).mean(0)
        states = [state for _, state in steps]
        close(s.x_next.mean(0), server)
        if row.adapts_then_combines:
            close(s.x_next, server.expand_as(s.x_next))


def one_node_is_the_central_method(row: Row, network: gs.Network) -> None:
    """With n = 1 mixing does nothing."""
    x, grads = setup(network, 2)
    state = row.algorithm.init(x)
    for s in transitions(row.algorithm, network, x, grads):
        more = asked(row.algorithm, s.t, always(s.grad))
        x, state = row.algorithm.step(s.t, x, s.grad, state, lambda z: z, *more)
        assert torch.equal(x, s.x_next)


NETWORKS = [gs.ring(6), gs.exponential(6), gs.complete(6), gs.one_peer_exponential(6)]
CHANGING = gs.time_varying([gs.star(6), gs.exponential(6), gs.ring(6)], name="star_exp_ring")

# What speaks of W is checked on every kind of W. A step is given W as one function and cannot tell
# networks apart, so what speaks of the step alone is checked where W is another in every step.
CONTRACT: dict[Clause, list[gs.Network]] = {
    equals_the_loop_over_nodes: [*NETWORKS, CHANGING, gs.ring(1)],
    mean_moves_by_the_mean_update: NETWORKS,
    tracker_mean_is_the_tracked_mean: NETWORKS,
    stacked_runs_are_separate_runs: [CHANGING],
    leading_axes_are_free: [CHANGING],
    tensors_are_numbers: [CHANGING],
    dtype_and_device_are_kept: [CHANGING],
    step_is_pure: [CHANGING],
    info_is_a_number_per_point: [CHANGING],
    zero_gradients_move_nothing: [CHANGING],
    complete_graph_is_the_server: [gs.complete(6)],
    one_node_is_the_central_method: [gs.ring(1)],
}


def check(row: Row) -> None:
    """The whole contract for one method."""
    for clause, networks in CONTRACT.items():
        for network in networks:
            clause(row, network)
