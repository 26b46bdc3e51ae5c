"""What every decentralized method is: frozen hyper-parameters, `init` and `step`."""

import dataclasses
import math
import numbers
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import torch
from torch import Tensor

from gossamer.algorithms.mixing import Mix, takes_functions
from gossamer.errors import require

Scalar = float | Tensor
"""A hyper-parameter: a number, or a tensor that broadcasts over the runs axis as `(runs, 1)`."""

StateT = TypeVar("StateT", bound=tuple[Tensor, ...])


@dataclass(frozen=True)
class Interval:
    """The admissible set of a hyper-parameter, an interval of finite numbers."""

    low: float
    high: float
    closed_low: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, numbers.Real | Tensor):
            return False
        number = value if isinstance(value, Tensor) else float(value)
        inside = (number >= self.low) if self.closed_low else (number > self.low)
        return bool(torch.as_tensor(inside & (number < self.high)).all())

    def begins_at(self, value: Scalar) -> bool:
        """Whether `value` is the least admissible number."""
        return self.closed_low and bool(torch.as_tensor(value == self.low).all())

    def __str__(self) -> str:
        high = "∞" if math.isinf(self.high) else f"{self.high:g}"
        low = "-∞" if math.isinf(self.low) else f"{self.low:g}"
        return f"a number in {'[' if self.closed_low else '('}{low}, {high})"


@dataclass(frozen=True)
class OneOf:
    """The admissible set of a hyper-parameter that is a word."""

    words: tuple[str, ...]

    def __contains__(self, value: object) -> bool:
        return value in self.words

    def __str__(self) -> str:
        return "one of " + ", ".join(map(repr, self.words))


Positive = Annotated[Scalar, Interval(0, math.inf)]
StepSize = Annotated[Scalar, Interval(0, math.inf, closed_low=True)]  # schedules pass through 0
Fraction = Annotated[Scalar, Interval(0, 1, closed_low=True)]
Real = Annotated[Scalar, Interval(-math.inf, math.inf)]

Order = Literal["adapt-then-combine", "combine-then-adapt"]


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
    (`Positive`, `Fraction`, …), which are checked on construction.
    """

    label: ClassVar[str] = ""
    """What papers, tables and figures call the method; by default the name of its class."""

    tracker: ClassVar[str | None] = None
    """Name of the state field that tracks the network's average gradient, if there is one."""

    pushes: ClassVar[tuple[str, ...]] = ()
    """Names of the state fields that are totals, which the step pushes; by default the tracker.

    A method that pushes nothing needs a balanced network, or `PushSum`.
    """

    gradients_per_step: ClassVar[int] = 1
    """How many gradients a node evaluates in a step, for the record of what a run costs."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "label" not in vars(cls):
            cls.label = cls.__name__
        if "tracker" in vars(cls) and "pushes" not in vars(cls):
            cls.pushes = (cls.tracker,) if cls.tracker else ()
        if "step" in vars(cls):
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

        Whoever calls it may give a plain function z ↦ W z as `mix`; it arrives with both verbs.

        On CUDA the step is compiled, and `t` and the hyper-parameters that are numbers arrive as
        tensors of no axes. Arithmetic does not notice. What needs a Python number does, e.g.
        `lrs[min(t, 2)]` or `generator.manual_seed(t)`: such a step is run as it is written, with
        a warning, and is slower.
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
            value = getattr(self, name)
            require(value in admissible, name, value, str(admissible))

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """Name → value of every hyper-parameter."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def require_runs(self, runs: int) -> None:
        """Refuse hyper-parameters that do not broadcast over `runs` stacked runs."""
        for name, value in self._tensors.items():
            shape, per_run = tuple(value.shape), f"a number, or shape ({runs}, 1): one per run"
            require(shape in ((), (runs, 1)), name, f"shape {shape}", per_run)

    def to(self, *, dtype: torch.dtype, device: torch.device | str) -> Self:
        """The same method, its tensors in another precision or on another device."""
        cast = {name: value.to(device, dtype) for name, value in self._tensors.items()}
        return dataclasses.replace(self, **cast)

    def select(self, runs: Tensor) -> Self:
        """The same method for a subset of its stacked runs, `runs` indexing the runs axis."""
        chosen = {name: value[runs] for name, value in self._tensors.items() if value.ndim > 0}
        return dataclasses.replace(self, **chosen)

    @property
    def _tensors(self) -> dict[str, Tensor]:
        return {k: v for k, v in self.hyperparameters.items() if isinstance(v, Tensor)}


@cache
def admissible_sets(algorithm: type[Algorithm[Any]]) -> dict[str, Interval | OneOf]:
    """Hyper-parameter name → its admissible set.

    >>> from gossamer.algorithms import GTNSGDm
    >>> print(admissible_sets(GTNSGDm)["momentum"])
    a number in [0, 1)
    """
    hints = get_type_hints(algorithm, include_extras=True)
    names = [field.name for field in dataclasses.fields(algorithm)]
    return {name: _admissible(name, hints[name]) for name in names}


def _admissible(name: str, hint: Any) -> Interval | OneOf:
    if get_origin(hint) is Literal:
        return OneOf(get_args(hint))
    sets = [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Interval)]
    need = "an admissible set, e.g. Positive, Fraction or Real of gossamer.algorithms"
    require(len(sets) == 1, name, f"the annotation {hint}", need)
    return sets[0]
