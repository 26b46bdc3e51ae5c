"""The training step of eight GPTs on one GPU: milliseconds, FLOP rates, memory, loss.

    python3 benchmarks/gpt_step.py [--steps 500]

A step is the gradient of 8 nodes × 64 windows × 64 tokens and GT-NSGDm's update on a ring. The
floor is 340.6 GFLOP at the 790 TFLOP/s that a large bfloat16 product reaches on an H200, and the
fewest bytes that the update moves at 4.3 TB/s.

Reads Multi30k where `GOSSAMER_MULTI30K` names its folder, else artificial text of the same sizes.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent.parent))

from gossamer.algorithms import GTNSGDm
from gossamer.data import Corpus, Vocabulary, multi30k, zipf_corpus
from gossamer.models.gpt import GPT
from gossamer.networks import ring
from gossamer.problems.language import LanguageProblem, token_loss
from gossamer.problems.module_problem import ModuleProblem

NODES, BATCH, CONTEXT = 8, 64, 64
FLOOR_MS = 0.53
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
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    options = parser.parse_args()
    text = corpus()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {text.name}")
    print(f"{FLOP / 1e9:.1f} GFLOP per step, {TOKENS} tokens\n")
    print(f"{'GT-NSGDm on a ring of 8':42} {'ms':>7} {'TFLOP/s':>8} {'of floor':>9} {'GiB':>6}")
    for name, build in variants(text).items():
        report(name, build())
    losses(text, options.steps)


def variants(text: Corpus) -> dict[str, Callable[[], Callable[[int], None]]]:
    """Name → what builds a step."""
    bf16 = torch.bfloat16
    return {
        "loop over eight modules, bf16 autocast": lambda: loop_over_modules(text),
        "generic vmap, bf16 autocast": lambda: steps(generic(text)),
        "hand-stacked, float32": lambda: steps(problem(text, None)),
        "hand-stacked, bf16, eager": lambda: steps(eager(problem(text, bf16))),
        "hand-stacked, bf16, CUDA graph": lambda: steps(problem(text, bf16)),
        "the same, compiled update": lambda: steps(problem(text, bf16), fused_update()),
        "its gradient alone": lambda: steps(problem(text, bf16), lambda t, x, g, state: (x, state)),
    }


def problem(text: Corpus, autocast: torch.dtype | None) -> LanguageProblem:
    return LanguageProblem(text, NODES, stride=5, autocast=autocast).to(torch.float32, "cuda")


def generic(text: Corpus) -> LanguageProblem:
    """The same problem on the path of any other module."""
    made = problem(text, torch.bfloat16)
    made._stacked_grad = lambda *batch: ModuleProblem._stacked_grad(made, *batch)
    return made


def eager(made: LanguageProblem) -> LanguageProblem:
    """The same without a CUDA graph."""

    def grad(x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        return made._stacked.evaluate(x.to(made._stacked.dtype), inputs, targets)

    made._stacked_grad = grad
    return made


Update = Callable[[int, Tensor, Tensor, Any], tuple[Tensor, Any]]
ALGORITHM = GTNSGDm(lr=0.1, momentum=0.8)


def plain_update() -> Update:
    mix = ring(NODES).mixer(torch.float32, "cuda")
    return lambda t, x, grad, state: ALGORITHM.step(t, x, grad, state, mix)


def fused_update() -> Update:
    """The update compiled, with W z as sums over the neighbours that the compiler can fuse."""
    rows = tuple(tuple(ring(NODES).neighbor_weights(i).items()) for i in range(NODES))

    def mix(z: Tensor) -> Tensor:
        nodes = z.unbind(0)
        return torch.stack([sum(w * nodes[j] for j, w in row) for row in rows])

    step = torch.compile(lambda x, grad, state: ALGORITHM.step(0, x, grad, state, mix))
    return lambda t, x, grad, state: step(x, grad, state)


def steps(made: LanguageProblem, update: Update | None = None) -> Callable[[int], None]:
    """A function that takes step t of GT-NSGDm."""
    update = update or plain_update()
    x = made.start.expand(NODES, 1, -1).contiguous()
    held = {"x": x, "state": ALGORITHM.init(x)}

    @torch.no_grad()
    def step(t: int) -> None:
        grad = made.sample_grad(held["x"], t, [0])
        held["x"], held["state"] = update(t, held["x"], grad, held["state"])

    step.held = held
    return step


def loop_over_modules(text: Corpus) -> Callable[[int], None]:
    """Eight modules, eight backward passes, gradients gathered into rows."""
    made = problem(text, torch.bfloat16)
    update = plain_update()
    models = [GPT(VOCABULARY).cuda() for _ in range(NODES)]
    x = made.start.expand(NODES, -1).contiguous()
    held = {"x": x, "state": ALGORITHM.init(x)}

    def step(t: int) -> None:
        inputs, targets = made._batch(t, [0])
        rows = []
        for i, model in enumerate(models):
            nn.utils.vector_to_parameters(held["x"][i], model.parameters())
            with torch.autocast("cuda", torch.bfloat16):
                loss = token_loss(model(inputs[i, 0]), targets[i, 0])
            grads = torch.autograd.grad(loss, list(model.parameters()))
            rows.append(torch.cat([grad.flatten() for grad in grads]))
        with torch.no_grad():
            grad = torch.stack(rows)
            held["x"], held["state"] = update(t, held["x"], grad, held["state"])

    return step


def report(name: str, step: Callable[[int], None], repeats: int = 30) -> None:
    for t in range(5):
        step(t)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    best = min(milliseconds(step, repeats) for _ in range(3))
    memory = torch.cuda.max_memory_allocated() / 2**30
    rate = FLOP / best / 1e9
    print(f"{name:42} {best:7.3f} {rate:8.1f} {FLOOR_MS / best:9.0%} {memory:6.2f}", flush=True)


def milliseconds(step: Callable[[int], None], repeats: int) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for t in range(repeats):
        step(t)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / repeats


def losses(text: Corpus, count: int) -> None:
    print(f"\nvalidation loss of the average model after {count} steps (must agree to 0.02)")
    found = []
    for name, autocast in (("float32", None), ("bfloat16", torch.bfloat16)):
        step, judge = steps(problem(text, autocast)), problem(text, None)
        begin = time.perf_counter()
        for t in range(count):
            step(t)
        with torch.no_grad():
            loss = float(judge.validation_loss(step.held["x"].mean(0)))
        found.append(loss)
        print(f"{name:42} {loss:7.4f}   ({time.perf_counter() - begin:.1f} s)", flush=True)
    print(f"{'difference':42} {abs(found[0] - found[1]):7.4f}")


if __name__ == "__main__":
    main()
