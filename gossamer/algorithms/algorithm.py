"""What every decentralized method is: frozen hyper-parameters, `init` and `step`."""

import dataclasses
import inspect
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Interval, admissible_sets
from gossamer.algorithms.local import Shapes
from gossamer.algorithms.mixing import Mix, takes_functions
from gossamer.algorithms.schedule import Schedule, as_schedule
from gossamer.errors import require

StateT = TypeVar("StateT", bound=tuple[Tensor, ...])


class Stateless(NamedTuple):
    """The state of a method that remembers nothing."""


@dataclass(frozen=True)
class Algorithm(ABC, Generic[StateT]):
    """A decentralized method, written once for any leading axes and any `mix`.

    Tensors end in the parameter axis and every norm is over that axis; `mix` is the only
    communication. In the simulator tensors are `(nodes, runs, dim)` and `mix` is one product
    with W; on real processes they are `(dim,)` and `mix` exchanges buffers with the neighbours.
    A method pulls opinions, `mix.pull(x)`, and pushes totals, `mix.push(y)`: see `Mix`.

    A subclass is a frozen dataclass of hyper-parameters annotated with their admissible sets
    (`Positive`, `Fraction`, …), which are checked on construction. In place of a number it takes a
    `Schedule`, or a function of t: then what is checked on construction are the steps where the
    schedule turns, of a function the first one, and all others before they are taken.
    """

    label: ClassVar[str] = ""
    """What papers, tables and figures call the method; by default the name of its class."""

    tracker: ClassVar[str | None] = None
    """Name of the state field that tracks the network's average gradient, if there is one."""

    pushes: ClassVar[tuple[str, ...]] = ()
    """Names of the state fields that are totals, which the step pushes; by default the tracker.

    A method that pushes nothing needs a balanced network, or `PushSum`.
    """

    needs_symmetric: ClassVar[bool] = False
    """Whether it needs W = Wᵀ in every round, and is refused where there is none."""

    asks_local: ClassVar[bool] = False
    """Whether `step` has one more argument, `local`: see `Local`."""

    asks_shapes_only: ClassVar[bool] = False
    """Whether that argument is annotated as `Shapes`, which is no more than shapes."""

    scheduled: ClassVar[tuple[str, ...]] = ()
    """Names of the hyper-parameters that a schedule gives; set on the methods that have some."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "label" not in vars(cls):
            cls.label = cls.__name__
        if "__repr__" not in vars(cls):
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # else @dataclass writes one
        if "tracker" in vars(cls) and "pushes" not in vars(cls):
            cls.pushes = (cls.tracker,) if cls.tracker else ()
        if "step" in vars(cls):
            asked = inspect.signature(cls.step).parameters.get("local")
            cls.asks_local = asked is not None
            cls.asks_shapes_only = asked is not None and asked.annotation in (Shapes, "Shapes")
            cls.step = takes_functions(cls.step)  # type: ignore[method-assign]

    @abstractmethod
    def init(self, x: Tensor) -> StateT:
        """State before step 0: a NamedTuple of tensors like the parameters `x`.

        A total that is pushed begins as `total_like(x)`, which no rounding will bias. What is one
        number per node is like `x[..., :1]`.
        """

    @abstractmethod
    def step(
        self, t: int, x: Tensor, grad: Tensor, state: StateT, mix: Mix
    ) -> tuple[Tensor, StateT]:
        """Step `t` = 0, 1, …: from xᵗ and the stochastic gradient at xᵗ to xᵗ⁺¹; pure.

        Whoever calls it may give a plain function z ↦ W z as `mix`; it arrives with both verbs. A
        step that needs a second gradient, random numbers or the shapes of the parameters has one
        more argument, `local`, see `Local`.

        On CUDA the step is compiled, and `t` and the hyper-parameters that are numbers arrive as
        tensors of no axes. Arithmetic does not notice. What needs a Python number does, e.g.
        `lrs[min(t, 2)]` or `generator.manual_seed(t)`: such a step is run as it is written, with
        a warning, and is slower. In long runs on a CPU the step is called a few times, likewise
        with tensors, to be recorded and taken in C (`gossamer.native`), or is run as it is written.
        """

    def info(self, t: int, x: Tensor, grad: Tensor, state: StateT) -> dict[str, Tensor]:
        """What is worth knowing of step `t` beside its state, before it is taken; pure.

        Name → one number per point, of shape `x.shape[:-1]`, e.g. the share of coordinates that
        will be clipped. The simulator records it as metrics, and calls it only at the steps that
        are recorded. By default nothing.
        """
        return {}

    def __post_init__(self) -> None:
        for name, admissible in admissible_sets(type(self)).items():
            value = as_schedule(getattr(self, name))
            if isinstance(value, Schedule) and isinstance(admissible, Interval):
                value.require_within(name, admissible)
                object.__setattr__(self, name, value)
                object.__setattr__(self, "scheduled", (*self.scheduled, name))
            else:
                require(value in admissible, name, value, str(admissible))

    @property
    def arguments(self) -> dict[str, Any]:
        """Name → value of every hyper-parameter."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """What is told of them: all numbers, and words where they are not the default.

        >>> from gossamer.algorithms import DSGDGClip
        >>> DSGDGClip(lr=0.1, clip=1.0).hyperparameters
        {'lr': 0.1, 'clip': 1.0}
        """
        default = {field.name: field.default for field in dataclasses.fields(self)}
        given = self.arguments.items()
        return {k: v for k, v in given if not (isinstance(v, str) and v == default[k])}

    def __repr__(self) -> str:
        """How it is made."""
        said = ", ".join(f"{name}={value!r}" for name, value in self.hyperparameters.items())
        return f"{type(self).__name__}({said})"

    # ------------------------------------------------------------------ schedules

    def at(self, t: int, like: Tensor | None = None) -> Self:
        """The method of step `t`: itself, or one with the numbers that its schedules give there.

        >>> from gossamer.algorithms import DSGD, Linear
        >>> DSGD(lr=Linear(0.1, 100)).at(50)
        DSGD(lr=0.05)
        """
        return next(iter(self.along(range(t, t + 1), like)))

    def along(self, steps: range, like: Tensor | None = None) -> Iterable[Self]:
        """The method of each of these steps.

        What a schedule gives to stacked runs, `(runs, 1)`, has the precision and device of `like`.
        """
        if not self.scheduled:
            return itertools.repeat(self, len(steps))
        columns = [self._values(name, steps, like) for name in self.scheduled]
        return list(self._holding_each(zip(*columns, strict=True)))  # at once: half the time

    def _holding_each(self, rows: Iterable[Sequence[Any]]) -> Iterator[Self]:
        """`holding` for the values of `scheduled` in each row, in a hurry."""
        names, kind, shared = self.scheduled, type(self), {**vars(self), "scheduled": ()}
        for row in rows:
            held = object.__new__(kind)
            vars(held).update(shared)
            vars(held).update(zip(names, row, strict=True))
            yield held

    def _values(self, name: str, steps: range, like: Tensor | None) -> Iterable[Any]:
        """The values of a hyper-parameter at these steps, all computed and checked at once."""
        schedule = getattr(self, name)
        t = torch.arange(steps.start, steps.stop, dtype=torch.float64)
        values = schedule.values(t.view(-1, 1, 1))
        schedule.require_values(name, admissible_sets(type(self))[name], t, values)
        if not schedule.is_stacked:
            return values.flatten().tolist()
        return values.unbind() if like is None else values.to(like).unbind()

    def holding(self, values: Mapping[str, Any]) -> Self:
        """The same method with these numbers in place of its own, which are not checked."""
        held = object.__new__(type(self))
        vars(held).update(vars(self), **values)
        return held

    # ------------------------------------------------------------------ stacked runs

    def require_runs(self, runs: int) -> None:
        """Refuse hyper-parameters that do not broadcast over `runs` stacked runs."""
        schedules = {name: getattr(self, name).tensors for name in self.scheduled}
        tensors = {name: [value] for name, value in self._tensors.items()} | schedules
        for name, value in ((name, z) for name, listed in tensors.items() for z in listed):
            shape, per_run = tuple(value.shape), f"a number, or shape ({runs}, 1): one per run"
            require(shape in ((), (runs, 1)), name, f"shape {shape}", per_run)

    def to(self, *, dtype: torch.dtype, device: torch.device | str) -> Self:
        """The same method, its tensors in another precision or on another device.

        Schedules stay where they are: what they give is moved, see `along`.
        """
        cast = {name: value.to(device, dtype) for name, value in self._tensors.items()}
        return dataclasses.replace(self, **cast)

    def select(self, runs: Tensor) -> Self:
        """The same method for a subset of its stacked runs, `runs` indexing the runs axis."""
        chosen = {name: value[runs] for name, value in self._tensors.items() if value.ndim > 0}
        schedules = {name: getattr(self, name).select(runs.cpu()) for name in self.scheduled}
        return dataclasses.replace(self, **chosen, **schedules)

    @property
    def _tensors(self) -> dict[str, Tensor]:
        return {k: v for k, v in self.hyperparameters.items() if isinstance(v, Tensor)}
