import dataclasses
import pickle

import pytest
import torch

from gossamer import networks as gs
from gossamer.errors import InvalidInput
from gossamer.networks import static as network_module


def test_repr_says_what_matters():
    assert repr(gs.ring(20, hops=2)) == "ring(20, hops=2): 20 nodes, degree 4, λ = 0.904029"
    assert repr(gs.star(4)) == "star(4): 4 nodes, degrees 1 to 3, λ = 0.75"
    assert repr(gs.ring(10_000)) == "ring(10000): 10000 nodes, degree 2, λ = 1 − 1.3e-07"


def test_where_nodes_hear_others_than_they_send_to_both_are_said():
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3), (2, 1), (3, 2)]
    in_degrees, out_degrees = [1, 2, 3, 2], [2, 2, 2, 2]
    network = gs.from_digraph(edges)
    assert (network.in_degrees.tolist(), network.out_degrees.tolist()) == (in_degrees, out_degrees)
    assert network.degrees == "each hears 1 to 3 and sends to 2"
    assert gs.random_digraph(10, degree=1).degrees == "degree 1"


def test_neighbours_of_a_directed_network():
    network = gs.exponential(8)
    assert network.in_neighbors(0) == [4, 6, 7]
    assert network.out_neighbors(0) == [1, 2, 4]
    W = network.weights
    for i in range(8):
        row = {r: float(W[i, r]) for r in range(8) if W[i, r] > 0}
        assert network.neighbor_weights(i) == row
        assert list(network.neighbor_weights(i)) == sorted(row)
        assert all(i in network.out_neighbors(r) for r in network.in_neighbors(i))


@pytest.mark.parametrize("node", [-1, 8])
def test_a_node_must_exist(node: int):
    with pytest.raises(InvalidInput, match="node: got"):
        gs.ring(8).in_neighbors(node)


def test_a_static_network_is_the_same_in_every_round():
    network = gs.ring(5)
    assert network.period == 1
    assert network.at(0) is network.at(17) is network


@pytest.mark.parametrize("shape", [(20,), (20, 3), (20, 4, 5), (20, 2, 3, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_mixer_is_the_product_over_the_leading_axis(shape: tuple[int, ...], dtype: torch.dtype):
    network = gs.exponential(20)
    z = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(0))
    mixed = network.mixer(dtype).pull(z)
    expected = torch.tensordot(network.weights, z.double(), dims=1)
    tolerance = 1e-12 if dtype is torch.float64 else 1e-5
    assert mixed.dtype is dtype
    assert mixed.shape == z.shape
    assert (mixed.double() - expected).abs().max() < tolerance


def test_mixer_takes_tensors_that_are_not_contiguous():
    z = torch.randn(6, 4, 20, dtype=torch.float64).permute(2, 0, 1)
    mix = gs.ring(20).mixer()
    assert torch.equal(mix.pull(z), mix.pull(z.contiguous()))


def test_mixer_refuses_another_number_of_nodes():
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        gs.ring(20).mixer().pull(torch.zeros(40, 3, dtype=torch.float64))


def test_mixer_is_kept_per_dtype_and_device():
    network = gs.ring(20)
    assert network.mixer(torch.float32) is network.mixer(torch.float32)
    assert network.mixer(torch.float32) is not network.mixer(torch.float64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("build", [lambda: gs.exponential(60), lambda: gs.line(60)])
def test_sparse_mixer_equals_dense_mixer(build, dtype, monkeypatch: pytest.MonkeyPatch):
    z = torch.randn(60, 3, 4, dtype=dtype, generator=torch.Generator().manual_seed(0))
    dense = build().mixer(dtype).pull(z)
    monkeypatch.setattr(network_module, "SPARSE_FROM", 1)
    monkeypatch.setattr(network_module, "SPARSE_DENSITY", 1)
    monkeypatch.setattr(gs.StaticNetwork, "weights", property(_refuse))
    sparse = build().mixer(dtype).pull(z)
    torch.testing.assert_close(
        sparse, dense, rtol=0, atol=1e-12 if dtype is torch.float64 else 1e-6
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_mixes_on_large_networks(dtype: torch.dtype):
    z = torch.ones(300, 2, dtype=dtype)
    torch.testing.assert_close(gs.ring(300).mixer(dtype).pull(z), z, rtol=0.01, atol=0)


def _refuse(_: object) -> torch.Tensor:
    raise AssertionError("a dense matrix was built")


def test_large_rings_never_build_a_dense_matrix(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gs.StaticNetwork, "weights", property(_refuse))
    monkeypatch.setattr(network_module.SparseMatrix, "dense", _refuse)
    network = gs.ring(10_000)
    z = torch.randn(10_000, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mixed = network.mixer().pull(z)
    expected = (z + z.roll(1, 0) + z.roll(-1, 0)) / 3
    torch.testing.assert_close(mixed, expected, rtol=0, atol=1e-12)
    assert network.lam < 1
    assert network.in_neighbors(0) == [1, 9_999]


FAULTS = {
    "one way": lambda network: network.drops(0.3),
    "both ways": lambda network: network.drops(0.3, both_ways=True, burst=3),
    "lost and compressed": lambda network: network.drops(0.3).compressed(gs.TopK(0.5)),
    "accelerated": lambda network: network.accelerated(4),
}


def talked(network: gs.Network, dtype: torch.dtype) -> torch.Tensor:
    """Five steps of opinions and totals, of four runs with two seeds."""
    z = torch.randn(30, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    channel, memory, found = network.channel([0, 1, 0, 1], dtype, "cpu"), (), []
    for t in range(5):
        talk = channel.talk(t, memory)
        found += [talk.pull(z.to(dtype)).double(), talk.push(z)]
        memory = talk.memory
    return torch.stack(found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_bad_networks_mix_sparse_as_they_do_dense(fault, dtype, monkeypatch: pytest.MonkeyPatch):
    dense = talked(fault(gs.torus(5, 6)), dtype)
    monkeypatch.setattr(network_module, "SPARSE_FROM", 1)
    monkeypatch.setattr(network_module, "SPARSE_DENSITY", 1)
    monkeypatch.setattr(gs.StaticNetwork, "weights", property(_refuse))
    sparse = talked(fault(gs.torus(5, 6)), dtype)
    torch.testing.assert_close(
        sparse, dense, rtol=0, atol=1e-12 if dtype is torch.float64 else 1e-6
    )


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_large_bad_networks_never_build_a_dense_matrix(fault, monkeypatch: pytest.MonkeyPatch):
    """A dense one of 20,000 nodes would take 3.2 GB."""
    monkeypatch.setattr(network_module.SparseMatrix, "dense", _refuse)
    network = fault(gs.ring(20_000))
    z = torch.ones(20_000, 1, 1, dtype=torch.float64)
    talk = network.channel([0], torch.float64, "cpu").talk(0, ())
    torch.testing.assert_close(talk.pull(z), z, rtol=0, atol=1e-12)
    assert repr(network)


def test_spectral_gap_and_mixing_time():
    network = gs.hypercube(3)  # λ = 1/2
    assert network.spectral_gap == pytest.approx(0.5)
    assert network.mixing_time(eps=0.125) == 3
    assert network.mixing_time(eps=0.124) == 4
    assert gs.complete(5).mixing_time() == 1
    with pytest.raises(InvalidInput, match="eps: got 0"):
        network.mixing_time(eps=0)


def test_mixing_time_is_when_the_power_is_close_enough():
    network = gs.ring(12)
    k = network.mixing_time(eps=1e-2)
    distance = [
        float(torch.linalg.matrix_norm(network.weights.matrix_power(p) - 1 / 12, ord=2))
        for p in (k - 1, k)
    ]
    assert distance[1] <= 1e-2 < distance[0]


def test_without_moves_the_weights_of_the_dead_onto_the_diagonal():
    network = gs.erdos_renyi(8, 0.6, seed=0)
    survivors = network.without(3)
    kept = [i for i in range(8) if i != 3]
    expected = network.weights[kept][:, kept] + torch.diag(network.weights[kept, 3])
    torch.testing.assert_close(survivors.weights, expected, rtol=0, atol=1e-15)
    assert (survivors.weights.sum(0) - 1).abs().max() < 1e-12
    assert survivors.name == "erdos_renyi(8, 0.6, seed=0).without(3)"


@pytest.mark.parametrize(
    ("network", "node", "message"),
    [
        (gs.exponential(8), 0, "need W = Wᵀ.*exponential.8. is not symmetric.*gs.ring"),
        (gs.star(5), 0, "falls into 4 parts"),
        (gs.ring(1), 0, "at least 2 nodes"),
        (gs.ring(4), 4, "node: got 4"),
    ],
)
def test_without_refuses(network: gs.StaticNetwork, node: int, message: str):
    with pytest.raises(InvalidInput, match=message):
        network.without(node)


def test_equality_is_by_weights():
    assert gs.ring(8) == gs.from_matrix(gs.ring(8).weights)
    assert hash(gs.ring(8)) == hash(gs.from_matrix(gs.ring(8).weights))
    assert gs.ring(8) != gs.ring(9)
    assert gs.ring(8) != gs.ring(8, weights="laplacian")
    assert gs.ring(8) != "ring(8)"


def test_networks_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        gs.ring(8).name = "other"  # type: ignore[misc]
    network = gs.ring(8)
    network.weights.zero_()
    assert network == gs.ring(8)


@pytest.mark.parametrize("network", [gs.ring(8), gs.one_peer_exponential(8)])
def test_networks_can_be_pickled(network: gs.Network):
    z = torch.randn(8, 3, dtype=torch.float64)
    expected, lam = network.at(1).mixer().pull(z), network.lam
    copy = pickle.loads(pickle.dumps(network))
    assert copy == network
    assert (copy.name, copy.lam) == (network.name, lam)
    assert torch.equal(copy.at(1).mixer().pull(z), expected)


def test_links_too_weak_for_any_precision_have_no_mixing_time():
    """It used to divide by log λ = 0."""
    weak = 1e-17
    network = gs.from_matrix(torch.tensor([[1.0, weak], [weak, 1.0]]).double(), name="weak")
    with pytest.raises(InvalidInput, match="weak with λ = 1, need one with λ < 1"):
        network.mixing_time()
    assert gs.ring(10_000).mixing_time() > 50_000_000
