"""Objects from what a user types: `ring(20, hops=2)`, `StudentT(df=1.5)`, `GTNSGDm`."""

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from gossamer import networks
from gossamer.errors import InvalidInput, choice
from gossamer.networks import Network
from gossamer.problems import Problem, Quadratic, RobustRegression

T = TypeVar("T")

NETWORKS: dict[str, Callable[..., Network]] = {
    constructor.__name__: constructor
    for constructor in (
        networks.ring,
        networks.exponential,
        networks.complete,
        networks.star,
        networks.path,
        networks.torus,
        networks.hypercube,
        networks.erdos_renyi,
        networks.random_regular,
        networks.one_peer_exponential,
    )
}

PROBLEMS: dict[str, Callable[..., Problem]] = {
    "RobustRegression": RobustRegression,
    "Quadratic": Quadratic,
}


def parse(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Name, positional and named arguments of a call; nothing is executed.

    Arguments are literals, and bare words stand for themselves.

    >>> parse("ring(20, hops=2)")
    ('ring', [20], {'hops': 2})
    >>> parse("ring(20, weights=laplacian)")
    ('ring', [20], {'weights': 'laplacian'})
    >>> parse("GTNSGDm")
    ('GTNSGDm', [], {})
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.Name):
            return call.id, [], {}
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            raise ValueError
        named = {k.arg: _literal(k.value) for k in call.keywords if k.arg is not None}
        if len(named) < len(call.keywords):  # a name twice, or **
            raise ValueError
        return call.func.id, [_literal(value) for value in call.args], named
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError) as reason:
        raise InvalidInput(
            f"cannot read {text!r}, need NAME or NAME(value, name=value), as 'ring(20, hops=2)'"
        ) from reason


def _literal(node: ast.expr) -> Any:
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def build(kind: str, text: str, known: Mapping[str, Callable[..., T]]) -> T:
    """The object of the given kind that `text` describes.

    >>> build("network", "ring(8)", NETWORKS).num_nodes
    8
    >>> build("network", "rnig(8)", NETWORKS)
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: network: got 'rnig', need one of ring, ...; did you mean 'ring'?
    """
    name, positional, named = parse(text)
    maker = known[choice(kind, name, known)]
    try:
        inspect.signature(maker).bind(*positional, **named)
        return maker(*positional, **named)
    except InvalidInput:
        raise
    except (TypeError, ValueError, RuntimeError, MemoryError, OverflowError) as reason:
        short = str(reason).partition("\n")[0] or type(reason).__name__
        raise InvalidInput(f"{kind}: {text}: {short}; its arguments are {usage(maker)}") from reason


def usage(maker: Callable[..., Any]) -> str:
    """The arguments of a constructor, for error messages and help.

    >>> usage(NETWORKS["ring"])
    '(n, hops=1, weights=metropolis)'
    """
    parameters = inspect.signature(maker).parameters.values()
    empty = inspect.Parameter.empty
    shown = [p.name if p.default is empty else f"{p.name}={p.default}" for p in parameters]
    return f"({', '.join(shown)})"
