"""Layers of a model that have kernels of their own on a GPU, in place of torch's."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from gossamer.problems.by_kernels import Kernels, by_kernels
from gossamer.problems.group_norm import MOST_NUMBERS, group_places, norm_grads, normalized
from gossamer.problems.narrow_convolution import MOST_CHANNELS, convolved, filter_grad
from gossamer.triton_language import installed

Pair = int | Sequence[int]
"""A number for both axes of an image, or one for each."""


class OwnKernels(TorchFunctionMode):
    """Within, layers of tensors in float32 on CUDA use kernels of their own where these fit."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Every call of torch passes here."""
        return LAYERS.get(func, func)(*args, **(kwargs or {}))


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """`functional.conv2d`, with kernels for 3 × 3 filters between few channels."""
    narrow = weight.shape[2:] == (3, 3) and max(weight.shape[:2]) <= MOST_CHANNELS
    dense = groups == 1 and all(_is_one(option) for option in (stride, padding, dilation))
    if not (narrow and dense and input.ndim == 4 and _are_known(input, weight)):
        return functional.conv2d(input, weight, bias, stride, padding, dilation, groups)
    y = by_kernels(CONVOLUTION, input, weight)
    return y if bias is None else y + bias[:, None, None]


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """`functional.group_norm`, with kernels for groups that fit into a program."""
    if weight is None or bias is None or not _are_known(input, weight, bias):
        return functional.group_norm(input, num_groups, weight, bias, eps)
    channels, area = group_places(input, num_groups)
    if channels * area > MOST_NUMBERS:
        return functional.group_norm(input, num_groups, weight, bias, eps)
    return by_kernels(_group_norm(num_groups, eps), input, weight, bias)


LAYERS: dict[Callable[..., Any], Callable[..., Any]] = {
    functional.conv2d: conv2d,
    functional.group_norm: group_norm,
}
"""torch's function → ours of the same arguments."""


def _convolution_grads(
    needed: Sequence[bool], grad: Tensor, x: Tensor, w: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    d_x = convolved(grad, w, back=True) if needed[0] else None
    return d_x, filter_grad(grad, x) if needed[1] else None


CONVOLUTION = Kernels(partial(functional.conv2d, padding=1), convolved, _convolution_grads)


def _group_norm(groups: int, eps: float) -> Kernels:
    return Kernels(
        lambda x, weight, bias: functional.group_norm(x, groups, weight, bias, eps),
        lambda x, weight, bias: normalized(x, weight, bias, groups, eps),
        lambda needed, grad, x, weight, bias: norm_grads(grad, x, weight, groups, eps),
    )


def _is_one(option: Pair | str) -> bool:
    return option == 1 or (not isinstance(option, int | str) and set(option) == {1})


def _are_known(*tensors: Tensor) -> bool:
    """Whether the kernels know such tensors, and no function of torch.func has wrapped them."""
    known = all(z.dtype == torch.float32 and _compile_for(z.device) for z in tensors)
    wrapped = torch._C._are_functorch_transforms_active()
    return known and not wrapped and not torch.is_autocast_enabled("cuda")


@cache
def _compile_for(device: torch.device) -> bool:
    """Whether kernels can be compiled: for NVIDIA's GPUs of 2020 and later, which have TF32."""
    nvidia = installed() and device.type == "cuda" and torch.version.hip is None
    return nvidia and torch.cuda.get_device_capability(device) >= (8, 0)
