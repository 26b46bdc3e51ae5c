"""What is measured of a stack, one number per run.

Norms are Euclidean over the parameters; x̄ = (1/n) Σ x_i is the network's average.
"""

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.errors import InvalidInput, refuse, require
from gossamer.problems import Problem
from gossamer.simulation.stack import Stack

ELEMENTS_AT_ONCE = 2**21
"""Elements of the largest tensor built when ∇f is evaluated at every node's point."""

Measure = Callable[[Stack], Tensor]
"""From a stack to one number per run, `(runs,)`."""


@dataclass(frozen=True)
class Metric:
    """A function from a `Stack` to one number per run, as made by the decorator `metric`."""

    measure: Measure

    needs: tuple[str, ...] = ()
    """Attributes of the stack without which it cannot be measured, e.g. "state.y"."""

    vanishes: bool = False
    """Whether its least value is known to be 0, so that `Halving` may forecast it."""

    @property
    def name(self) -> str:
        """The name of the function, under which the metric is recorded."""
        return str(getattr(self.measure, "__name__", self.measure))

    def __call__(self, stack: Stack) -> Tensor:
        """One number per run."""
        try:
            values = self.measure(stack)
        except AttributeError as reason:
            method = type(stack.algorithm).label
            raise InvalidInput(
                f"metrics: {self.name} cannot be measured with {method} ({reason}); say what it "
                'needs, e.g. @gs.metric(needs=["state.y"]), and it is left out there'
            ) from reason
        runs = tuple(stack.runs.shape)
        fits = isinstance(values, Tensor) and values.shape == runs
        found = f"shape {tuple(values.shape)}" if isinstance(values, Tensor) else repr(values)
        require(fits, self.name, found, f"a tensor of shape {runs}: one number per run")
        return values

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by the name it is bound to, which hides that of its function."""
        module, name = getattr(self.measure, "__module__", ""), self.name
        if getattr(sys.modules.get(module), name, None) is self:
            return (_bound_to, (module, name))
        return (type(self), (self.measure, self.needs, self.vanishes))

    def missing(self, stack: Stack) -> str | None:
        """The first attribute in `needs` that the stack lacks, or None."""
        return next((need for need in self.needs if not _has(stack, need)), None)


def _bound_to(module: str, name: str) -> object:
    return getattr(importlib.import_module(module), name)


def metric(*, needs: Sequence[str] = (), vanishes: bool = False) -> Callable[[Measure], Metric]:
    """Decorator that turns a function from a `Stack` to one number per run into a `Metric`.

    Functions without it can be used as metrics, too, if they need nothing that may be absent.

    Args:
        needs: attributes of the stack without which the metric cannot be measured. If one of them
            is absent, None or False, the metric is left out, or refused if you asked for it.
        vanishes: whether the metric's least value is known to be 0.

    >>> @metric(needs=["state.v"], vanishes=True)
    ... def estimator_norm(stack):
    ...     return stack.state.v.norm(dim=-1).mean(0)
    >>> estimator_norm.name
    'estimator_norm'
    """
    return lambda measure: Metric(measure, tuple(needs), vanishes)


def _has(stack: Stack, path: str) -> bool:
    value: object = stack
    for name in path.split("."):
        value = getattr(value, name, None)
    return value is not None and value is not False


@metric(needs=["problem.optimum"], vanishes=True)
def error(stack: Stack) -> Tensor:
    """(1/n) Σ ‖x_i − x*‖, the paper's average estimation error."""
    assert stack.problem.optimum is not None
    return _mean_norm(stack.x - stack.problem.optimum)


@metric()
def loss(stack: Stack) -> Tensor:
    """f(x̄), the global objective at the network's average."""
    return stack.problem.loss(stack.x.mean(0))


@metric(needs=["problem.has_validation"])
def validation_loss(stack: Stack) -> Tensor:
    """The loss of x̄ on data held out."""
    return stack.problem.validation_loss(stack.x.mean(0))


@metric(needs=["problem.has_accuracy"])
def error_rate(stack: Stack) -> Tensor:
    """The share of wrong answers of x̄, 1 − accuracy."""
    return 1 - stack.problem.accuracy(stack.x.mean(0))


@metric(vanishes=True)
def grad_norm(stack: Stack) -> Tensor:
    """(1/n) Σ ‖∇f(x_i)‖, the quantity the theorems bound."""
    nodes, runs, dim = stack.x.shape
    points = stack.x.reshape(nodes * runs, dim)
    grads, at_once = torch.empty_like(points), max(1, ELEMENTS_AT_ONCE // (nodes * dim))
    for piece, there in zip(points.split(at_once), grads.split(at_once), strict=True):
        there.copy_(stack.problem.grad(piece))  # no small result stays among freed large ones
    return _mean_norm(grads.view(nodes, runs, dim))


@metric(vanishes=True)
def consensus_error(stack: Stack) -> Tensor:
    """(1/n) Σ ‖x_i − x̄‖, how far the nodes disagree."""
    return _mean_norm(stack.x - stack.x.mean(0))


@metric(needs=["algorithm.tracker"], vanishes=True)
def tracker_error(stack: Stack) -> Tensor:
    """(1/n) Σ ‖y_i − (1/n) Σ_r ∇f_r(x_r)‖: how far the trackers are from what they track.

    y is the tracker of the last step taken, ∇f_r(x_r) the exact gradients at the points it led to.
    """
    assert stack.algorithm.tracker is not None
    tracked = stack.problem.local_grad(stack.x).mean(0)
    return _mean_norm(getattr(stack.state, stack.algorithm.tracker) - tracked)


def _mean_norm(z: Tensor) -> Tensor:
    return torch.linalg.vector_norm(z, dim=-1).mean(0)


METRICS: dict[str, Measure] = {
    known.name: known
    for known in (
        error,
        loss,
        validation_loss,
        error_rate,
        grad_norm,
        consensus_error,
        tracker_error,
    )
}
"""Name → metric; one put here is recorded wherever what it needs is there."""


AT_EVERY_POINT = ("grad_norm",)
"""Metrics that evaluate ∇f at every node's point, which takes n times as long as a step."""

MANY_NODES = 1000
"""Most nodes for which they are recorded without being asked for."""

OF_ALL_DATA = ("grad_norm", "tracker_error")
"""Metrics that evaluate ∇f_i, which is slow if a node has many samples of a large model."""


COSTS = ("gradients", "messages", "bytes", "seconds")
"""What is recorded beside the metrics, and says nothing about how good a method is.

"gradients": evaluated by a node so far. "messages" and "bytes": sent by a node so far, lost ones
among them, the mean over the nodes. "seconds": when the last node has taken the step, by a `Clock`.
"""


def main_metric(problem: Problem) -> str:
    """The metric that a problem is judged by: "error", or "loss" if the optimum is unknown."""
    return "loss" if problem.optimum is None else "error"


def available_metrics(stack: Stack) -> dict[str, Metric]:
    """Name → metric, for all metrics that can be measured on this stack.

    These are the metrics in `METRICS` whose needs are met (the error, e.g., needs a known optimum),
    and then the numbers in the method's `info`.
    """
    known = {name: _as_metric(measure) for name, measure in METRICS.items()}
    here = {name: metric for name, metric in known.items() if metric.missing(stack) is None}
    return here | _told_by_the_method(stack)


def choose_metrics(asked: Sequence[str | Measure] | None, stack: Stack) -> dict[str, Metric]:
    """Those asked for, by name or as functions of a stack; by default all that exist here.

    What takes much longer than the run itself has to be asked for. Costs may be among those asked
    for; they are recorded anyway, and not by a function.
    """
    if asked is None:
        here, left_out = available_metrics(stack), _slow(stack.problem)
        return {name: metric for name, metric in here.items() if name not in left_out}
    asked = [one for one in asked if one not in COSTS]
    chosen = {metric_name(one): _choose(one, stack) for one in asked}
    require(len(chosen) == len(asked), "metrics", list(map(metric_name, asked)), "each name once")
    return chosen


def _slow(problem: Problem) -> tuple[str, ...]:
    """Metrics that take much longer than the steps between two records."""
    if problem.slow_gradients:
        return OF_ALL_DATA
    return AT_EVERY_POINT if problem.num_nodes > MANY_NODES else ()


def metric_name(asked: str | Measure) -> str:
    """Under which a metric is recorded; a function needs a name of its own."""
    name = asked if isinstance(asked, str) else _as_metric(asked).name
    need = 'names or functions of a stack with a name, e.g. ["error", my_function]'
    require(name.isidentifier(), "metrics", repr(asked), need)
    own = isinstance(asked, str) or name not in COSTS
    need = f"a name other than {', '.join(COSTS)}"
    require(own, "metrics", f"a function called {name!r}", need)
    return name


def _choose(asked: str | Measure, stack: Stack) -> Metric:
    measure = METRICS.get(asked) if isinstance(asked, str) else asked
    if measure is None:
        told = _told_by_the_method(stack)
        return told[str(asked)] if asked in told else _refuse_metric(repr(asked), stack)
    metric = _as_metric(measure)
    missing = metric.missing(stack)
    if missing:
        _refuse_metric(f"{metric.name!r}, which needs {missing}", stack)
    return metric


def _refuse_metric(found: str, stack: Stack) -> NoReturn:
    here = f"on this problem with {type(stack.algorithm).label}"
    among = f"names among {', '.join(available_metrics(stack))} {here}, or functions of a stack"
    refuse("metrics", found, among)


def _as_metric(measure: Measure) -> Metric:
    require(callable(measure), "metrics", repr(measure), "names, or functions of a stack")
    return measure if isinstance(measure, Metric) else Metric(measure)


def _told_by_the_method(stack: Stack) -> dict[str, Metric]:
    """A metric for every number of the method's `info`."""
    if type(stack.algorithm).info is Algorithm.info:
        return {}
    return {name: Metric(partial(_told, name)) for name in stack.info()}


def _told(name: str, stack: Stack) -> Tensor:
    return stack.info()[name]
