"""Artificial text with Zipf-distributed words and a grammar, for runs without a download."""

import math
from bisect import bisect

import torch
from torch import Tensor

from gossamer.data.tokens import Corpus, basic_english
from gossamer.errors import require, whole
from gossamer.seeding import stream

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


def zipf_corpus(
    num_words: int = 100_000,
    *,
    num_types: int = 1000,
    exponent: float = 1.0,
    spread: float = 0.05,
    validation_share: float = 0.1,
    seed: int = 0,
) -> Corpus:
    """`zipf_text` as a corpus; the last `validation_share` of it is held out.

    >>> corpus = zipf_corpus(20_000, num_types=200)
    >>> len(corpus.train), len(corpus.vocabulary)
    (19800, 203)
    """
    require(0 < validation_share < 1, "validation_share", validation_share, "a number in (0, 1)")
    text = zipf_text(num_words, num_types=num_types, exponent=exponent, spread=spread, seed=seed)
    words = basic_english(text)
    cut = round((1 - validation_share) * len(words))
    found = f"{num_words}, cut into {cut} and {len(words) - cut}"
    require(0 < cut < len(words), "num_words", found, "enough for both parts")
    return Corpus.of(f"zipf-{num_types}-{seed}", words[:cut], words[cut:])


def zipf_text(
    num_words: int,
    *,
    num_types: int = 1000,
    exponent: float = 1.0,
    spread: float = 0.05,
    seed: int = 0,
) -> str:
    """Sentences of ten words, one a line, whose word frequencies follow Zipf's law.

    Word k = 1, …, `num_types` has frequency π_k ∝ k^(−`exponent`) and owns an arc of length π_k
    on a circle of length 1. The next word owns the point reached from a random point of the
    present word's arc by a turn of one third plus U(0, `spread`). Turns keep the uniform law, so
    π is exactly stationary; but which words follow is confined to an arc, and a model of the
    context can do far better than one of the frequencies.

    Args:
        num_words: how many words to draw, the full stops not counted.
        num_types: distinct words.
        exponent: of Zipf's law.
        spread: how much freedom the grammar leaves, 0 < spread ≤ 1; at 1 it has no structure.
        seed: of the text.

    >>> print(zipf_text(20, num_types=50))
    ba de ne be di pe bi fi ba bo .
    go ba bo go ba bu ku ba bu ko .
    """
    whole("num_words", num_words, 1)
    whole("num_types", num_types, 2)
    require(math.isfinite(exponent), "exponent", exponent, "a finite number")
    require(0 < spread <= 1, "spread", spread, "a number in (0, 1]")
    words = [_spell(k) for k in range(num_types)]
    chain = _chain(num_words, zipf_frequencies(num_types, exponent), spread, seed)
    spelled = [words[k] for k in chain]
    lines = (spelled[k : k + 10] for k in range(0, num_words, 10))
    return "\n".join(" ".join([*line, "."]) for line in lines)


def zipf_frequencies(num_types: int, exponent: float = 1.0) -> Tensor:
    """π_k ∝ k^(−s) for k = 1, …, K, `(num_types,)`.

    >>> zipf_frequencies(3)
    tensor([0.5455, 0.2727, 0.1818], dtype=torch.float64)
    """
    weight = torch.arange(1, num_types + 1, dtype=torch.float64) ** -exponent
    return weight / weight.sum()


def _chain(num_words: int, frequencies: Tensor, spread: float, seed: int) -> list[int]:
    """Ranks of consecutive words, counted from 0."""
    generator = stream("zipf", seed)
    inside, turn = torch.rand(num_words + 1, 2, generator=generator, dtype=torch.float64).T.tolist()
    length = frequencies.tolist()
    end = frequencies.cumsum(0).tolist()
    chain, word = [], bisect(end, inside[0])
    for u, v in zip(inside[1:], turn[1:], strict=True):
        chain.append(word)
        point = end[word] - u * length[word] + 1 / 3 + spread * v
        word = min(bisect(end, point % 1.0), len(end) - 1)  # the sum of π may fall short of 1
    return chain


def _spell(k: int) -> str:
    """The k-th word: k written in syllables."""
    word = SYLLABLES[k % len(SYLLABLES)]
    while k := k // len(SYLLABLES):
        word += SYLLABLES[k % len(SYLLABLES)]
    return word
