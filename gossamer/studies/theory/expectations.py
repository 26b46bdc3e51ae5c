"""The lemmas of the analysis that hold in expectation, on paths of many seeds.

n nodes with J = 11ᵀ/n, mixing λ = ‖W − J‖; ξᵏ = gᵏ − ∇F(xᵏ) is the noise of step k, stacked over
the nodes, with E‖ξ_iᵏ‖^p ≤ σ^p. Every function compares both sides at every step t of its paths.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.algorithms import GTNSGDm
from gossamer.networks import StaticNetwork
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.studies.theory.paths import Path, record_path


def martingale_constant() -> float:
    """2√2: that of the martingale lemma, and of all that follow from it."""
    return 2 * math.sqrt(2)


@dataclass(frozen=True)
class Expectation:
    """Both sides of a lemma at t = 0, …, T−1."""

    measured: Tensor
    """The left side, averaged over the seeds, `(T,)`."""

    error: Tensor
    """Its standard error, `(T,)`; under infinite variance only an indication."""

    bound: Tensor
    """The right side, `(T,)`; where it is an expectation too, averaged over the seeds."""

    @property
    def share(self) -> float:
        """The largest share of the bound at any step; at most 1 where the lemma holds.

        0 on complete networks for errors that averaging removes: both sides are 0 there.
        """
        positive = self.bound > 0
        return float((self.measured / self.bound)[positive].max()) if positive.any() else 0.0


def record_paths(
    algorithm: GTNSGDm,
    problem: Problem,
    network: StaticNetwork,
    noise: Noise | None,
    steps: int,
    seeds: Sequence[int],
) -> list[Path]:
    """A path per seed."""
    return [record_path(algorithm, problem, network, noise, steps, seed) for seed in seeds]


def in_expectation(paths: Sequence[Path], sigma: float, p: float) -> dict[str, Expectation]:
    """Every lemma of this file by name, for noise with E‖ξ_i‖^p ≤ σ^p."""
    return {
        "martingale, averaged noise": martingale_averaged(paths, p),
        "martingale, stacked noise": martingale_stacked(paths, p),
        "martingale, mixed noise": martingale_mixed(paths, p),
        "consensus of the trackers": tracker_consensus(paths, sigma, p),
        "averaged estimator": averaged_estimator(paths, sigma, p),
        "stacked estimator": stacked_estimator(paths, sigma, p),
    }


def martingale_averaged(paths: Sequence[Path], p: float) -> Expectation:
    """E‖Σ d‖ ≤ 2√2 E(Σ‖d‖^p)^(1/p) for d_ik = β^{t−k}(1−β) ξ_iᵏ, all nodes and steps k ≤ t."""
    beta = float(paths[0].algorithm.momentum)

    def left(path: Path) -> Tensor:
        return _norm(_discounted((1 - beta) * path.noise.sum(1), beta))

    def right(path: Path) -> Tensor:
        return _p_sum(((1 - beta) * _norm(path.noise)) ** p, beta, p)

    return _compare(paths, left, right)


def martingale_stacked(paths: Sequence[Path], p: float) -> Expectation:
    """The same inequality for d_k = β^{t−k}(1−β) ξᵏ, stacked over the nodes."""
    beta = float(paths[0].algorithm.momentum)

    def left(path: Path) -> Tensor:
        return _norm(_discounted((1 - beta) * path.noise.flatten(1), beta))

    def right(path: Path) -> Tensor:
        return _p_sum(((1 - beta) * _norm(path.noise.flatten(1)))[:, None] ** p, beta, p)

    return _compare(paths, left, right)


def martingale_mixed(paths: Sequence[Path], p: float) -> Expectation:
    """The same for d_k = (W−J)^{t−k+1} ξᵏ, whose norms are at most λ^{t−k+1} ‖ξᵏ‖."""
    network = paths[0].network
    contraction, lam = network.weights - 1 / network.num_nodes, network.lam

    def left(path: Path) -> Tensor:
        total, norms = torch.zeros_like(path.noise[0]), []
        for noise in path.noise:
            total = contraction @ (total + noise)
            norms.append(total.norm())
        return torch.stack(norms)

    def right(path: Path) -> Tensor:
        return lam * _p_sum(_norm(path.noise.flatten(1))[:, None] ** p, lam, p)

    return _compare(paths, left, right)


def tracker_consensus(paths: Sequence[Path], sigma: float, p: float) -> Expectation:
    """(1/n) E Σ‖y_i − ȳ‖ ≤ (1/β−1)(2√2 √n (Σ λ^{(t−k+1)p})^{1/p} σ + Σ λ^{t−k+1} E‖ε̃ᵏ‖/√n).

    ε̃ᵏ = vᵏ − ∇F(xᵏ) is the stacked estimators' error; its expectation is measured too.
    """
    path = paths[0]
    n, lam, beta = path.network.num_nodes, path.network.lam, float(path.algorithm.momentum)
    noise = lam * _geometric(len(path.v), lam**p) ** (1 / p) * sigma
    tracked = lam * _discounted(stacked_errors(paths).mean(0), lam)
    bound = (1 / beta - 1) * (martingale_constant() * math.sqrt(n) * noise + tracked / math.sqrt(n))
    spread = [_norm(one.y - one.y.mean(1, keepdim=True)).mean(1) for one in paths]
    return _expectation(torch.stack(spread), bound)


def averaged_estimator(paths: Sequence[Path], sigma: float, p: float) -> Expectation:
    """E‖v̄ᵗ − (1/n) Σ ∇f_i(x_iᵗ)‖ against the lemma on the averaged estimators.

    β^{t+1}‖∇f(x⁰)‖ + 2√2 n^{1/p−1} (Σ (β^{t−k}(1−β))^p)^{1/p} σ
    + Σ β^{t−k+1} (2αλ/(1−λ) + α) L.
    """
    n, start = paths[0].network.num_nodes, float(paths[0].exact_grad[0].mean(0).norm())
    bound = _estimator_bound(paths[0], start, n ** (1 / p - 1), 1, sigma, p)
    errors = [_norm((path.v - path.exact_grad).mean(1)) for path in paths]
    return _expectation(torch.stack(errors), bound)


def stacked_estimator(paths: Sequence[Path], sigma: float, p: float) -> Expectation:
    """E‖vᵗ − ∇F(xᵗ)‖ against the lemma on the stacked estimators.

    β^{t+1}‖∇F(1⊗x⁰)‖ + 2√2 n (Σ (β^{t−k}(1−β))^p)^{1/p} σ + n Σ β^{t−k+1} (2αλ/(1−λ) + α) L.
    """
    n, start = paths[0].network.num_nodes, float(paths[0].exact_grad[0].norm())
    bound = _estimator_bound(paths[0], start, n, n, sigma, p)
    return _expectation(stacked_errors(paths), bound)


def stacked_errors(paths: Sequence[Path]) -> Tensor:
    """‖vᵗ − ∇F(xᵗ)‖ of every path, `(seeds, T)`."""
    return torch.stack([_norm((path.v - path.exact_grad).flatten(1)) for path in paths])


def _estimator_bound(
    path: Path, start: float, noise_factor: float, drift_factor: float, sigma: float, p: float
) -> Tensor:
    """The three terms both estimator lemmas share: the start, the noise, the drift."""
    alpha, beta = float(path.algorithm.lr), float(path.algorithm.momentum)
    lam, L, steps = path.network.lam, path.problem.smoothness, len(path.v)
    assert L is not None
    remembered = beta ** torch.arange(1, steps + 1, dtype=torch.float64)
    noise = (1 - beta) * _geometric(steps, beta**p) ** (1 / p) * sigma
    drift = beta * _geometric(steps, beta) * (2 * alpha * lam / (1 - lam) + alpha) * L
    return start * remembered + martingale_constant() * noise_factor * noise + drift_factor * drift


def _compare(
    paths: Sequence[Path], left: Callable[[Path], Tensor], right: Callable[[Path], Tensor]
) -> Expectation:
    """The martingale lemma: both sides are expectations."""
    bound = martingale_constant() * torch.stack([right(path) for path in paths]).mean(0)
    return _expectation(torch.stack([left(path) for path in paths]), bound)


def _expectation(values: Tensor, bound: Tensor) -> Expectation:
    """`values` are `(seeds, T)`."""
    error = values.std(0) / math.sqrt(len(values))
    return Expectation(values.mean(0), error, bound)


def _discounted(values: Tensor, factor: float) -> Tensor:
    """Σ_{k≤t} factor^{t−k} values_k for every t, `(T, …)` as `values`."""
    total, sums = torch.zeros_like(values[0]), []
    for value in values:
        total = factor * total + value
        sums.append(total)
    return torch.stack(sums)


def _p_sum(powers: Tensor, factor: float, p: float) -> Tensor:
    """(Σ_{k≤t} factor^{(t−k)p} Σ_i powers_ki)^{1/p} for every t; `powers` are `(T, terms)`."""
    return _discounted(powers.sum(1), factor**p) ** (1 / p)


def _geometric(steps: int, factor: float) -> Tensor:
    """Σ_{k≤t} factor^{t−k} for t = 0, …, steps − 1."""
    return _discounted(torch.ones(steps, dtype=torch.float64), factor)


def _norm(z: Tensor) -> Tensor:
    return torch.linalg.vector_norm(z, dim=-1)
