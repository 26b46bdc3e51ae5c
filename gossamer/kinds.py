"""Whether an argument is of the kind that a call needs."""

from types import UnionType

from torch import nn

from gossamer.errors import require
from gossamer.networks import Network
from gossamer.problems import Problem


def require_kind(name: str, value: object, kind: type | UnionType, example: str) -> None:
    """Refuse a class where an instance belongs, a matrix where a network does, and the like."""
    require(isinstance(value, kind), name, repr(value), f"an instance, e.g. {example}")


def require_problem(value: object) -> None:
    """Refuse what is no problem; of a module one can be made."""
    found, way_out = f"the module {type(value).__name__}", "make one of it by gs.ModuleProblem"
    require(not isinstance(value, nn.Module), "problem", found, "a problem", way_out)
    require_kind("problem", value, Problem, "gs.RobustRegression(20)")


def require_network(value: object) -> None:
    """Refuse what is no network; of a graph one can be made."""
    example = "gs.ring(20), gs.from_graph(graph) or gs.from_digraph(digraph)"
    require_kind("network", value, Network, example)
