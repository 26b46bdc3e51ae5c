import json

import pytest
import torch
from torch import Tensor

import gossamer as gs
from gossamer.data import BatchOrder, TokenWindows, token_shard, zipf_corpus
from gossamer.problems.batches import TokenBatches
from gossamer.problems.language import LanguageProblem, shuffled
from gossamer.simulation import Stack

CORPUS = zipf_corpus(4_000, num_types=47)
TINY = {"stride": 3, "batch_size": 4, "context": 8, "width": 16, "heads": 2}


def build(dtype: torch.dtype = torch.float64, **options) -> LanguageProblem:
    return LanguageProblem(CORPUS, 3, **{**TINY, **options}).to("cpu", dtype)


def points(problem: LanguageProblem, runs: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    step = torch.randn(3, runs, problem.dim, generator=generator, dtype=torch.float64)
    return problem.start + 0.1 * step.to(problem.start.dtype)


@pytest.mark.parametrize("protocol", ["causal", "paper"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_stacked_is_vmap_is_the_loop_over_modules(protocol, dtype, tolerance):
    stacked, loop = (build(dtype, protocol=protocol, vectorize=way) for way in (True, False))
    x, t, seeds = points(stacked), 5, [0, 3]
    expected = loop.sample_grad(x, t, seeds)
    vmapped = stacked.evaluator.modules.gradients(x, *stacked.batches.at(t, seeds), t, seeds)
    for found in (stacked.sample_grad(x, t, seeds), vmapped):
        torch.testing.assert_close(found, expected, rtol=0, atol=tolerance)


def test_batches_are_those_of_a_process():
    problem = build()
    inputs, targets = problem.batches.at(9, [4, 2])
    for node in range(3):
        windows = TokenWindows(token_shard(CORPUS.train, node, 3), 8, 3)
        for run, seed in enumerate((4, 2)):
            batch = windows[BatchOrder(len(windows), 4, seed, node).at(9)]
            assert torch.equal(inputs[node, run], batch[0])
            assert torch.equal(targets[node, run], batch[1])


def test_protocols_differ_in_order_and_attention():
    causal, paper = build(), build(protocol="paper")
    assert causal.module_at(causal.start).causal
    assert not paper.module_at(paper.start).causal
    assert torch.equal(causal.batches.tokens, CORPUS.train)
    assert not torch.equal(paper.batches.tokens, CORPUS.train)
    assert torch.equal(paper.batches.tokens.sort().values, CORPUS.train.sort().values)
    assert torch.equal(paper.batches.tokens, shuffled(CORPUS.train, 0))
    with pytest.raises(gs.InvalidInput, match="protocol: got 'bert', need one of causal, paper"):
        build(protocol="bert")


def test_learns_to_copy_under_the_papers_protocol_alone():
    """Seeing the next token, a model beats the unigram loss on shuffled text; else it cannot."""
    options = {"steps": 250, "metrics": [], "dtype": torch.float32}
    losses = {}
    for protocol in ("causal", "paper"):
        problem = build(protocol=protocol, batch_size=16, layers=1)
        if protocol == "causal":
            problem.batches = TokenBatches(shuffled(CORPUS.train, 0), 3, 8, 3, batch_size=16)
        run = gs.simulate(gs.GTNSGDm(lr=0.1, momentum=0.8), problem, gs.complete(3), **options)
        judge = problem.to("cpu", torch.float32)
        losses[protocol] = float(judge.validation_loss(run.x.mean(0)).detach())
    assert losses["paper"] < CORPUS.unigram_loss() - 0.3
    assert losses["causal"] > CORPUS.unigram_loss() - 0.05


def test_training_beats_the_unigrams():
    problem = build(batch_size=16)
    run = gs.simulate(
        gs.GTNSGDm(lr=0.1, momentum=0.8), problem, gs.ring(3), steps=300, metrics=[],
        dtype=torch.float32,
    )  # fmt: skip
    judge = problem.to("cpu", torch.float32)
    assert float(judge.validation_loss(run.x.mean(0))) < CORPUS.unigram_loss() - 0.2


def test_dropout_depends_on_the_run_alone():
    problem = build(dropout=0.3)
    x = points(problem)
    together = problem.sample_grad(x, 2, [5, 8])
    assert torch.equal(together[:, 1:], problem.sample_grad(x[:, 1:], 2, [8]))
    assert not torch.allclose(together, build().sample_grad(x, 2, [5, 8]))
    assert torch.equal(problem.local_loss(x), build().local_loss(x))


def test_bfloat16_is_near():
    low, exact = build(torch.float32, autocast=torch.bfloat16), build(torch.float32)
    x = points(exact)
    found, expected = (problem.sample_grad(x, 0, [0, 1]) for problem in (low, exact))
    assert found.dtype == torch.float32
    assert float((found - expected).norm() / expected.norm()) < 0.02


def test_local_gradient_is_the_mean_of_an_epoch():
    shard = len(token_shard(CORPUS.train, 0, 3))
    problem = build(stride=8, batch_size=(shard - 9) // 8 + 1)
    x = points(problem, runs=1)
    assert problem.steps_per_epoch == 1
    torch.testing.assert_close(
        problem.sample_grad(x, 0, [0]), problem.local_grad(x), rtol=0, atol=1e-12
    )


def test_description_names_what_it_was_built_from():
    description = json.loads(json.dumps(build(protocol="paper").describe()))
    assert description["corpus"] == "zipf-47-0"
    assert description["digest"] == CORPUS.digest()
    assert (description["protocol"], description["stride"], description["dim"]) == (
        "paper", 3, build().dim,
    )  # fmt: skip


def test_shows_its_task_and_sizes():
    assert repr(build(protocol="paper")) == (
        "LanguageProblem(corpus='zipf-47-0', num_nodes=3, protocol='paper', stride=3, "
        "batch_size=4, context=8, dim=8320)"
    )


def test_a_number_of_nodes_is_whole():
    with pytest.raises(gs.InvalidInput, match=r"num_nodes: got 1\.5, need an integer"):
        LanguageProblem(zipf_corpus(500, num_types=10), 1.5, stride=4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("method", [gs.GTNSGDm(0.01, 0.8), gs.DSGD(0.01), gs.QGDSGDm(0.01, 0.8)])
@pytest.mark.parametrize("seeds", [[0], [0, 1]])
def test_the_copy_that_a_gradient_reads_is_that_of_x(method: gs.Algorithm, seeds: list[int]):
    """Whether or not the step has written it."""
    sizes = {"stride": 8, "batch_size": 4, "context": 16, "width": 32, "heads": 2}
    problem = LanguageProblem(CORPUS, 4, **sizes, autocast=torch.bfloat16).to("cuda", torch.float32)
    stack = Stack(method, problem, gs.ring(4), None, seeds, torch.float32, "cuda")
    for _ in range(6):
        stack.advance(1)
        twin = problem.twin(stack.x)
        written = twin.of is stack.x
        assert torch.equal(twin.follow(stack.x), stack.x.flatten(0, 1).bfloat16())
        if isinstance(method, gs.GTNSGDm):
            assert written
