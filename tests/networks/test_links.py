"""The links of a graph: both ways, without self-loops, each once, in one order."""

import networkx as nx
import torch

from gossamer.networks.links import Links


def pairs(links: Links) -> list[tuple[int, int]]:
    return list(zip(links.receiver.tolist(), links.sender.tolist(), strict=True))


def test_edges_given_twice_and_self_loops_count_once_and_not_at_all():
    links = Links.undirected(3, torch.tensor([2, 1, 1, 0]), torch.tensor([1, 2, 1, 1]))
    assert pairs(links) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert links.degree.tolist() == [1, 2, 1]
    assert links.larger_degree.tolist() == [2, 2, 2, 2]


def test_a_digraph_keeps_its_weights_in_order():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(2, 0, 0.1), (1, 1, 9.0), (1, 2, 0.1), (0, 1, 0.1)])
    links = Links.of_graph(graph)
    assert pairs(links) == [(0, 2), (1, 0), (2, 1)]
    assert links.weight.tolist() == [0.1] * 3


def test_to_networkx_and_back():
    graph = nx.barbell_graph(4, 2)
    links = Links.of_graph(graph)
    assert set(links.graph().edges) == {tuple(sorted(edge)) for edge in graph.edges}
    assert pairs(Links.of_graph(links.graph())) == pairs(links)


def test_one_node_has_no_links():
    assert pairs(Links.undirected(1, torch.tensor([0]), torch.tensor([0]))) == []
    assert Links.of_graph(nx.empty_graph(1)).degree.tolist() == [0]
