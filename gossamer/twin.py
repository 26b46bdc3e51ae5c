"""A point's copy in another precision, in memory that stays where it is."""

from torch import Tensor


class Twin:
    """The copy of a point that an evaluation reads.

    Whoever makes a point can write the copy at the same time, and names the point in `of`: then it
    need not be read again.

    Args:
        copy: memory for it, with as many numbers as the point has.

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
        """The copy of x, made anew unless it is there."""
        if not self._is_of(x):
            self.copy.copy_(x.view_as(self.copy))
            self.of = None
        return self.copy

    def _is_of(self, x: Tensor) -> bool:
        """Whether x is the point named, in the same memory, which nobody has changed since."""
        of = self.of
        return of is not None and of.data_ptr() == x.data_ptr() and of._version == 0
