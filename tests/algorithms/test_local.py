"""What a step may ask for: random numbers that are a function, parameters as tensors."""

import math

import pytest
import torch
from algorithms.asking import Dithered, Storm

import gossamer as gs
from gossamer.algorithms import Local
from gossamer.algorithms.local import STREAM
from gossamer.networks.chance import Coins

SHAPES = [torch.Size([2, 3]), torch.Size([]), torch.Size([4])]


def local(t: int = 0, seeds=(0,), nodes=1) -> Local:
    return Local(t, torch.zeros_like, Coins.of(list(seeds), torch.arange(nodes), STREAM), SHAPES)


def test_methods_know_whether_they_ask():
    assert Storm.asks_local
    assert gs.PushSum(Storm).asks_local
    assert not Storm.asks_shapes_only
    assert gs.DeMuon.asks_local
    assert gs.DeMuon.asks_shapes_only
    assert gs.PushSum(gs.DeMuon).asks_shapes_only
    assert not gs.GTNSGDm.asks_local
    assert not gs.PushSum(gs.DSGD).asks_local


def test_a_step_by_hand_may_be_given_a_plain_function_to_mix():
    x = torch.ones(3, 1, 2)
    method = Storm(lr=0.5, a=0.1)
    moved, state = method.step(0, x, x, method.init(x), lambda z: z, local())
    assert torch.equal(moved, 0.5 * x)
    assert torch.equal(state.d, x)


@pytest.mark.parametrize("law", ["uniform", "normal"])
def test_random_numbers_are_fresh_in_every_call_step_node_and_seed(law: str):
    like = torch.zeros(3, 2, 50, dtype=torch.float64)
    first, later = local(0, (5, 6), 3), local(1, (5, 6), 3)
    drawn = torch.stack([getattr(one, law)(like) for one in (first, first, later)])
    assert drawn.unique().numel() == drawn.numel()


def test_random_numbers_of_a_run_do_not_depend_on_what_is_stacked_or_asked_ahead():
    like = torch.zeros(4, 3, 7, dtype=torch.float64)
    stack, again = local(9, (5, 6, 5), 4), local(9, (5, 6, 5), 4)
    drawn = [stack.uniform(like), stack.normal(like), stack.uniform(like[..., :1])]
    assert torch.equal(drawn[0], again.uniform(like))
    assert torch.equal(drawn[0][:, 0], drawn[0][:, 2])
    alone = Local(9, torch.zeros_like, Coins.of(6, 2, STREAM), SHAPES)
    node = torch.zeros(7, dtype=torch.float64)
    found = [alone.uniform(node), alone.normal(node), alone.uniform(node[:1])]
    for mine, all_of_them in zip(found, drawn, strict=True):
        torch.testing.assert_close(mine, all_of_them[2, 1], rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_laws_are_what_they_say(dtype: torch.dtype):
    """Means and variances of 100 000 numbers, within five standard errors."""
    like, size = torch.zeros(1, 1, 100_000, dtype=dtype), 100_000
    one = local()
    u, z = one.uniform(like).double(), one.normal(like).double()
    assert one.uniform(like).dtype == dtype
    assert 0 <= u.min() <= u.max() < 1
    assert abs(u.mean() - 1 / 2) < 5 * math.sqrt(1 / 12 / size)
    assert abs(u.var() - 1 / 12) < 5 * math.sqrt(1 / 180 / size)
    assert abs(z.mean()) < 5 / math.sqrt(size)
    assert abs(z.var() - 1) < 5 * math.sqrt(2 / size)
    assert abs((z**4).mean() - 3) < 5 * math.sqrt(96 / size)


def test_writing_to_random_numbers_changes_no_others():
    like = torch.zeros(2, 1, 3, dtype=torch.float64)
    expected = local(3, nodes=2).uniform(like).clone()
    coins = Coins.of([0], torch.arange(2), STREAM)
    Local(3, torch.zeros_like, coins, SHAPES).uniform(like).zero_()
    assert torch.equal(Local(3, torch.zeros_like, coins, SHAPES).uniform(like), expected)


def test_parameters_are_views_of_x_and_come_together_again():
    x = torch.arange(2 * 5 * 11.0).view(2, 5, 11)
    pieces = local().tensors(x)
    assert [tuple(piece.shape) for piece in pieces] == [(2, 5, 2, 3), (2, 5), (2, 5, 4)]
    assert torch.equal(pieces[0][1, 2], x[1, 2, :6].view(2, 3))
    assert torch.equal(local().vector(pieces), x)
    pieces[1].zero_()
    assert (x[..., 6] == 0).all()
    flat = torch.arange(11.0)
    assert torch.equal(local().vector(local().tensors(flat)), flat)


def test_a_method_that_asks_may_have_a_schedule():
    x = torch.zeros(1, 1, 2, dtype=torch.float64)
    step = Dithered(lr=gs.Linear(1.0, 4)).step(2, x, x, (), lambda z: z, local(2))[0]
    assert torch.equal(step, Dithered(lr=0.5).step(2, x, x, (), lambda z: z, local(2))[0])


def test_pieces_of_one_shape_are_stacked_and_put_back():
    shapes = [torch.Size(shape) for shape in ([2, 3], [], [6], [2, 3], [])]
    x = torch.randn(4, 2, 20)
    shaped = gs.algorithms.Shapes(shapes)
    stacks = shaped.alike(x)
    assert [tuple(z.shape) for z in stacks] == [(2, 4, 2, 6), (2, 4, 2, 1), (1, 4, 2, 6)]
    assert torch.equal(stacks[0][1], x[..., 13:19])
    assert torch.equal(shaped.apart(stacks), x)
