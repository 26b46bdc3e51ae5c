"""Tensors of the same numbers."""

import pytest
import torch

from gossamer.identical import identical


@pytest.mark.parametrize("held", [[True, False], [1, 2], [0.5, torch.nan], [1j, torch.inf]])
def test_the_same_numbers_of_every_kind(held: list):
    one = torch.tensor(held)
    assert identical(one, one.clone())
    assert not identical(one, one.flip(0))
    assert not identical(one, one[:1])
    assert not identical(one, one.to(torch.complex128))
