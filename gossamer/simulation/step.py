"""How a method's step is evaluated: as written, or on CUDA compiled into a few fused kernels."""

import dataclasses
import inspect
import numbers
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, Interval, Mix, Shapes, admissible_sets
from gossamer.errors import first_line
from gossamer.libraries import top_of
from gossamer.native.expressions import Unsupported
from gossamer.native.recorder import Given
from gossamer.networks import Mixer
from gossamer.random_state import kept
from gossamer.simulation.trial import RUNS, Task, Trial
from gossamer.triton_language import installed

BACKENDS = {"cuda": "inductor"}
"""Kind of device → what compiles its steps; on others they are run as they are written."""

Step = Callable[..., tuple[Tensor, Any]]
"""(method, t, x, grad, state, mix) ↦ x and state of the next step; some also take a `Local`."""


def step_on(
    algorithm: type[Algorithm[Any]], dtype: torch.dtype, device: torch.device | str
) -> Step:
    """The method's `step` as it is best evaluated on a device.

    One that asks for a gradient or random numbers is evaluated as it is written: what it asks for
    is no arithmetic. Shapes are constants of the compiled program.
    """
    backend = BACKENDS.get(torch.device(device).type)
    as_written = algorithm.asks_local and not algorithm.asks_shapes_only
    if backend is None or not installed() or as_written:
        return algorithm.step
    return CompiledStep(algorithm, dtype, device, backend)


class CompiledStep:
    """`step` in as few passes over its tensors as its products with W leave.

    A mix that is more than a product is left as it is, and what is around it compiled. t and the
    hyper-parameters are handed over as tensors: another number is then the same program. A step
    that needs Python numbers fails with them; it is taken as written from then on.
    """

    def __init__(
        self,
        algorithm: type[Algorithm[Any]],
        dtype: torch.dtype,
        device: torch.device | str,
        backend: str,
    ) -> None:
        self._compiled: Step | None = _compiled(algorithm, backend)
        self._t = torch.zeros((), dtype=dtype, device=device)
        self._given: Algorithm[Any] | None = None
        self._known = False
        self._held: dict[str, tuple[float, Tensor]] = {}

    def __call__(
        self,
        algorithm: Algorithm[Any],
        t: int,
        x: Tensor,
        grad: Tensor,
        state: Any,
        mix: Mix,
        *local: Shapes,
    ) -> tuple[Tensor, Any]:
        """One step of `algorithm`."""
        if self._compiled is None:
            return algorithm.step(t, x, grad, state, mix, *local)
        if algorithm is not self._given:
            self._given, self._tensors = algorithm, self._with_tensors(algorithm)
        traced = mix if isinstance(mix, Mixer) else untraced(mix)
        try:
            self._require_no_looking_up(algorithm)
            return self._compiled(self._tensors, self._t.fill_(t), x, grad, state, traced, *local)
        except Exception as reason:
            taken = algorithm.step(t, x, grad, state, mix, *local)  # its own errors are raised here
            self._compiled = None
            warnings.warn(_taken_as_written(algorithm, reason), stacklevel=2)
            return taken

    def _require_no_looking_up(self, algorithm: Algorithm[Any]) -> None:
        """Refuse a method with a test as `t in {100, 200}`, which no tensor passes."""
        if not self._known and not is_ours(algorithm) and looks_t_up(algorithm):
            raise Unsupported("it looks t up in a set or a dictionary")
        self._known = True

    def _with_tensors(self, algorithm: Algorithm[Any]) -> Algorithm[Any]:
        """The same method, its numbers in tensors of no axes; those that changed are new."""
        values = real_numbers(algorithm)
        for name, value in values.items():
            if name not in self._held or self._held[name][0] != value:
                self._held[name] = (value, self._t.new_full((), value))  # no copy from the CPU
        return algorithm.holding({name: self._held[name][1] for name in values})


def is_ours(algorithm: Algorithm[Any]) -> bool:
    """Whether its step is known to take tensors for numbers, as one that was written here."""
    kind = getattr(type(algorithm), "_method", type(algorithm))  # that of a push-sum
    return top_of(kind.__module__) == "gossamer"


def looks_t_up(algorithm: Algorithm[Any]) -> bool:
    """Whether a step looks t up in a set or a dictionary, where tensors are told by identity."""
    few = algorithm.select(torch.zeros(RUNS, dtype=torch.int64))
    few = few.to(dtype=torch.float64, device="cpu")
    moment = lambda t: torch.tensor(float(t)).as_subclass(Given)  # noqa: E731
    try:
        with kept():
            Trial(few, Task.of(0), moment=moment).walk()
    except Unsupported:
        return True
    except Exception:  # what else may fail with a tensor is seen where the step is compiled
        return False
    return False


def untraced(mix: Mix) -> Mix:
    """The same mix, which torch.compile does not look into."""
    return _untraced_kind()(mix)


@cache
def _untraced_kind() -> Callable[[Mix], Mix]:
    """Made on first use: importing the compiler takes a second."""

    @dataclasses.dataclass(frozen=True)
    class Untraced:
        mix: Mix

        @torch.compiler.disable  # type: ignore[untyped-decorator]
        def pull(self, z: Tensor) -> Tensor:
            return self.mix.pull(z)

        @torch.compiler.disable  # type: ignore[untyped-decorator]
        def push(self, z: Tensor) -> Tensor:
            return self.mix.push(z)

    return Untraced


def _taken_as_written(algorithm: Algorithm[Any], reason: Exception) -> str:
    short = first_line(reason)
    return (
        f"{type(algorithm).__name__}.step cannot be compiled and is run as it is written, which is "
        f"slower ({type(reason).__name__}: {short}). Compiled, t and the hyper-parameters are "
        "tensors of no axes: use them in arithmetic only, not as an index, a seed or a length."
    )


@cache
def _compiled(algorithm: type[Algorithm[Any]], backend: str) -> Callable[..., Any]:
    """One program per method, whatever its numbers, network and number of runs.

    What is compiled is the step itself: what `Algorithm` wraps around it is one piece of code for
    all methods, of which torch compiles only so many variants.
    """
    warnings.filterwarnings("ignore", "TensorFloat32 tensor cores")  # advice we do not take
    return torch.compile(inspect.unwrap(algorithm.step), backend=backend)


def numeric(algorithm: type[Algorithm[Any]]) -> list[str]:
    """Names of the hyper-parameters that are numbers of an interval, not counts or words."""
    return [name for name, of in admissible_sets(algorithm).items() if isinstance(of, Interval)]


def real_numbers(algorithm: Algorithm[Any]) -> dict[str, float]:
    """The hyper-parameters that are numbers of an interval; integers that count stay as they are.

    >>> from gossamer.algorithms import DSGDGClip
    >>> real_numbers(DSGDGClip(lr=0.1, clip=torch.ones(3, 1)))
    {'lr': 0.1}
    """
    sets = admissible_sets(type(algorithm))
    return {
        name: float(value)
        for name, value in algorithm.hyperparameters.items()
        if isinstance(sets[name], Interval) and isinstance(value, numbers.Real)
    }
