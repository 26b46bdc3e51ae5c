"""A function of tensors captured once as a CUDA graph and replayed without its launches."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

WARM_UP = 3
"""Calls before the capture, in which libraries and compilers settle."""


class CapturedFunction:
    """`function` on tensors of the shapes and dtypes of `examples`, as one launch.

    Arguments are copied into buffers of the examples' dtype. What a call returns is the graph's
    own tensor: the next call overwrites it.
    """

    def __init__(self, function: Callable[..., Tensor], examples: Sequence[Tensor]) -> None:
        self._arguments = [example.contiguous().clone() for example in examples]
        self._graph = torch.cuda.CUDAGraph()
        with torch.random.fork_rng([self._arguments[0].device]):
            self._warm_up(function)
            with torch.cuda.graph(self._graph):
                self._result = function(*self._arguments)

    def _warm_up(self, function: Callable[..., Tensor]) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                function(*self._arguments)
        torch.cuda.current_stream().wait_stream(side)

    def __call__(self, *arguments: Tensor) -> Tensor:
        """The result for other arguments."""
        for held, argument in zip(self._arguments, arguments, strict=True):
            held.copy_(argument)
        self._graph.replay()
        return self._result
