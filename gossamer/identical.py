"""Whether two tensors hold the same numbers."""

import torch
from torch import Tensor


def identical(one: Tensor, other: Tensor) -> bool:
    """Whether shape, precision and all numbers are the same; NaN is the same as NaN.

    >>> identical(torch.tensor([1.0, torch.nan]), torch.tensor([1.0, torch.nan]))
    True
    >>> identical(torch.ones(1), torch.ones(2)), identical(torch.ones(1), torch.zeros(1))
    (False, False)
    """
    alike = (one.shape, one.dtype, one.layout) == (other.shape, other.dtype, other.layout)
    one, other = (z if z.layout == torch.strided else z.to_dense() for z in (one, other))
    return alike and torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)
