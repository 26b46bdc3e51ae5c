import math

import pytest
import torch
from torch import nn

from gossamer.errors import InvalidInput
from gossamer.models import GPT
from gossamer.models.gpt import Block, Style, attention


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


def as_encoder_layer(block: Block) -> nn.TransformerEncoderLayer:
    """PyTorch's layer with the block's weights."""
    width, heads = block.norm1.normalized_shape[0], block.heads
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, block.dropout, batch_first=True)
    weights = {f"self_attn.in_proj_{k}": v for k, v in block.qkv.state_dict().items()}
    names = {"self_attn.out_proj": "project", "linear1": "expand", "linear2": "contract"}
    for name, own in {**names, "norm1": "norm1", "norm2": "norm2"}.items():
        weights |= {f"{name}.{k}": v for k, v in getattr(block, own).state_dict().items()}
    layer.load_state_dict(weights)
    return layer.double()


@pytest.mark.parametrize("causal", [True, False])
def test_pytorchs_style_is_pytorchs_layer_dropout_included(causal: bool):
    block = tiny(style="pytorch", causal=causal, dropout=0.3).train().blocks[0]
    h = torch.randn(1, 8, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    mask = nn.Transformer.generate_square_subsequent_mask(8, dtype=h.dtype) if causal else None
    layer = as_encoder_layer(block)
    torch.manual_seed(0)
    expected = layer(h, src_mask=mask)
    torch.manual_seed(0)
    torch.testing.assert_close(block(h), expected, rtol=0, atol=1e-12)


def test_pytorchs_style_starts_as_pytorchs_layers_do():
    torch.manual_seed(0)
    model, width = GPT(style="pytorch"), 128
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True)
    block = model.blocks[0]
    assert isinstance(block, Block)
    started = as_encoder_layer(block).state_dict()
    started |= {"token": model.token.weight, "head": model.head.weight}
    theirs = layer.state_dict() | {
        "token": nn.Embedding(10208, width).weight,
        "head": nn.Linear(width, 10208, bias=False).weight,
    }
    assert (model.position.weight == 0).all()
    for name, p in theirs.items():
        ours = started[name].detach().double()
        assert float(ours.std(correction=0)) == pytest.approx(
            float(p.detach().std(correction=0)), rel=0.1
        )
        assert float(ours.abs().max()) == pytest.approx(float(p.detach().abs().max()), rel=0.15)


def test_weights_are_a_function_of_the_seed():
    assert torch.equal(tiny(seed=1).head.weight, tiny(seed=1).head.weight)
    assert not torch.equal(tiny(seed=1).head.weight, tiny(seed=2).head.weight)


@pytest.mark.parametrize("style", ["gpt", "pytorch"])
@pytest.mark.parametrize("changed", range(8))
def test_causal_logits_do_not_see_later_tokens(changed: int, style: Style):
    tokens = torch.randint(50, (3, 8), generator=torch.Generator().manual_seed(0))
    other = tokens.clone()
    other[:, changed] = (other[:, changed] + 1) % 50
    model = tiny(style=style)
    difference = (model(tokens) - model(other)).abs().amax((0, 2))
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


def test_an_unknown_style_is_refused():
    with pytest.raises(InvalidInput, match="style: got 'llama', need"):
        GPT(style="llama")  # type: ignore[arg-type]


def test_width_must_split_into_heads():
    with pytest.raises(InvalidInput, match="heads: got 3, need a divisor of width = 16"):
        GPT(width=16, heads=3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("vocabulary", 0), ("context", 0), ("width", 0), ("heads", 0), ("heads", -2)],
        *[("layers", -1), ("dropout", 1.5), ("dropout", -0.1), ("dropout", float("nan"))],
    ],
)
def test_impossible_sizes_are_refused_by_name(name: str, value: float):
    with pytest.raises(InvalidInput, match=f"{name}: got {value}, need"):
        GPT(**{"vocabulary": 11, "context": 4, "width": 8, "heads": 2, name: value})


@pytest.mark.parametrize("context", [1, 3])
def test_windows_longer_than_the_context_are_refused(context: int):
    """A context of 1 has one position, which would be added to all tokens without a word."""
    model = GPT(11, context, width=8, heads=2)
    with pytest.raises(InvalidInput, match=f"windows of 4, need at most context = {context}"):
        model(torch.zeros(1, 4, dtype=torch.int64))
