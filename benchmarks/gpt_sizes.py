"""Which sizes of the GPT the kernels can do: error and time of a gradient, with them and without.

    python3 benchmarks/gpt_sizes.py [WIDTH,HEADS,LAYERS,CONTEXT ...]

A GPT of 101 million parameters on eight nodes comes last, with its FLOP rate and memory. For every
other size the loss and the gradient of two nodes in bfloat16 are compared with a loop over
float32 modules. `ok` means that the gradient with the kernels is at most 1.5 times as far from it
as the one without them; an error is printed in place of the numbers. The columns `head` give the
blocks of the head's two kernels (rows held, rows read, warps, stages), `plain` where they do not
fit.
"""

import argparse
from unittest.mock import patch

import torch
from speeds import Speed, keep
from torch import Tensor

from gossamer.captured import AS_WRITTEN
from gossamer.data import Corpus, zipf_corpus
from gossamer.errors import first_line
from gossamer.models.fused.head import hidden_blocks, weight_blocks
from gossamer.models.fused.launch import shared_memory
from gossamer.problems import LanguageProblem

Size = tuple[int, int, int, int]
"""Width, heads, layers, context."""

SIZES: list[Size] = [
    (32, 2, 2, 16),
    (64, 4, 2, 64),
    (128, 4, 2, 64),
    (128, 1, 2, 128),
    (96, 3, 2, 48),
    (100, 5, 3, 33),
    (192, 6, 2, 200),
    (320, 5, 1, 128),
    (256, 8, 4, 128),
    (256, 1, 2, 128),
    (512, 8, 8, 256),
    (512, 8, 2, 64),
    (512, 4, 2, 128),
    (512, 1, 2, 64),
    (768, 12, 4, 256),
    (1024, 16, 4, 128),
    (1024, 4, 2, 64),
    (2048, 16, 2, 1024),
    (2048, 1, 1, 16),
]
LARGE: Size = (768, 12, 12, 256)
LARGE_NODES, LARGE_GOAL = 8, 350
"""101 million parameters on so many nodes, at so many TFLOP/s."""

NODES, TOKENS = 2, 4096
"""Nodes, and tokens of a batch."""

SLACK, OK = 1.5, "ok"
CEILING = 790
"""TFLOP/s of a large bfloat16 product on an H200."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=size, default=SIZES)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("needs a CUDA GPU, and torch finds none")
    text = zipf_corpus(200_000, num_types=5000)
    limit = shared_memory(torch.device("cuda"))
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(f"{limit} bytes of shared memory per program\n")
    columns = "width heads layers context  head                     loss f32   bf16"
    print(f"{columns}   error  plain      ms  plain")
    done = 0
    for chosen in options.sizes:
        shape, found = "{:5} {:5} {:6} {:7}".format(*chosen), outcome(text, chosen)
        print(f"{shape}  {blocks(chosen[0], limit):24} {found}", flush=True)
        done += found.endswith(OK)
    if options.sizes is SIZES:
        keep("cuda", [Speed("sizes of the GPT that work", done, "sizes", len(SIZES), least=True)])
    print(large(), flush=True)


def large() -> str:
    """Rate of 6 FLOP per parameter and token, and memory."""
    made = problem(zipf_corpus(390_000, num_types=10_000), LARGE, torch.bfloat16, LARGE_NODES)
    torch.cuda.reset_peak_memory_stats()
    ms, memory = milliseconds(made, 5), torch.cuda.max_memory_allocated() / 2**30
    rate = 6 * made.dim * LARGE_NODES * TOKENS / ms / 1e9
    sizes = f"{made.dim / 1e6:.0f}M parameters × {LARGE_NODES} nodes × {TOKENS} tokens"
    speed = Speed(f"GPT of {sizes}", rate, "TFLOP/s", LARGE_GOAL, CEILING, least=True)
    keep("cuda", [speed])
    return f"{sizes}: {ms:.1f} ms, {rate:.0f} TFLOP/s (goal {LARGE_GOAL}), {memory:.1f} GiB"


def size(text: str) -> Size:
    width, heads, layers, context = map(int, text.split(","))
    return width, heads, layers, context


def blocks(width: int, limit: int) -> str:
    found = hidden_blocks(width, limit), weight_blocks(width, limit)
    return "plain" if None in found else ", ".join(" ".join(map(str, one)) for one in found if one)


def outcome(text: Corpus, chosen: Size) -> str:
    """One line of numbers, or the error."""
    try:
        return compare(text, chosen)
    except Exception as reason:
        return f"{type(reason).__name__}: {first_line(reason)}"
    finally:
        torch.cuda.empty_cache()


def compare(text: Corpus, chosen: Size) -> str:
    exact, low = problem(text, chosen, None), problem(text, chosen, torch.bfloat16)
    x, expected = exact.start.expand(NODES, 1, -1), gradient(exact)
    error, ms = relative(gradient(low), expected), milliseconds(low)
    with patch("gossamer.models.fused.launch.installed", return_value=False):
        plain = problem(text, chosen, torch.bfloat16)
        plain_error, plain_ms = relative(gradient(plain), expected), milliseconds(plain)
    batch = [part[0, 0] for part in exact.batches.at(0, [0])]
    losses = [float(made.evaluator.losses(x[0], *batch)[0]) for made in (exact, low)]
    verdict = OK if error <= SLACK * plain_error else "FAR"
    numbers = f"{losses[0]:8.4f} {losses[1]:8.4f} {error:7.4f} {plain_error:6.4f}"
    return f"{numbers} {ms:7.2f} {plain_ms:6.2f}  {verdict}"


def problem(
    text: Corpus, chosen: Size, autocast: torch.dtype | None, nodes: int = NODES
) -> LanguageProblem:
    """In bfloat16 by the stacked GPT, in float32 by a loop over modules."""
    width, heads, layers, context = chosen
    return LanguageProblem(
        text, nodes, stride=context, batch_size=TOKENS // context, context=context, width=width,
        heads=heads, layers=layers, autocast=autocast, vectorize=autocast is not None,
    ).to("cuda", torch.float32)  # fmt: skip


def gradient(made: LanguageProblem) -> Tensor:
    return made.sample_grad(made.start.expand(made.num_nodes, 1, -1).contiguous(), 0, [0])


def relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


def milliseconds(made: LanguageProblem, repeats: int = 20) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(AS_WRITTEN + 1):
        gradient(made)
    begin.record()
    for _ in range(repeats):
        gradient(made)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / repeats


if __name__ == "__main__":
    main()
