"""The head's kernels where scores differ much, and where the model is sure of its targets."""

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


@pytest.mark.parametrize(("above", "doubt", "error"), [(10, 1e-1, 0.01), (20, 1e-5, 0.1)])
def test_gpu_the_gradient_of_a_sure_model(above: int, doubt: float, error: float):
    """The targets' scores lie `above` the others; p − 1 is small, and must not be lost in p."""
    torch.manual_seed(0)
    hidden = functional.layer_norm(torch.randn(MODELS, POSITIONS, 128), (128,))
    weight = torch.randn(MODELS, VOCABULARY, 128) / 128**0.5
    targets = torch.stack([torch.randperm(VOCABULARY)[:POSITIONS] for _ in range(MODELS)])
    for model, own in enumerate(targets):
        weight[model, own] += above * hidden[model] / 128
    hidden, weight, targets = hidden.bfloat16().cuda(), weight.bfloat16().cuda(), targets.cuda()
    exact = both_grads(hidden.double(), weight.double(), targets)
    p = (hidden.double() @ weight.double().mT).softmax(-1).gather(-1, targets[..., None])
    assert 0.1 * doubt < float(1 - p.mean()) < 10 * doubt
    d_hidden = both_grads(hidden, weight, targets)[0]
    assert float((d_hidden - exact[0]).norm() / exact[0].norm()) < error
