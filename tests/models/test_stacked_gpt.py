import copy
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn

from gossamer.captured import AS_WRITTEN, Aside
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


def errors_of(stacked: StackedGPT, found: Tensor, exact: Tensor) -> dict[str, float]:
    """The relative error of every parameter's gradient."""
    return {
        name: float((mine - right).norm() / right.norm())
        for name, (mine, right, _) in stacked.slots(found, exact, Aside(found.device)).items()
    }


cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@cuda
@pytest.mark.parametrize(
    ("width", "heads", "dropout", "time"),  # a dropout of 1e-7 draws, and drops nothing
    [
        (32, 2, 0.0, 24),
        (128, 4, 0.0, 24),
        (128, 4, 0.0, 64),
        (48, 3, 0.0, 24),
        (40, 2, 0.0, 24),
        (32, 2, 1e-7, 24),
        (48, 3, 1e-7, 24),
    ],
)
@pytest.mark.parametrize("style", ["gpt", "pytorch"])
@pytest.mark.parametrize("causal", [True, False])
def test_kernels_agree_with_float64(
    causal: bool, style: Style, width: int, heads: int, dropout: float, time: int
):
    sizes = {"vocabulary": 333, "context": time, "width": width, "heads": heads}
    model = GPT(**sizes, causal=causal, seed=1, style=style).cuda()
    start = nn.utils.parameters_to_vector(model.parameters()).detach()
    x = start + 0.02 * torch.randn(3, len(start), device="cuda")
    inputs, targets = torch.randint(333, (2, 3, 5, time), device="cuda")
    exact = StackedGPT(model).evaluate(x.double(), inputs, targets)
    model.dropout = dropout
    stacked = StackedGPT(model, torch.bfloat16)
    with patch("gossamer.models.fused.launch.installed", return_value=False):
        plain = StackedGPT(model, torch.bfloat16).evaluate(x.bfloat16(), inputs, targets)
    usual = float((plain - exact).norm() / exact.norm())  # up to 0.025 in style "pytorch"
    for _ in range(AS_WRITTEN + 2):
        found = stacked.grad(x, inputs, targets)
        assert float((found - exact).norm() / exact.norm()) < 1.2 * usual
    errors, usual_errors = errors_of(stacked, found, exact), errors_of(stacked, plain, exact)
    assert {name: e for name, e in errors.items() if e > 1.5 * usual_errors[name]} == {}


@cuda
def test_dropout_masks_are_a_function_of_the_seed_in_a_captured_graph():
    model = GPT(vocabulary=50, context=8, width=32, heads=2, dropout=0.5).cuda()
    x = nn.utils.parameters_to_vector(model.parameters()).detach().expand(2, -1)
    batch = torch.randint(50, (2, 2, 4, 8), device="cuda")
    stacked, found = StackedGPT(model, torch.bfloat16), []
    for seed in (0, 0, 1, 0, 0):
        torch.manual_seed(seed)
        found.append(stacked.grad(x, *batch).clone())
    for k in (1, 3, 4):
        torch.testing.assert_close(found[0], found[k], rtol=1e-4, atol=1e-6)
    assert float((found[0] - found[2]).norm() / found[0].norm()) > 0.01


@cuda
def test_dropout_in_the_kernels_is_right_on_average():
    """The mean of many gradients is that of the plain form, with torch's own dropout."""
    model = GPT(vocabulary=50, context=16, width=32, heads=2, layers=1, dropout=0.2, seed=1).cuda()
    x = nn.utils.parameters_to_vector(model.parameters()).detach().expand(64, -1).contiguous()
    inputs, targets = torch.randint(50, (2, 1, 4, 16), device="cuda").expand(2, 64, 4, 16)
    fused, plain = StackedGPT(model, torch.bfloat16), StackedGPT(model)
    means = [
        torch.stack([one.grad(x, inputs, targets).mean(0) for _ in range(20)]).mean(0)
        for one in (fused, plain)
    ]
    none = StackedGPT(GPT(50, 16, 32, 2, 1, seed=1).cuda()).grad(x[:1], inputs[:1], targets[:1])[0]
    apart = float((means[0] - means[1]).norm())
    assert apart < 0.25 * float((means[1] - none).norm()) + 0.02 * float(none.norm())
