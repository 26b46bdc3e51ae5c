"""The heart of the runtime: four processes take the very steps of the simulator."""

from functools import partial

import pytest
import torch
from processes import on_ranks
from torch import Tensor, nn

from gossamer.algorithms import ALGORITHMS, Local
from gossamer.algorithms.local import STREAM
from gossamer.distributed import DecentralizedOptimizer
from gossamer.distributed.links.sums import weighted_sum
from gossamer.networks import one_peer_exponential, ring
from gossamer.networks.chance import Coins

STEPS, NODES, BATCH = 3, 4, 8
HYPERPARAMETERS = {
    "DSGD": {"lr": 0.1},
    "DSGDGClip": {"lr": 0.1, "clip": 0.5},
    "DSGDCClip": {"lr": 0.1, "clip": 0.05, "order": "combine-then-adapt"},
    "DSGDClip": {"lr": 1.0, "clip": 0.5},
    "GTDSGD": {"lr": 0.1},
    "GTAdam": {"lr": 0.01},
    "QGDSGDm": {"lr": 0.05},
    "SClipEF": {"lr": 0.5, "momentum": 0.9, "scale": 1.0, "clip": 0.5},
    "GTNSGDm": {"lr": 0.1, "momentum": 0.8},
    "DSGDm": {"lr": 0.05},
    "DSGDBiClip": {"lr": 0.1, "clip": 0.05, "floor": 0.01},
    "GTClip": {"lr": 0.1, "clip": 0.5, "clipped": "tracker"},
    "MomentumTracking": {"lr": 0.05},
    "GTNSTORM": {"lr": 0.1, "momentum": 0.8},
    "GTLayerNSGDm": {"lr": 0.01, "momentum": 0.8, "order": "combine-then-adapt"},
    "GTSignSGDm": {"lr": 0.01, "momentum": 0.8},
    "DeMuon": {"lr": 0.1, "momentum": 0.8},
    "NormalizedDSGD": {"lr": 0.1},
    "EXTRA": {"lr": 0.1},
    "ExactDiffusion": {"lr": 0.1},
    "DIGing": {"lr": 0.1},
    "ATCTracking": {"lr": 0.1},
    "MoTEF": {"lr": 0.1, "momentum": 0.8},
}
BATCHED = {"DeMuon"}
"""Products of stacked matrices round differently from those of one."""

NETWORKS = {
    "ring": partial(ring, NODES),
    "one_peer_exponential": partial(one_peer_exponential, NODES),
}
"""One W = Wᵀ, and one-way links that change; all kinds of network are in test_any_network."""


def make_model() -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Linear(5, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 3)
    return nn.Sequential(*layers).double()


def minibatch(node: int, t: int) -> tuple[Tensor, Tensor]:
    """Batch t of node `node`, whose shard has its own mean: the nodes' objectives differ."""
    generator = torch.Generator().manual_seed(node)
    inputs = torch.randn(64, 5, generator=generator, dtype=torch.float64) + node
    labels = torch.randint(3, (64,), generator=generator)
    chosen = torch.randperm(64, generator=generator.manual_seed(1000 * node + t))[:BATCH]
    return inputs[chosen], labels[chosen]


def backward(model: nn.Module, node: int, t: int) -> float:
    inputs, labels = minibatch(node, t)
    model.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    return loss.item()


def flat(tensors) -> Tensor:
    return torch.cat([z.detach().flatten() for z in tensors])


def methods(network: str) -> list[str]:
    """All but those that need W = Wᵀ where there is none."""
    symmetric = all(one.symmetric for one in NETWORKS[network]().rounds)
    return [name for name, kind in ALGORITHMS.items() if symmetric or not kind.needs_symmetric]


def real_steps(rank: int, network: str, algorithms: list[str]) -> dict[str, tuple[Tensor, ...]]:
    """x and state of this rank after all steps, for every algorithm."""
    final = {}
    for algorithm in algorithms:
        model = make_model()
        method = ALGORITHMS[algorithm](**HYPERPARAMETERS[algorithm])
        optimizer = DecentralizedOptimizer(model.parameters(), method, NETWORKS[network]())
        for t in range(STEPS):
            optimizer.step(partial(backward, model, rank, t))
        assert torch.equal(flat(model.parameters()), optimizer.x)
        final[algorithm] = (optimizer.x, *optimizer.algorithm_state)
    return final


def simulated_steps(algorithm: str, network: str, in_order: bool) -> tuple[Tensor, ...]:
    """The same in one process on `(nodes, dim)`; `in_order` sums a row as a process does."""
    models = [make_model() for _ in range(NODES)]
    method = ALGORITHMS[algorithm](**HYPERPARAMETERS[algorithm])
    x = torch.stack([flat(model.parameters()) for model in models])
    state = method.init(x)
    shapes, coins = [p.shape for p in models[0].parameters()], Coins.of(0, 0, STREAM)
    for t in range(STEPS):
        grad = partial(gradients, models, t)
        round_t = NETWORKS[network]().at(t)
        mix = partial(mix_in_order, round_t) if in_order else round_t.mixer()
        asked = (Local(t, grad, coins, shapes),) if method.asks_local else ()
        x, state = method.step(t, x, grad(x), state, mix, *asked)
    return (x, *state)


def gradients(models: list[nn.Module], t: int, x: Tensor) -> Tensor:
    for node, model in enumerate(models):
        nn.utils.vector_to_parameters(x[node], model.parameters())
        backward(model, node, t)
    return torch.stack([flat(p.grad for p in model.parameters()) for model in models])


def mix_in_order(network, z: Tensor) -> Tensor:
    rows = (network.neighbor_weights(i) for i in range(NODES))
    return torch.stack([weighted_sum(list(w.values()), [z[r] for r in w]) for w in rows])


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS)
def test_processes_equal_simulator(network):
    require_simulated(on_ranks(real_steps, network, methods(network)), network)


def require_simulated(real: list[dict[str, tuple[Tensor, ...]]], network: str) -> None:
    """1e-12 against the simulator's one product; bit for bit when it sums in the ranks' order."""
    for algorithm in real[0]:
        simulated = simulated_steps(algorithm, network, in_order=False)
        in_order = simulated_steps(algorithm, network, in_order=True)
        for node in range(NODES):
            ours = real[node][algorithm]
            for mine, theirs, exact in zip(ours, simulated, in_order, strict=True):
                torch.testing.assert_close(mine, theirs[node], rtol=0, atol=1e-12, msg=algorithm)
                assert torch.equal(mine, exact[node]) or algorithm in BATCHED, algorithm
