"""What `init` and `step` return, refused where the next step cannot begin with it."""

from typing import Any

from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.errors import require


def require_taken(algorithm: Algorithm[Any], taken: Any, x: Tensor) -> None:
    """Refuse anything but the next parameters, in the shape of `x`, and the next state."""
    name = f"step of {type(algorithm).__name__}"
    pair = isinstance(taken, tuple | list) and len(taken) == 2 and isinstance(taken[0], Tensor)
    need = "the pair of the next parameters and the next state"
    require(pair, name, f"a result of type {type(taken).__name__}", need, "return x, state")
    found, need = f"parameters of shape {tuple(taken[0].shape)}", f"the shape of x, {(*x.shape,)}"
    require(taken[0].shape == x.shape, name, found, need, "sums over the last axis need keepdim")


def require_state(state: Any, x: Tensor) -> None:
    """What both engines can take apart: runs are selected, and buffers saved, field by field."""
    fields = state if hasattr(state, "_fields") else [None]
    leading = x.shape[:-1]
    like_x = all(getattr(field, "shape", ())[: x.ndim - 1] == leading for field in fields)
    found, need = f"a state of type {type(state).__name__}", "a NamedTuple of tensors like x"
    require(like_x, "init", found, need, "a method without memory returns Stateless()")
