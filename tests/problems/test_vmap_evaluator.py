"""All nodes and runs at once: the same numbers as one after the other, or a refusal."""

import pytest
import torch
from problems.modules import (
    LOOPED,
    NODES,
    SAMPLES,
    VECTORIZED,
    VECTORS,
    AlwaysDropping,
    RandomDepth,
    build,
    cuda,
    perceptron,
    points,
    transformer,
)
from torch import Tensor, nn

import gossamer as gs
from gossamer.captured import AS_WRITTEN
from gossamer.problems.vmap_evaluator import EVALUATIONS_AT_ONCE, ModelLoss, Stacking


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@pytest.mark.parametrize(("make", "shape"), VECTORIZED.values(), ids=VECTORIZED)
def test_all_nodes_at_once_is_one_after_the_other(make, shape, dtype, tolerance):
    module = make()
    stacked = build(module, shape, dtype=dtype, vectorize=True)
    loop = build(module, shape, dtype=dtype, vectorize=False)
    x, seeds = points(stacked), [0, 7]
    for found, expected in (
        (stacked.sample_grad(x, 6, seeds), loop.sample_grad(x, 6, seeds)),
        (stacked.local_loss(x), loop.local_loss(x)),
        (stacked.local_grad(x), loop.local_grad(x)),
    ):
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("make", "shape"), LOOPED.values(), ids=LOOPED)
def test_what_vmap_cannot_do_is_looped_and_refused_with_the_reason_where_it_is_asked_for(
    make, shape
):
    for asked in ({"vectorize": True}, {"compile": True}):
        with pytest.raises(gs.InvalidInput, match=r"vmap cannot evaluate .*; pass vectorize=False"):
            build(make(), shape, **asked)
    module = make()
    found, loop = build(module, shape), build(module, shape, vectorize=False)
    x = points(loop)
    assert torch.equal(found.sample_grad(x, 3, [0, 1]), loop.sample_grad(x, 3, [0, 1]))
    assert found.way == "loop"


def test_runs_do_not_see_each_other():
    for module in (perceptron(), perceptron(nn.Dropout(0.5))):
        problem = build(module, VECTORS)
        x = points(problem, runs=3)
        together = problem.sample_grad(x, 4, [2, 0, 9])
        alone = problem.sample_grad(x[:, 1:2], 4, [0])
        torch.testing.assert_close(together[:, 1:2], alone, rtol=0, atol=1e-14)


def test_draws_of_evaluation_are_those_of_the_loop():
    module = AlwaysDropping()
    stacked, loop = (build(module, VECTORS, vectorize=way) for way in (True, False))
    x = points(stacked)
    torch.testing.assert_close(stacked.local_loss(x), loop.local_loss(x), rtol=0, atol=1e-12)
    torch.testing.assert_close(stacked.local_grad(x), loop.local_grad(x), rtol=0, atol=1e-12)


def test_whole_datasets_are_evaluated_at_few_points_at_once(monkeypatch: pytest.MonkeyPatch):
    """All points at once would take memory for the activations of all."""
    problem, sizes, losses = build(perceptron(), VECTORS), [], Stacking.losses

    def counted(self: Stacking, loss: ModelLoss, x: Tensor, *batch: Tensor) -> Tensor:
        sizes.append(len(x) * len(batch[0]))
        return losses(self, loss, x, *batch)

    monkeypatch.setattr(Stacking, "losses", counted)
    x = points(problem, runs=100)
    for of in (problem.local_loss, problem.local_grad):
        of(x)
        assert sum(sizes) == NODES * 100 * SAMPLES
        assert max(sizes) <= EVALUATIONS_AT_ONCE[False]
        sizes.clear()


def test_one_number_of_python_for_all_nodes_is_refused():
    with pytest.raises(gs.InvalidInput, match=r"vectorize: got True for RandomDepth, which draws"):
        build(RandomDepth(), VECTORS, vectorize=True)


@cuda
def test_captured_masks_are_those_of_the_seed():
    made = transformer(dropout=0.3)
    problem = build(made, None, vectorize=True).to("cuda")
    plain = build(made, None, vectorize=True, compile=False).to("cuda")
    x = points(plain.to("cpu")).cuda()
    for t in range(AS_WRITTEN + 3):
        found, expected = problem.sample_grad(x, t, [0, 7]), plain.sample_grad(x, t, [0, 7])
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
        alone = problem.sample_grad(x[:, 1:], t, [7])
        torch.testing.assert_close(alone, expected[:, 1:], rtol=1e-9, atol=1e-9)
    assert problem.way == "vmap in a CUDA graph"
