"""Where tensors go: the arguments of `to`, in torch's order and forms."""

import torch
from torch import Tensor

from gossamer.errors import require

Device = torch.device | str


def destination(
    device: Device | torch.dtype | None, dtype: torch.dtype | None
) -> tuple[Device | None, torch.dtype | None]:
    """The device and precision meant by `to(device)`, `to(dtype)` or `to(device, dtype)`.

    None leaves either as it is.

    >>> destination(torch.float32, None)
    (None, torch.float32)
    >>> destination("cuda", None)
    ('cuda', None)
    """
    if isinstance(device, torch.dtype):
        both = f"two precisions, {device} and {dtype}"
        require(dtype is None, "to", both, "a device and a precision", 'e.g. to("cuda", dtype)')
        device, dtype = None, device
    real = dtype is None or (isinstance(dtype, torch.dtype) and dtype.is_floating_point)
    require(real, "dtype", repr(dtype), "a floating-point one", "e.g. torch.float32")
    return device, dtype


def move(tensor: Tensor, device: Device | None, dtype: torch.dtype | None) -> Tensor:
    """To another device, and to another precision if it is a floating-point tensor."""
    keeps = dtype is None or not tensor.is_floating_point()
    return tensor.to(tensor.device if device is None else device, tensor.dtype if keeps else dtype)
