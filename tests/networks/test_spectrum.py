import math

import pytest
import torch

from gossamer import networks as gs
from gossamer.networks import spectrum


def ring_lambda(n: int) -> float:
    return 1 / 3 + 2 / 3 * math.cos(2 * math.pi / n)


def path_lambda(n: int) -> float:
    return 1 - 2 / 3 * (1 - math.cos(math.pi / n))


@pytest.mark.parametrize("n", [10_000, 100_000])
def test_large_rings_by_fft(n: int):
    assert gs.ring(n).lam == pytest.approx(ring_lambda(n), abs=1e-12)


def test_large_paths_by_lanczos():
    assert gs.line(2000).lam == pytest.approx(path_lambda(2000), abs=1e-11)


def test_large_tori_by_lanczos():
    expected = 1 - 2 / 5 * (1 - math.cos(2 * math.pi / 60))
    assert gs.torus(60, 40).lam == pytest.approx(expected, abs=1e-11)


def test_lanczos_stops_when_the_space_is_exhausted():
    assert gs.star(2000).lam == pytest.approx(1 - 1 / 2000, abs=1e-12)


@pytest.mark.parametrize(
    "network",
    [
        gs.random_regular(60, degree=3, seed=0),
        gs.erdos_renyi(60, 0.1, seed=0),
        gs.torus(6, 7),
        gs.time_varying([gs.line(30), gs.star(30), gs.exponential(30)]),
    ],
    ids=lambda network: network.name,
)
def test_lanczos_agrees_with_svd(network: gs.Network, monkeypatch: pytest.MonkeyPatch):
    matrices = [r.matrix for r in network.rounds]
    by_svd = spectrum.consensus_norm(matrices)
    monkeypatch.setattr(spectrum, "DENSE_LIMIT", 0)
    assert spectrum.consensus_norm(matrices) == pytest.approx(by_svd, abs=1e-11)


def test_largest_eigenvalue_of_a_tridiagonal_matrix():
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 50, dtype=torch.float64, generator=generator)
    T = torch.diag(a) + torch.diag(b[1:], 1) + torch.diag(b[1:], -1)
    largest = spectrum.largest_eigenvalue(a.tolist(), b[1:].tolist())
    assert largest == pytest.approx(float(torch.linalg.eigvalsh(T)[-1]), abs=1e-13)
