"""Parts of the pages that are read from the package itself."""

import ast
import dataclasses
import inspect
import math
import re
import textwrap
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from docstrings import equations, markdown, paragraphs
from imports import LAYERS
from markup import table

import gossamer as gs
from gossamer.algorithms import Local, admissible_sets
from gossamer.algorithms.local import STREAM
from gossamer.networks.chance import Coins

MEANING = {
    "lr": "step size",
    "momentum": "weight of the past in the gradient estimate",
    "quasi_momentum": "weight of the past in the estimate of the movement",
    "clip": "clipping level",
    "floor": "size to which smaller coordinates are raised",
    "clipped": "what is clipped: the gradient or the tracker",
    "clip_exponent": "the clipping level is proportional to this power of t + 1",
    "scale": "largest size of a clipped coordinate in step 0",
    "beta1": "weight of the past in the first moment",
    "beta2": "weight of the past in the second moment",
    "cap": "upper limit of the second moment",
    "eps": "added to the second moment",
    "correction": "factor by which the correction is multiplied",
    "order": "whether a node first steps (adapts) or first mixes (combines)",
}


SYMBOLS = (
    "In step t, $x^t$ are the parameters, $g^t$ are the stochastic gradients, and W is the "
    "[mixing matrix](../concepts.md#mixing):"
)


FAMILIES: dict[str, Callable[[int], gs.Network]] = {
    "line(n)": gs.line,
    "star(n)": gs.star,
    "ring(n)": gs.ring,
    "ring(n, hops=2)": lambda n: gs.ring(n, hops=2),
    "torus(rows, cols)": lambda n: gs.torus(*_sides(n)),
    "exponential(n)": gs.exponential,
    "exponential(n, directed=False)": lambda n: gs.exponential(n, directed=False),
    "one_peer_exponential(n)": gs.one_peer_exponential,
    "complete(n)": gs.complete,
}
SIZES = (8, 16, 64, 256)


def update(method: str) -> str:
    """Equations and symbols, from the second paragraph of the docstring; then the code itself."""
    algorithm = gs.ALGORITHMS[method]
    module = algorithm.__module__.replace(".", "/")
    return (
        f"{SYMBOLS}\n\n{equations(paragraphs(inspect.getdoc(algorithm) or '')[1])}\n\n"
        f"This is the body of `step` in `{module}.py`, in which `mix` multiplies by W:\n\n"
        f"```python\n{_body(algorithm.step)}\n```"
    )


def _body(function: Callable[..., Any]) -> str:
    """The code of a function without its signature and docstring.

    >>> _body(gs.DSGD.step)
    'return mix.pull(minus(x, self.lr, grad)), state  # xᵗ⁺¹ = W (xᵗ − α gᵗ)'
    """
    code = textwrap.dedent(inspect.getsource(function))
    (definition,) = ast.parse(code).body
    first = definition.body[1].lineno  # type: ignore[attr-defined]
    return textwrap.dedent("\n".join(code.splitlines()[first - 1 :]))


def parameters(method: str) -> str:
    """Name, symbol, meaning, admissible set and default of every hyper-parameter."""
    algorithm = gs.ALGORITHMS[method]
    pairs = re.findall(r"(\S+) = `(\w+)`", inspect.getdoc(algorithm) or "")
    symbols = {name: symbol for symbol, name in pairs}
    sets = admissible_sets(algorithm)
    rows = [
        [f"`{f.name}`", symbols.get(f.name, ""), MEANING[f.name], str(sets[f.name]), _default(f)]
        for f in dataclasses.fields(algorithm)
    ]
    return table(["name", "symbol", "meaning", "admissible values", "default"], rows)


def _default(field: "dataclasses.Field[Any]") -> str:
    return "" if field.default is dataclasses.MISSING else f"`{field.default!r}`"


def cost(method: str) -> tuple[int, int]:
    """Messages of a step and vectors of state, by making one step.

    >>> cost("GTNSGDm")
    (2, 2)
    """
    sent = 0

    def mix(z: torch.Tensor) -> torch.Tensor:
        nonlocal sent
        sent += 1
        return z

    x = torch.ones(1, 2)
    algorithm = example(method)
    state = algorithm.init(x)
    local = Local(0, torch.zeros_like, Coins.of(0, 0, STREAM), [torch.Size([2])])
    algorithm.step(0, x, x, state, mix, *([local] if algorithm.asks_local else []))
    return sent, len(state)


def example(method: str) -> "gs.Algorithm[Any]":
    """The method with some value for every hyper-parameter that has no default."""
    fields = dataclasses.fields(gs.ALGORITHMS[method])
    needed = [f.name for f in fields if f.default is dataclasses.MISSING]
    return gs.ALGORITHMS[method](**dict.fromkeys(needed, 0.5))


def methods(_: str) -> str:
    """All methods in one table, and their pages in the navigation."""
    rows = [
        [
            f"[{name}]({name}.md)",
            _first_line(algorithm),
            str(cost(name)[0]),
            str(cost(name)[1]),
            "yes" if algorithm.tracker else "",
        ]
        for name, algorithm in gs.ALGORITHMS.items()
    ]
    pages = "\n".join([*gs.ALGORITHMS, "PushSum"])
    shown = table(["method", "what it is", "messages", "state", "tracks"], rows)
    return f"{shown}\n\n```{{toctree}}\n:hidden:\n\n{pages}\n```"


def _first_line(thing: object) -> str:
    return markdown((inspect.getdoc(thing) or "").partition("\n")[0])


def _sides(n: int) -> tuple[int, int]:
    rows = next(r for r in range(math.isqrt(n), 0, -1) if n % r == 0)
    return rows, n // rows


def networks(_: str) -> str:
    """Per family: messages a node sends in a round, and rounds until a disagreement is halved."""
    rows = [
        [f"`{name}`", str(_busiest(family(16)))] + [_speed(family(n)) for n in SIZES]
        for name, family in FAMILIES.items()
    ]
    return table(["network", "messages, n = 16", *(f"n = {n}" for n in SIZES)], rows)


def _speed(network: gs.Network) -> str:
    """λ of a round, and after how many rounds λᵗ ≤ ½."""
    if network.lam < 1e-12:
        return f"exact after {network.period}"
    return f"{network.lam:.4g} ({network.mixing_time(0.5):,})"


def _busiest(network: gs.Network) -> int:
    """The most messages any node sends in a round."""
    return max(
        len(one_round.out_neighbors(node))
        for one_round in network.rounds
        for node in range(network.num_nodes)
    )


def api(which: str) -> str:
    """The names of a part in one table, then each documented; "part names" puts those first.

    >>> ".. autofunction:: gossamer.errors.require" in api("errors").splitlines()
    True
    """
    part, *first = which.split(" ")
    names = exported(part)
    ordered = first + [name for name in names if name not in first]
    shown = table(["name", "what it is"], [_named(part, name) for name in ordered])
    entries = "\n".join(f"{_directive(part, name)}\n" for name in ordered)
    about = markdown(inspect.getdoc(import_module(f"gossamer.{part}")) or "")
    return f"{about}\n\n{shown}\n\n```{{eval-rst}}\n.. currentmodule:: gossamer\n\n{entries}```"


def overview(which: str) -> str:
    """What some parts are, with links to their pages of the API."""
    lines = {part: _first_line(import_module(f"gossamer.{part}")) for part in which.split(" ")}
    rows = [[f"[gossamer.{part}]({part}.md)", line] for part, line in lines.items()]
    return table(["part", "what it is"], rows)


def exported(part: str) -> list[str]:
    """The public classes and functions of a part."""
    module = import_module(f"gossamer.{part}")
    paths = {
        name: defined(getattr(module, name)) for name in getattr(module, "__all__", vars(module))
    }
    return [
        name
        for name, path in paths.items()
        if path and path.startswith(module.__name__) and not name.startswith("_")
    ]


def public(part: str, name: str) -> str:
    """The shortest path that a user may import it by.

    >>> public("simulation", "simulate"), public("theory", "plan")
    ('gossamer.simulate', 'gossamer.theory.plan')
    """
    whole = getattr(import_module(f"gossamer.{part}"), name)
    return f"gossamer.{name}" if getattr(gs, name, None) is whole else f"gossamer.{part}.{name}"


def _named(part: str, name: str) -> list[str]:
    path = public(part, name)
    shown = f"gs.{name}" if path == f"gossamer.{name}" else name
    line = _first_line(getattr(import_module(f"gossamer.{part}"), name))
    return [f"{{py:obj}}`{shown} <{path}>`", line]


def _directive(part: str, name: str) -> str:
    thing = getattr(import_module(f"gossamer.{part}"), name)
    return f".. auto{'class' if inspect.isclass(thing) else 'function'}:: {public(part, name)}"


def defined(thing: object) -> str | None:
    """Where a class or function is defined; None for anything else.

    >>> defined(gs.ring)
    'gossamer.networks.graphs.ring'
    """
    named = inspect.isclass(thing) or inspect.isfunction(thing)
    return f"{thing.__module__}.{thing.__qualname__}" if named else None


def parts(_: str) -> str:
    """The parts of the package in layers, from the top down, with their docstrings' first lines."""
    order = [part for layer in LAYERS for part in layer if part]
    lines = {part: _first_line(import_module(f"gossamer.{part}")) for part in order}
    return table(["part", "what it is"], [[f"`{p}`", line] for p, line in lines.items()])


def examples(_: str) -> str:
    """Every script of examples/: its docstring, and its code to unfold."""
    folder = Path(__file__).parents[2] / "examples"
    return "\n\n".join(_example(path) for path in sorted(folder.glob("*.py")))


def _example(path: Path) -> str:
    source = path.read_text(encoding="utf-8")
    about, code = ast.get_docstring(ast.parse(source)), source.split('"""', 2)[2].strip()
    shown = "\n".join(line for line in code.splitlines() if "--8<--" not in line)
    return f"## {path.name}\n\n{about}\n\n:::{{dropdown}} The code\n```python\n{shown}\n```\n:::"


TABLES: dict[str, Callable[[str], str]] = {
    "api": api,
    "overview": overview,
    "examples": examples,
    "update": update,
    "parameters": parameters,
    "methods": methods,
    "networks": networks,
    "parts": parts,
}
