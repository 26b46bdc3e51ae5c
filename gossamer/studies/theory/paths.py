"""The lemmas of the analysis that hold at every step, on recorded paths of GT-NSGDm."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gossamer.algorithms import GTNSGDm
from gossamer.networks import StaticNetwork
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.seeding import stream


@dataclass(frozen=True)
class Path:
    """Everything GT-NSGDm did in T steps of one run; J = 11ᵀ/n averages over the nodes."""

    algorithm: GTNSGDm
    problem: Problem
    network: StaticNetwork

    x: Tensor
    """x⁰, …, xᵀ: `(T + 1, nodes, dim)`."""

    grad: Tensor
    """The stochastic gradients g⁰, …, gᵀ⁻¹: `(T, nodes, dim)`, as are v and y."""

    v: Tensor
    y: Tensor

    @cached_property
    def exact_grad(self) -> Tensor:
        """∇f_i(x_iᵗ), `(T, nodes, dim)`."""
        at_nodes = self.x[:-1].transpose(0, 1)
        return self.problem.local_grad(at_nodes).transpose(0, 1)

    @property
    def noise(self) -> Tensor:
        """ξᵗ = gᵗ − ∇F(xᵗ), `(T, nodes, dim)`."""
        return self.grad - self.exact_grad


@torch.no_grad()
def record_path(
    algorithm: GTNSGDm,
    problem: Problem,
    network: StaticNetwork,
    noise: Noise | None,
    steps: int,
    seed: int = 0,
) -> Path:
    """Take `steps` steps in float64 and keep all of them."""
    shape, generator = (steps, problem.num_nodes, problem.dim), stream("path", seed)
    noises = (
        torch.zeros(shape).double() if noise is None else noise.sample(shape, generator=generator)
    )
    xs = [problem.start.double().expand(shape[1:]).contiguous()]
    state, records = algorithm.init(xs[0]), []
    for t in range(steps):
        grad = problem.local_grad(xs[-1][:, None])[:, 0] + noises[t]
        x, state = algorithm.step(t, xs[-1], grad, state, network.mixer())
        xs.append(x)
        records.append(torch.stack([grad, state.v, state.y]))
    grad, v, y = torch.stack(records, dim=1)
    return Path(algorithm, problem, network, torch.stack(xs), grad, v, y)


def tracker_mean_gap(path: Path) -> float:
    """max ‖ȳᵗ − v̄ᵗ‖, which is 0: the trackers' average is the estimators' average."""
    return float(_norm(path.y.mean(1) - path.v.mean(1)).max())


def mean_steps(path: Path) -> Tensor:
    """‖x̄ᵗ⁺¹ − x̄ᵗ‖ ≤ α, `(T,)`; the paper prints "=", which holds on the complete network."""
    return _norm(path.x.mean(1).diff(dim=0))


def consensus_errors(path: Path) -> Tensor:
    """(1/n) Σ ‖x_iᵗ − x̄ᵗ‖ for t = 0, …, T."""
    return _norm(path.x - path.x.mean(1, keepdim=True)).mean(1)


def consensus_bounds(path: Path) -> Tensor:
    """αλ(1 − λᵗ)/(1 − λ) for t = 0, …, T: what the consensus error cannot exceed."""
    lam, t = path.network.lam, torch.arange(len(path.x), dtype=torch.float64)
    return path.algorithm.lr * lam * (1 - lam**t) / (1 - lam)


@torch.no_grad()
def descent_slack(path: Path) -> Tensor:
    """What is left of the descent lemma at every step, `(T,)`, each ≥ 0:

    f(x̄ᵗ) − f(x̄ᵗ⁺¹) − α‖∇f(x̄ᵗ)‖ + 2α‖ȳᵗ − ∇f(x̄ᵗ)‖ + (α/n) Σ ‖ȳᵗ − y_iᵗ‖ + Lα²/2.
    """
    alpha, L = path.algorithm.lr, path.problem.smoothness
    assert L is not None
    mean_x, mean_y = path.x.mean(1), path.y.mean(1)
    grad = path.problem.grad(mean_x[:-1])
    decrease = -path.problem.loss(mean_x).diff()
    disagreement = _norm(path.y - mean_y[:, None]).mean(1)
    error = 2 * _norm(mean_y - grad)
    return decrease + alpha * (error + disagreement - _norm(grad)) + L * alpha**2 / 2


def tracker_expansion_gap(path: Path) -> float:
    """max ‖yᵗ − 1ȳᵗ − Σ_{k≤t} (W − J)^{t−k+1} (vᵏ − vᵏ⁻¹)‖, which is 0."""
    contraction = path.network.weights - 1 / path.network.num_nodes
    expansion, worst = torch.zeros_like(path.y[0]), 0.0
    for y, change in zip(path.y, _changes(path.v), strict=True):
        expansion = contraction @ (expansion + change)
        worst = max(worst, float((y - y.mean(0) - expansion).norm()))
    return worst


def estimator_change_gap(path: Path) -> float:
    """max ‖vᵗ − vᵗ⁻¹ − (1/β − 1)(gᵗ − vᵗ)‖ relative to ‖gᵗ‖, which is 0."""
    renewal = 1 / path.algorithm.momentum - 1
    gap = _norm(_changes(path.v) - renewal * (path.grad - path.v))
    return float((gap / (1 + _norm(path.grad))).max())


def _changes(v: Tensor) -> Tensor:
    """vᵗ − vᵗ⁻¹ with v⁻¹ = 0."""
    return torch.diff(v, dim=0, prepend=torch.zeros_like(v[:1]))


def _norm(z: Tensor) -> Tensor:
    return torch.linalg.vector_norm(z, dim=-1)
