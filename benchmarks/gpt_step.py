"""The training step of eight GPTs on one GPU: milliseconds, FLOP rates, memory, loss.

    python3 benchmarks/gpt_step.py [--steps 500]
    python3 benchmarks/gpt_step.py --only family      GT-NSGDm in other geometries beside it

A step is the gradient of 8 nodes × 64 windows × 64 tokens and GT-NSGDm's update on a ring. The
floor is 340.6 GFLOP at the 790 TFLOP/s that a large bfloat16 product reaches on an H200, and the
fewest bytes that the update moves at 4.3 TB/s.

Reads Multi30k where `GOSSAMER_MULTI30K` names its folder, else artificial text of the same sizes.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from speeds import Speed, keep
from torch import Tensor, nn
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from gossamer.algorithms import Algorithm, DeMuon, GTLayerNSGDm, GTNSGDm, GTSignSGDm
from gossamer.data import Corpus, Vocabulary, multi30k, zipf_corpus
from gossamer.models.gpt import GPT
from gossamer.networks import Network, TopK, ring
from gossamer.problems.language import LanguageProblem, token_loss
from gossamer.simulation import Stack

Advance = Callable[[int], None]
"""Takes that many training steps."""

NODES, BATCH, CONTEXT = 8, 64, 64
FLOOR_MS = 0.53
LOOP = "loop over eight modules, bf16 autocast"
GOALS_MS = {
    "as simulated: update compiled": ("one run", 1.4),
    "the same, dropout 0.1": ("one run with dropout", 1.7),
    "as simulated, five runs, per run": ("five runs, per run", 1.25),
}
TOKENS = NODES * BATCH * CONTEXT
VOCABULARY, WIDTH, LAYERS = 10208, 128, 2
FLOP = 6 * TOKENS * (VOCABULARY * WIDTH + LAYERS * (12 * WIDTH**2 + 2 * CONTEXT * WIDTH))


def corpus() -> Corpus:
    if os.environ.get("GOSSAMER_MULTI30K"):
        return multi30k()
    text = zipf_corpus(390_000, num_types=10_000)
    missing = VOCABULARY - len(text.vocabulary)
    words = (*text.vocabulary.words, *(f"<{k}>" for k in range(missing)))
    return replace(text, vocabulary=Vocabulary(words))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--only", choices=["variants", "family", "losses"])
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("needs a CUDA GPU, and torch finds none")
    text = corpus()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {text.name}")
    print(f"{FLOP / 1e9:.1f} GFLOP per step, {TOKENS} tokens\n")
    if options.only in (None, "variants"):
        compare_variants(text)
    if options.only in (None, "family"):
        compare_family(text)
    if options.only in (None, "losses"):
        losses(text, options.steps)


def compare_variants(text: Corpus) -> None:
    print(f"{'GT-NSGDm on a ring of 8':42} {'ms':>7} {'TFLOP/s':>8} {'of floor':>9} {'GiB':>6}")
    found = {name: report(name, build()) for name, build in variants(text).items()}
    floor = (FLOOR_MS, "loop", found[LOOP])
    keep("cuda", [
        Speed(f"the GPT's whole step, {what}", found[name], "ms", goal, *floor)
        for name, (what, goal) in GOALS_MS.items()
    ])  # fmt: skip


def compare_family(text: Corpus) -> None:
    """Each geometry beside the Euclidean one, alone and five runs at once; goal of DeMuon: 1.6."""
    print(f"\n{'as simulated, per run':26} {'ms':>7} {'ratio':>6} {'launches':>9}")
    for runs in (1, 5):
        base = 0.0
        for algorithm in FAMILY:
            advance = simulated(problem(text, torch.bfloat16), runs, algorithm=algorithm)
            taken, count = best_of_three(advance), launches(advance, runs)
            base = base or taken
            name = f"{algorithm.label}, runs: {runs}"
            print(f"{name:26} {taken:7.3f} {taken / base:6.2f} {count:9.0f}", flush=True)


def variants(text: Corpus) -> dict[str, Callable[[], Advance]]:
    """Name → what builds a training."""
    bf16 = torch.bfloat16
    return {
        LOOP: lambda: loop_over_modules(text),
        "generic vmap captured, bf16 autocast": lambda: plain_steps(generic(text)),
        "hand-stacked, float32": lambda: plain_steps(problem(text, None)),
        "hand-stacked, bf16, eager": lambda: plain_steps(eager(problem(text, bf16))),
        "the same, gradient as a CUDA graph": lambda: plain_steps(problem(text, bf16)),
        "as simulated: update compiled": lambda: simulated(problem(text, bf16)),
        "the same, dropout 0.1": lambda: simulated(problem(text, bf16, dropout=0.1)),
        "as simulated, five runs, per run": lambda: simulated(problem(text, bf16), runs=5),
        "the same, top-k messages": lambda: simulated(
            problem(text, bf16), 5, ring(NODES).compressed(TopK(0.05))
        ),
        "gradient alone": lambda: gradients(problem(text, bf16)),
    }


def problem(text: Corpus, autocast: torch.dtype | None, dropout: float = 0.0) -> LanguageProblem:
    made = LanguageProblem(text, NODES, stride=5, autocast=autocast, dropout=dropout)
    return made.to("cuda", torch.float32)


def generic(text: Corpus) -> LanguageProblem:
    """The same problem on the path of any other module."""
    made = problem(text, torch.bfloat16)
    made.evaluator = made.evaluator.modules
    return made


def eager(made: LanguageProblem) -> LanguageProblem:
    """The same without a CUDA graph."""
    stacked = made.evaluator.stacked

    def grad(x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        return stacked.evaluate(x.to(stacked.dtype), inputs, targets)

    stacked.grad = grad
    return made


ALGORITHM = GTNSGDm(lr=0.1, momentum=0.8)
FAMILY = ALGORITHM, GTLayerNSGDm(0.001, 0.8), GTSignSGDm(0.001, 0.8), DeMuon(0.01, 0.8)


def simulated(
    made: LanguageProblem,
    runs: int = 1,
    network: Network | None = None,
    algorithm: Algorithm[Any] = ALGORITHM,
) -> Advance:
    """What `gs.simulate` does; `runs` runs take their steps together."""
    seeds, network = range(runs), network or ring(NODES)
    stack = Stack(algorithm, made, network, None, seeds, torch.float32, "cuda")
    return lambda count: stack.advance(count // runs)


def plain_steps(made: LanguageProblem) -> Advance:
    """The update of GT-NSGDm operation by operation."""
    x = made.start.expand(NODES, 1, -1).contiguous()
    held = {"x": x, "state": ALGORITHM.init(x)}
    mix = ring(NODES).mixer(torch.float32, "cuda")

    @torch.no_grad()
    def advance(count: int) -> None:
        for t in range(count):
            grad = made.sample_grad(held["x"], t, [0])
            held["x"], held["state"] = ALGORITHM.step(t, held["x"], grad, held["state"], mix)

    return advance


def gradients(made: LanguageProblem) -> Advance:
    x = made.start.expand(NODES, 1, -1).contiguous()

    @torch.no_grad()
    def advance(count: int) -> None:
        for t in range(count):
            made.sample_grad(x, t, [0])

    return advance


def loop_over_modules(text: Corpus) -> Advance:
    """Eight modules, eight backward passes, gradients gathered into rows."""
    made = problem(text, torch.bfloat16)
    models = [GPT(VOCABULARY).cuda() for _ in range(NODES)]
    x = made.start.expand(NODES, -1).contiguous()
    held = {"x": x, "state": ALGORITHM.init(x)}
    mix = ring(NODES).mixer(torch.float32, "cuda")

    def step(t: int) -> None:
        inputs, targets = made.batches.at(t, [0])
        rows = []
        for i, model in enumerate(models):
            nn.utils.vector_to_parameters(held["x"][i], model.parameters())
            with torch.autocast("cuda", torch.bfloat16):
                loss = token_loss(model(inputs[i, 0]), targets[i, 0])
            grads = torch.autograd.grad(loss, list(model.parameters()))
            rows.append(torch.cat([grad.flatten() for grad in grads]))
        with torch.no_grad():
            grad = torch.stack(rows)
            held["x"], held["state"] = ALGORITHM.step(t, held["x"], grad, held["state"], mix)

    def advance(count: int) -> None:
        for t in range(count):
            step(t)

    return advance


def best_of_three(advance: Advance, repeats: int = 30) -> float:
    """Milliseconds of a step, once all is compiled and captured."""
    advance(10)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    return min(milliseconds(advance, repeats) for _ in range(3))


def launches(advance: Advance, runs: int, steps: int = 4) -> float:
    """Kernels per step of the stack."""
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        advance(steps * runs)
        torch.cuda.synchronize()
    return sum(event.device_type == DeviceType.CUDA for event in seen.events()) / steps


def report(name: str, advance: Advance, repeats: int = 30) -> float:
    best = best_of_three(advance, repeats)
    memory = torch.cuda.max_memory_allocated() / 2**30
    rate = FLOP / best / 1e9
    print(f"{name:42} {best:7.3f} {rate:8.1f} {FLOOR_MS / best:9.0%} {memory:6.2f}", flush=True)
    return best


def milliseconds(advance: Advance, repeats: int) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    advance(repeats)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / repeats


def losses(text: Corpus, count: int) -> None:
    print(f"\nvalidation loss of the average model after {count} steps (must agree to 0.02)")
    found = []
    for name, autocast in (("float32", None), ("bfloat16", torch.bfloat16)):
        begin, judge = time.perf_counter(), problem(text, None)
        stack = Stack(
            ALGORITHM, problem(text, autocast), ring(NODES), None, [0], torch.float32, "cuda"
        )
        with torch.no_grad():
            stack.advance(count)
            found.append(float(judge.validation_loss(stack.x.mean(0))))
        print(f"{name:42} {found[-1]:7.4f}   ({time.perf_counter() - begin:.1f} s)", flush=True)
    print(f"{'difference':42} {abs(found[0] - found[1]):7.4f}")


if __name__ == "__main__":
    main()
