"""A function of tensors as a CUDA graph: recorded once, then replayed as one launch."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor

AS_WRITTEN = 2
"""Calls that are taken as the function is written, in which libraries and compilers settle."""

BRANCHES = 8
"""Jobs that a GPU does side by side."""

Result = Any
"""A tensor, or tuples of tensors."""


class Captured:
    """`function` of tensors, on CUDA as one launch after it was called a few times alike.

    The function must be pure, read nothing but its arguments and tensors that stay where they are,
    and never wait for the GPU. It may draw from torch's default generator and from `generators`: a
    replay draws from the state that they have then. A function that cannot be captured goes on as
    it is written, and `refusal` tells why.

    What a call returns is the graph's own: the next call overwrites it. Only the graph of the last
    shapes is kept, and with it all the memory it needs. What holds this object should therefore not
    be held by `function`: both would stay until Python looks for garbage. On a CPU, and while
    another function is captured, it is called as it is written.

    Args:
        function: of tensors on one device, to a tensor or tuples of tensors.
        generators: what it draws from, beside the default generator.

    >>> double = Captured(lambda z: 2 * z)
    >>> double(torch.ones(1)), double.replays
    (tensor([2.]), False)
    """

    def __init__(
        self,
        function: Callable[..., Result],
        generators: Sequence[torch.Generator] = (),
    ) -> None:
        self.function, self.generators = function, tuple(generators)
        self.refusal: Exception | None = None
        self._alike: list[tuple[torch.Size, torch.dtype, torch.device]] | None = None
        self._calls = 0
        self._graph: Graph | None = None

    @property
    def replays(self) -> bool:
        """Whether the last call was a replay."""
        return self._graph is not None

    def __call__(self, *arguments: Tensor) -> Result:
        """`function(*arguments)`."""
        if not self._can_capture(_device(arguments, self.generators)):
            return self.function(*arguments)
        alike = [(z.shape, z.dtype, z.device) for z in arguments]
        if alike != self._alike:
            self.forget()
        self._alike, self._calls = alike, self._calls + 1
        if self._calls == AS_WRITTEN + 1:
            self._graph = self._capture(arguments)
        return self.function(*arguments) if self._graph is None else self._graph(*arguments)

    def forget(self) -> None:
        """Begin anew: the next calls are taken as the function is written."""
        self._alike, self._calls, self._graph = None, 0, None

    def _can_capture(self, device: torch.device) -> bool:
        free = device.type == "cuda" and not torch.cuda.is_current_stream_capturing()
        return free and self.refusal is None

    def _capture(self, arguments: Sequence[Tensor]) -> "Graph | None":
        try:
            return Graph(self.function, arguments, self.generators)
        except Exception as reason:  # whatever a capture does not allow, the function can do
            _leave_capture(self.generators)
            self.refusal = reason
            return None
        finally:
            _captured.add(self)

    def __getstate__(self) -> dict[str, Any]:
        """Without the graph, which another process captures for itself."""
        return vars(Captured(self.function, self.generators))


class Graph:
    """`function` recorded on copies of `arguments`, into which those of a call are copied.

    Args:
        function: of tensors.
        arguments: examples of them.
        generators: what it draws from, beside the default generator.
    """

    def __init__(
        self,
        function: Callable[..., Result],
        arguments: Sequence[Tensor],
        generators: Sequence[torch.Generator],
    ) -> None:
        self._arguments = [argument.contiguous().clone() for argument in arguments]
        self._graph, device = torch.cuda.CUDAGraph(), _device(arguments, generators)
        for generator in generators:
            self._graph.register_generator_state(generator)
        states = [generator.get_state() for generator in generators]
        own_random_state = torch.random.fork_rng([device])
        capture = torch.cuda.graph(self._graph, stream=_trunk(device))
        with torch.cuda.device(device), own_random_state, _without_collection(), capture:
            self._result = function(*self._arguments)
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)

    def __call__(self, *arguments: Tensor) -> Result:
        """The result for other arguments."""
        for held, argument in zip(self._arguments, arguments, strict=True):
            held.copy_(argument)
        self._graph.replay()
        return self._result


@contextmanager
def _without_collection() -> Iterator[None]:
    """Within, Python collects no garbage: graphs among it cannot be let go during a capture."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _device(arguments: Sequence[Tensor], generators: Sequence[torch.Generator]) -> torch.device:
    return arguments[0].device if arguments else generators[0].device


_captured: WeakSet[Captured] = WeakSet()
"""What has been captured, and is still there."""


def _leave_capture(generators: Sequence[torch.Generator]) -> None:
    """Let generators draw outside of graphs again, which a capture that failed does not.

    They get new states, of which the graphs that there are would not know: all begin anew.
    """
    for generator in (*torch.cuda.default_generators, *generators):
        generator.graphsafe_set_state(generator.clone_state())
    for one in _captured:
        one.forget()


def side_by_side(jobs: Iterable[Callable[[], None]], device: torch.device) -> None:
    """Do all jobs, on CUDA in branches beside each other, before what follows; else in turn."""
    if device.type != "cuda":
        for job in jobs:
            job()
        return
    main, branches = torch.cuda.current_stream(device), _branches(device)
    for branch in branches:
        branch.wait_stream(main)
    for k, job in enumerate(jobs):
        with torch.cuda.stream(branches[k % len(branches)]):
            job()
    for branch in branches:
        main.wait_stream(branch)


class Aside:
    """Jobs on CUDA in a branch beside what follows; on a CPU done at once.

    Args:
        device: where the jobs are done.
        branch: which of the branches: those of one number wait for each other.

    >>> aside, z = Aside(torch.device("cpu")), torch.ones(2)
    >>> aside.do(torch.Tensor.zero_, z)
    >>> aside.wait()
    >>> z
    tensor([0., 0.])
    """

    def __init__(self, device: torch.device, branch: int = 0) -> None:
        self._branch = _branches(device)[branch] if device.type == "cuda" else None
        self._held: list[Tensor] = []

    def do(self, job: Callable[..., object], *tensors: Tensor) -> None:
        """`job(*tensors)`, after what has been done; their memory is kept until `wait`."""
        if self._branch is None:
            job(*tensors)
            return
        self._held += tensors
        self._branch.wait_stream(torch.cuda.current_stream(self._branch.device))
        with torch.cuda.stream(self._branch):
            job(*tensors)

    def wait(self) -> None:
        """What follows comes after all jobs."""
        if self._branch is not None and self._held:
            torch.cuda.current_stream(self._branch.device).wait_stream(self._branch)
        self._held.clear()


@cache
def _trunk(device: torch.device) -> torch.cuda.Stream:
    """What is captured here goes before what its branches do."""
    return torch.cuda.Stream(device, priority=-1)


@cache
def _branches(device: torch.device) -> list[torch.cuda.Stream]:
    return [torch.cuda.Stream(device) for _ in range(BRANCHES)]
