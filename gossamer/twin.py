"""A copy of a point, often in a lower precision, at a fixed place in memory."""

from torch import Tensor


class Twin:
    """A copy of a point x, from which a problem computes the gradient at x.

    The copy is always at the same place in memory, because CUDA graphs read fixed addresses. Code
    that computes a new x can write the copy in the same pass. It must then set `of` to this x, so
    that `follow` does not copy x once more.

    Args:
        copy: memory for the copy, with as many numbers as x has. Its precision may be lower.

    >>> import torch
    >>> x, twin = torch.tensor([[1.0], [2.0]]), Twin(torch.empty(2, 1, dtype=torch.bfloat16))
    >>> twin.follow(x)
    tensor([[1.],
            [2.]], dtype=torch.bfloat16)
    """

    def __init__(self, copy: Tensor) -> None:
        self.copy = copy
        self.of: Tensor | None = None

    def follow(self, x: Tensor) -> Tensor:
        """The copy of x, which is written now unless it is there already."""
        if not self._is_of(x):
            self.copy.copy_(x.view_as(self.copy))
            self.of = None
        return self.copy

    def _is_of(self, x: Tensor) -> bool:
        """Whether x is the point `of`, in the same memory, and has not been changed since."""
        of = self.of
        return of is not None and of.data_ptr() == x.data_ptr() and of._version == 0
