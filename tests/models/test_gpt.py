import math

import pytest
import torch

from gossamer.errors import InvalidInput
from gossamer.models import GPT
from gossamer.models.gpt import attention


def tiny(**options) -> GPT:
    return GPT(vocabulary=50, context=8, width=16, heads=2, layers=2, **options).double().eval()


def test_papers_model_has_the_papers_size():
    parts = {"token": 10208 * 128, "position": 64 * 128, "head": 10208 * 128, "norm": 256}
    model = GPT()
    for name, size in parts.items():
        assert sum(p.numel() for p in getattr(model, name).parameters()) == size
    assert [sum(p.numel() for p in block.parameters()) for block in model.blocks] == [198_272] * 2
    assert sum(p.numel() for p in model.parameters()) == 3_018_240


def test_weights_start_as_gpt_does():
    model = GPT()
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            assert (p == 0).all()
        elif "norm" in name:
            assert (p == 1).all()
        else:
            error = 4 * 0.02 / math.sqrt(2 * p.numel())
            assert abs(float(p.detach().std()) - 0.02) < error, name


def test_weights_are_a_function_of_the_seed():
    assert torch.equal(tiny(seed=1).head.weight, tiny(seed=1).head.weight)
    assert not torch.equal(tiny(seed=1).head.weight, tiny(seed=2).head.weight)


@pytest.mark.parametrize("changed", range(8))
def test_causal_logits_do_not_see_later_tokens(changed: int):
    tokens = torch.randint(50, (3, 8), generator=torch.Generator().manual_seed(0))
    other = tokens.clone()
    other[:, changed] = (other[:, changed] + 1) % 50
    difference = (tiny()(tokens) - tiny()(other)).abs().amax((0, 2))
    assert (difference[:changed] == 0).all()
    assert (difference[changed:] > 0).all()


def test_bidirectional_logits_see_every_token():
    tokens = torch.zeros(1, 8, dtype=torch.int64)
    other = tokens.clone()
    other[:, -1] = 1
    assert ((tiny(causal=False)(tokens) - tiny(causal=False)(other)).abs().amax((0, 2)) > 0).all()


@pytest.mark.parametrize("causal", [True, False])
def test_attention_is_the_textbooks(causal: bool):
    qkv = torch.randn(3, 5, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    q, k, v = qkv.split(4, -1)
    for head in range(2):
        part = slice(2 * head, 2 * head + 2)
        scores = q[..., part] @ k[..., part].mT / math.sqrt(2)
        if causal:
            scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
        expected = scores.softmax(-1) @ v[..., part]
        torch.testing.assert_close(
            attention(qkv, 2, causal)[..., part], expected, rtol=0, atol=1e-12
        )


def test_shorter_windows_are_prefixes():
    tokens = torch.randint(50, (2, 8), generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(tiny()(tokens)[:, :5], tiny()(tokens[:, :5]), rtol=0, atol=1e-12)


def test_dropout_acts_in_training_only():
    tokens = torch.randint(50, (2, 8), generator=torch.Generator().manual_seed(3))
    model = tiny(dropout=0.5)
    assert torch.equal(model(tokens), tiny()(tokens))
    assert not torch.equal(model.train()(tokens), model(tokens))


def test_width_must_split_into_heads():
    with pytest.raises(InvalidInput, match="heads: got 3, need a divisor of width = 16"):
        GPT(width=16, heads=3)
