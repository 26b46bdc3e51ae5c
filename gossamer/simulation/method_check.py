"""Does a method keep what every method must? A few steps of it on a small task tell."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.errors import InvalidInput, first_line, require
from gossamer.kinds import require_kind
from gossamer.random_state import kept
from gossamer.simulation.step import real_numbers
from gossamer.simulation.trial import NODES, RUNS, Task, Trial

ROUNDING = 1e-6
"""Beyond this share of the way that the parameters went, numbers differ by more than rounding."""

OTHER_KINDS: dict[str, dict[str, Any]] = {
    "in float32": {"dtype": torch.float32, "device": "cpu"},
    "on another device than the CPU": {"dtype": torch.float32, "device": "meta"},
}
KEEP_KIND = "compute with torch, in the precision and on the device of x"


@torch.no_grad()
def check_method(method: Algorithm[Any], *, seed: int = 0) -> float:
    """Take three steps of a method on a small task, in several ways that must agree.

    The steps must be the same

    - when they are repeated: random numbers come only from `local`, and no argument is changed;
    - in a stack of runs and for each run alone, also if each run has hyper-parameters of its own;
    - with and without nodes that a node does not hear: `mix` is the only communication;
    - with the nodes in another order, and at a single node with an `x` of shape `(dim,)`, as on a
      real process.

    Shapes, precision and device of the parameters and of the state must stay the same. The check
    takes about 10 ms. It cannot tell whether the equations are those that you meant.

    Args:
        method: any method with its hyper-parameters, with which it must not diverge at once.
        seed: seed of the task.

    Returns:
        The largest difference, which comes from rounding. A method that fails is refused. The
        error says where two of these ways differ, and names the usual reason.

    >>> from gossamer.algorithms import GTNSGDm
    >>> check_method(GTNSGDm(lr=0.1, momentum=0.8)) < 1e-9
    True
    """
    require_kind("method", method, Algorithm, "gs.DSGD(lr=0.1), with its hyper-parameters")
    shapes = {name: tuple(value.shape) for name, value in method.arguments.items() if _many(value)}
    need, way_out = "one number for each hyper-parameter", "check one setting at a time"
    require(not shapes, "method", f"hyper-parameters of shapes {shapes}", need, way_out)
    trial = Trial(method, Task.of(seed))
    with kept():  # a step that draws numbers of its own leaves those of the caller alone
        whole = trial.walk()
        need, way_out = "hyper-parameters with which it does not diverge", "e.g. a smaller lr"
        require(bool(whole.isfinite().all()), "method", repr(method), need, way_out)
        found = [_largest(trial, whole, *rule) for rule in RULES.items()]
        for situation, kind in OTHER_KINDS.items():
            _taken(replace(trial, kind=kind).walk, trial, situation, KEEP_KIND)
    return max(found)


def _many(value: object) -> bool:
    return isinstance(value, Tensor) and value.ndim > 0


Ways = tuple[Tensor, Tensor]
"""The parameters after each step in two ways, both `(steps, nodes, runs, dim)`."""


def again(trial: Trial, whole: Tensor) -> Ways:
    """Twice the same."""
    return trial.walk(), whole


def stacked(trial: Trial, whole: Tensor) -> Ways:
    """Several runs, and each of them alone."""
    return whole, torch.cat([replace(trial, runs=[run]).walk() for run in range(RUNS)], 2)


def swept(trial: Trial, whole: Tensor) -> Ways:
    """Hyper-parameters as columns, and as numbers."""
    numbers = real_numbers(trial.method).items()
    columns = {k: torch.full((RUNS, 1), v, dtype=torch.float64) for k, v in numbers}
    return replace(trial, method=trial.method.holding(columns)).walk(), whole


def unheard(trial: Trial, whole: Tensor) -> Ways:
    """Nodes that hear nothing of each other, and each of them without the others."""
    silent = replace(trial, talking=False)
    alone = [replace(silent, nodes=[node]).walk() for node in range(NODES)]
    return silent.walk(), torch.cat(alone, 1)


def renumbered(trial: Trial, whole: Tensor) -> Ways:
    """Nodes in another order, with their links."""
    order = [2, 0, 3, 1]
    return replace(trial, nodes=order).walk(), whole[:, order]


def on_a_process(trial: Trial, whole: Tensor) -> Ways:
    """One node in one run without leading axes, and the same in the simulator."""
    silent = replace(trial, talking=False)
    bare = [replace(silent, nodes=node, runs=0).walk() for node in range(NODES)]
    return torch.stack(bare, 1)[:, :, None], replace(silent, runs=[0]).walk()


class Words(NamedTuple):
    """What a refusal says of two ways that must agree, and what is usually the reason."""

    one_way: str
    other_way: str
    advice: str


RULES: dict[Callable[[Trial, Tensor], Ways], Words] = {
    again: Words(
        "when it is taken again",
        "as the first time",
        "draw random numbers with local.uniform and local.normal, and keep nothing but the state",
    ),
    stacked: Words(
        "in a stack of runs",
        "as in this run alone",
        "take norms and sums over the last axis only, e.g. grad.norm(dim=-1, keepdim=True)",
    ),
    swept: Words(
        "with a hyper-parameter for each run, as in a sweep",
        "as with numbers",
        "use hyper-parameters in arithmetic only",
    ),
    unheard: Words(
        "beside nodes that it does not hear",
        "as without them",
        "nodes communicate only by mix.pull and mix.push",
    ),
    renumbered: Words(
        "with the nodes in another order",
        "as in the first order",
        "treat all nodes alike",
    ),
    on_a_process: Words(
        "with an x of shape (dim,), as on a real process",
        "as in the simulator",
        "count axes from the last, e.g. dim=-1",
    ),
}


def _largest(
    trial: Trial, whole: Tensor, rule: Callable[[Trial, Tensor], Ways], words: Words
) -> float:
    """The largest difference between two ways; refused if it is more than rounding."""
    given, need = _taken(lambda: rule(trial, whole), trial, words.one_way, words.advice)
    away = (given - need).abs().nan_to_num(torch.inf)
    moved = float((whole - trial.task.start).abs().max())
    if float(away.max()) > ROUNDING * moved + 1e-14:
        at = torch.unravel_index(away.argmax(), away.shape)
        step, node, _, coordinate = map(int, at)
        raise InvalidInput(
            f"{trial.name}: got {float(given[at]):.6g} {words.one_way}, need {float(need[at]):.6g} "
            f"{words.other_way} (node {node}, coordinate {coordinate}, step {step}); {words.advice}"
        )
    return float(away.max())


def _taken(way: Callable[[], Any], trial: Trial, situation: str, advice: str) -> Any:
    """What comes of it; a step that fails only in this situation is refused."""
    try:
        return way()
    except InvalidInput as reason:
        raise InvalidInput(f"{reason} ({situation})") from reason
    except Exception as reason:
        told = f"{trial.name}: got {type(reason).__name__} {situation} ({first_line(reason)})"
        need = "a step that can be taken there"
        raise InvalidInput(f"{told}, need {need}; {advice}") from reason
