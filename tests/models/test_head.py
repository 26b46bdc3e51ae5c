"""The head's kernels where scores differ so much that their powers leave float32."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from gossamer.captured import Aside
from gossamer.models.fused import Slot, head_grad

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

MODELS, POSITIONS, VOCABULARY = 2, 150, 333


def both_grads(hidden: Tensor, weight: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """∂/∂h and ∂/∂U."""
    aside, dtype = Aside(weight.device), torch.promote_types(weight.dtype, torch.float32)
    head = Slot(weight, torch.full_like(weight, torch.nan, dtype=dtype), aside)
    d_hidden = head_grad(hidden, head, targets)
    aside.wait()
    return d_hidden, head.grad


@pytest.mark.parametrize("apart", [1, 60, 150, 3000])
@pytest.mark.parametrize("width", [32, 64, 128, 256, 512])
def test_gpu_scores_far_from_the_targets(width: int, apart: int):
    """One word's scores lie up to about `apart` above and below all others."""
    torch.manual_seed(0)
    hidden = functional.layer_norm(torch.randn(MODELS, POSITIONS, width, device="cuda"), (width,))
    weight = torch.randn(MODELS, VOCABULARY, width, device="cuda") / width**0.5
    weight[:, 7] *= apart / 3
    hidden, weight = hidden.bfloat16(), weight.bfloat16()
    targets = torch.randint(VOCABULARY, (MODELS, POSITIONS), device="cuda")
    exact = both_grads(hidden.double(), weight.double(), targets)
    assert float((hidden.double() @ weight.double().mT).amax()) > 0.5 * apart
    for found, right in zip(both_grads(hidden, weight, targets), exact, strict=True):
        assert float((found - right).norm() / right.norm()) < 0.01
