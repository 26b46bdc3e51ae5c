"""The links of a network, one by one."""

import torch
from networks.any_network import digraph

import gossamer as gs
from gossamer.networks.edges import Edges


def test_links_and_what_is_kept_are_the_matrices():
    network = digraph()
    edges = Edges.of(network.rounds)
    R, C = (torch.zeros(10, 10, dtype=torch.float64) for _ in range(2))
    R[edges.receiver, edges.sender] = edges.weights[0]
    C[edges.receiver, edges.sender] = edges.shares[0]
    assert torch.equal(R, network.weights.clone().fill_diagonal_(0))
    assert torch.equal(C + torch.diag(edges.kept[0]), network.push_weights)
    assert len(edges) == int(network.in_degrees.sum())


def test_links_of_all_rounds_are_listed_once():
    network = gs.one_peer_exponential(8)
    edges = Edges.of(network.rounds)
    assert edges.period == 3
    assert len(edges) == len(set(edges.number.tolist())) == 24
    for t in range(6):
        senders = edges.sender[edges.active(t)]
        assert senders.tolist() == [network.at(t).in_neighbors(i)[0] for i in range(8)]


def test_both_directions_of_a_link_have_one_number():
    edges = Edges.of(gs.ring(8).rounds)
    assert len(set(edges.number.tolist())) == 16
    assert len(set(edges.pair.tolist())) == 8
