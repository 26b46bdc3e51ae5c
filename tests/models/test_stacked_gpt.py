import copy

import pytest
import torch
from torch import Tensor, nn

from gossamer.models import GPT
from gossamer.models.fused.head import LOGITS_AT_ONCE
from gossamer.models.gpt import Style
from gossamer.models.stacked_gpt import StackedGPT
from gossamer.problems.language import token_loss

SIZES = {"vocabulary": 50, "context": 8, "width": 16, "heads": 2, "layers": 2}


def model_and_batch(causal: bool, dtype: torch.dtype, time: int = 8, style: Style = "gpt"):
    model = GPT(**SIZES, causal=causal, style=style).to(dtype)
    generator = torch.Generator().manual_seed(0)
    start = nn.utils.parameters_to_vector(model.parameters()).detach()
    x = start + 0.1 * torch.randn(3, len(start), generator=generator, dtype=dtype)
    inputs, targets = torch.randint(50, (2, 3, 4, time), generator=generator)
    return model, x, inputs, targets


def loop_grad(model: GPT, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
    rows = []
    for parameters, tokens, following in zip(x, inputs, targets, strict=True):
        one = copy.deepcopy(model)
        nn.utils.vector_to_parameters(parameters, one.parameters())
        token_loss(one(tokens), following).backward()
        rows.append(torch.cat([p.grad.flatten() for p in one.parameters()]))
    return torch.stack(rows)


@pytest.mark.parametrize("style", ["gpt", "pytorch"])
@pytest.mark.parametrize("time", [8, 5])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_stacked_gradients_are_the_modules(causal, dtype, tolerance, time, style):
    model, *batch = model_and_batch(causal, dtype, time, style)
    found = StackedGPT(model).grad(*batch)
    torch.testing.assert_close(found, loop_grad(model, *batch), rtol=0, atol=tolerance)


def test_logits_in_pieces_give_the_same(monkeypatch):
    model, *batch = model_and_batch(True, torch.float64)
    whole = StackedGPT(model).grad(*batch)
    monkeypatch.setitem(LOGITS_AT_ONCE, "cpu", 900)
    torch.testing.assert_close(StackedGPT(model).grad(*batch), whole, rtol=0, atol=1e-13)


def test_bfloat16_is_near_and_its_gradient_is_float32():
    model, *batch = model_and_batch(True, torch.float32)
    exact = loop_grad(model, *batch)
    found = StackedGPT(model, torch.bfloat16).grad(*batch)
    assert found.dtype == torch.float32
    assert float((found - exact).norm() / exact.norm()) < 0.02


cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@cuda
@pytest.mark.parametrize("style", ["gpt", "pytorch"])
@pytest.mark.parametrize("causal", [True, False])
def test_kernels_agree_with_float64(causal: bool, style: Style):
    sizes = {"vocabulary": 333, "context": 24, "width": 32, "heads": 2}
    model = GPT(**sizes, causal=causal, seed=1, style=style).cuda()
    start = nn.utils.parameters_to_vector(model.parameters()).detach()
    x = start + 0.02 * torch.randn(3, len(start), device="cuda")
    inputs, targets = torch.randint(333, (2, 3, 5, 24), device="cuda")
    exact = StackedGPT(model).evaluate(x.double(), inputs, targets)
    stacked = StackedGPT(model, torch.bfloat16)
    for found in (stacked.grad(x, inputs, targets), stacked.grad(x, inputs, targets)):
        assert float((found - exact).norm() / exact.norm()) < 0.02


@cuda
def test_dropout_masks_are_a_function_of_the_seed_in_a_captured_graph():
    model = GPT(vocabulary=50, context=8, width=16, heads=2, dropout=0.5).cuda()
    x = nn.utils.parameters_to_vector(model.parameters()).detach().expand(2, -1)
    batch = torch.randint(50, (2, 2, 4, 8), device="cuda")
    stacked, found = StackedGPT(model, torch.bfloat16), []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        found.append(stacked.grad(x, *batch))
    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-6)
    assert float((found[0] - found[2]).norm() / found[0].norm()) > 0.01
