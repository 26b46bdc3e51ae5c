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

from gossamer.algorithms.admissible import admissible_sets
from gossamer.algorithms.local import Shapes
from gossamer.algorithms.mixing import Mix, takes_functions
from gossamer.algorithms.schedule import Schedule, as_schedule
from gossamer.errors import require
from gossamer.interval import Interval

StateT = TypeVar("StateT", bound=tuple[Tensor, ...])


class Stateless(NamedTuple):
    """The empty state of a method that remembers nothing."""


@dataclass(frozen=True)
class Algorithm(ABC, Generic[StateT]):
    """A decentralized method: the same code runs in the simulator and on real processes.

    The last axis of every tensor holds the parameters, and every norm is over that axis. In the
    simulator tensors have the shape `(nodes, runs, dim)`, and `mix` multiplies by W. On a real
    process they have the shape `(dim,)`, and `mix` exchanges messages with the neighbours. There is
    no other communication. `mix.pull(x)` averages the parameters. `mix.push(y)` mixes quantities
    whose sum over the nodes must not change, e.g. trackers (see `Mix`).

    A subclass is a frozen dataclass. Its fields are the hyper-parameters, annotated with their
    admissible sets (`Positive`, `Fraction`, …). Values are checked on construction. Instead of a
    number you can give a `Schedule` or a function of t. On construction a schedule is checked at
    its `turns` (the steps at which it is largest or smallest, as far as these are known) and a
    function at step 0; all other steps are checked before they are executed.
    """

    label: ClassVar[str] = ""
    """Name of the method in papers, tables and figures; by default the name of its class."""

    tracker: ClassVar[str | None] = None
    """Name of the state field that tracks the network's average gradient, if there is one."""

    pushes: ClassVar[tuple[str, ...]] = ()
    """Names of the state fields that are totals (see `Mix`); by default only the tracker.

    A method without totals is refused on networks that are not balanced; wrap it in `PushSum`.
    """

    needs_symmetric: ClassVar[bool] = False
    """Whether the method needs W = Wᵀ in every round; it is refused on other networks."""

    state_is_own: ClassVar[bool] = False
    """Whether the state depends on the gradients of its own node only, as a local momentum does.

    Such a state is kept when nodes leave a run or join it. Any other restarts from `init(x)`,
    because it may hold shares of nodes that are gone: e.g. trackers, or corrections that sum to 0.
    A class that has a `step` of its own must say so itself.
    """

    asks_local: ClassVar[bool] = False
    """Whether `step` has the additional argument `local` (see `Local`)."""

    asks_shapes_only: ClassVar[bool] = False
    """Whether `local` is annotated as `Shapes`, because `step` needs only the shapes from it."""

    scheduled: ClassVar[tuple[str, ...]] = ()
    """Names of the hyper-parameters for which this method was given a schedule."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "label" not in vars(cls):
            cls.label = cls.__name__
        if "__repr__" not in vars(cls):
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # else @dataclass writes one
        if "tracker" in vars(cls) and "pushes" not in vars(cls):
            cls.pushes = (cls.tracker,) if cls.tracker else ()
        if "step" in vars(cls):
            cls.state_is_own = vars(cls).get("state_is_own", False)  # of this step, not of another
            asked = inspect.signature(cls.step).parameters.get("local")
            cls.asks_local = asked is not None
            cls.asks_shapes_only = asked is not None and asked.annotation in (Shapes, "Shapes")
            cls.step = takes_functions(cls.step)  # type: ignore[method-assign]

    @abstractmethod
    def init(self, x: Tensor) -> StateT:
        """The state before step 0, a NamedTuple of tensors shaped like the parameters `x`.

        A total (see `Mix`) starts as `total_like(x)`, i.e. as 0 in float64, so that rounding hardly
        changes its sum. A field with one number per node has the shape of `x[..., :1]`.
        """

    @abstractmethod
    def step(
        self, t: int, x: Tensor, grad: Tensor, state: StateT, mix: Mix
    ) -> tuple[Tensor, StateT]:
        """Step `t` = 0, 1, …, from xᵗ and the stochastic gradient at xᵗ to xᵗ⁺¹; a pure function.

        The caller may also pass a plain function z ↦ W z as `mix`, which is then used for both pull
        and push. A step that needs a second gradient, random numbers or the shapes of the
        parameters has one more argument, `local`: see `Local`.

        On CUDA the step is compiled, and `t` and the real-valued hyper-parameters are passed to it
        as scalar tensors. These work in arithmetic, but not in code that needs a Python
        number, such as `lrs[min(t, 2)]` or `generator.manual_seed(t)`. A step with such code is not
        compiled but run as written, which is slower, and a warning says so. On a CPU, long runs
        translate the step to C (`gossamer.native`): they call it a few times with such tensors and
        record its operations. If this fails, the step runs as written.
        """

    def info(self, t: int, x: Tensor, grad: Tensor, state: StateT) -> dict[str, Tensor]:
        """Numbers about step `t` to record as metrics, computed before the step; a pure function.

        Returns name → tensor of shape `x.shape[:-1]`, i.e. one number for each node and run, e.g.
        the share of coordinates that will be clipped. The simulator calls `info` only at the steps
        that are recorded, and averages the numbers over the nodes. By default there are none.
        """
        return {}

    def __post_init__(self) -> None:
        for name, admissible in admissible_sets(type(self)).items():
            value = as_schedule(getattr(self, name))
            object.__setattr__(self, name, value)
            if isinstance(value, Schedule) and isinstance(admissible, Interval):
                value.require_within(name, admissible)
                object.__setattr__(self, "scheduled", (*self.scheduled, name))
            else:
                found = repr(value) if isinstance(value, str) else value
                require(value in admissible, name, found, str(admissible))

    @property
    def arguments(self) -> dict[str, Any]:
        """Name → value of every hyper-parameter."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """Name → value of the hyper-parameters.

        Hyper-parameters that are strings, such as `order`, are left out if they have their default
        value.

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
        """The method with each schedule replaced by its value at step `t`.

        >>> from gossamer.algorithms import DSGD, Linear
        >>> DSGD(lr=Linear(0.1, 100)).at(50)
        DSGD(lr=0.05)
        """
        return next(iter(self.along(range(t, t + 1), like)))

    def along(self, steps: range, like: Tensor | None = None) -> Iterable[Self]:
        """The method at each of these steps, with schedules replaced by their values as in `at`.

        For stacked runs these values are tensors `(runs, 1)`, in the precision and on the device of
        `like`.
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
        """The same method with other hyper-parameters, name → value, which are not checked."""
        held = object.__new__(type(self))
        vars(held).update(vars(self), **values)
        return held

    # ------------------------------------------------------------------ stacked runs

    def require_runs(self, runs: int) -> None:
        """Refuse hyper-parameters whose shape does not fit a stack of this many runs."""
        schedules = {name: getattr(self, name).tensors for name in self.scheduled}
        tensors = {name: [value] for name, value in self.tensors.items()} | schedules
        for name, value in ((name, z) for name, listed in tensors.items() for z in listed):
            shape, per_run = tuple(value.shape), f"a number, or shape ({runs}, 1): one per run"
            require(shape in ((), (runs, 1)), name, f"shape {shape}", per_run)

    def to(self, *, dtype: torch.dtype, device: torch.device | str) -> Self:
        """The same method with its tensors in another precision or on another device.

        Schedules stay on the CPU in float64; `along` converts their values.
        """
        cast = {name: value.to(device, dtype) for name, value in self.tensors.items()}
        return dataclasses.replace(self, **cast)

    def select(self, runs: Tensor) -> Self:
        """The same method for those of its stacked runs whose indices are in `runs`."""
        chosen = {name: value[runs] for name, value in self.tensors.items() if value.ndim > 0}
        schedules = {name: getattr(self, name).select(runs.cpu()) for name in self.scheduled}
        return dataclasses.replace(self, **chosen, **schedules)

    @property
    def tensors(self) -> dict[str, Tensor]:
        """Name → value of the hyper-parameters that are tensors, with one number per run."""
        return {k: v for k, v in self.hyperparameters.items() if isinstance(v, Tensor)}
