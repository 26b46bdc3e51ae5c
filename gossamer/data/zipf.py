"""Artificial text with Zipf-distributed words and a grammar, for runs without a download."""

from bisect import bisect

import torch
from torch import Tensor

from gossamer.data.tokens import Corpus, basic_english
from gossamer.errors import require, whole
from gossamer.interval import FINITE, SHARE, Interval, within
from gossamer.seeding import stream

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


def zipf_corpus(
    num_words: int = 100_000,
    *,
    num_types: int = 1000,
    validation_share: float = 0.1,
    seed: int = 0,
) -> Corpus:
    """A corpus made by `zipf_text`; its last part is held out for validation.

    `validation_share` is the share that is held out. For the other arguments see `zipf_text`. For
    other word frequencies, cut a text made by `zipf_text` and pass both parts to `Corpus.of`.

    >>> corpus = zipf_corpus(20_000, num_types=200)
    >>> len(corpus.train), len(corpus.vocabulary)
    (19800, 203)
    """
    within("validation_share", validation_share, Interval(0, 1))
    text = zipf_text(num_words, num_types=num_types, seed=seed)
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
    """Artificial text, one sentence of ten words per line; word frequencies follow Zipf's law.

    The words are numbered k = 1, …, `num_types`. Word k has frequency π_k ∝ k^(−s) with s =
    `exponent`, and owns an arc of length π_k on a circle of length 1. To find the next word, take a
    random point on the arc of the present word and move it along the circle by 1/3 + U, where U is
    uniformly distributed on (0, `spread`). The owner of the new point is the next word. This move
    takes a uniformly distributed point to a uniformly distributed point, so π is exactly
    stationary. But only words on a part of the circle can follow a given word. So a model that
    uses the context can do far better than one that knows only the frequencies.

    Args:
        num_words: number of words to draw; full stops are not counted.
        num_types: number of different words.
        exponent: the exponent s of Zipf's law.
        spread: how freely the next word is chosen, 0 < spread ≤ 1. With 1, it does not depend on
            the present word.
        seed: seed of the text.

    >>> print(zipf_text(20, num_types=50))
    ba de ne be di pe bi fi ba bo .
    go ba bo go ba bu ku ba bu ko .
    """
    whole("num_words", num_words, 1)
    whole("num_types", num_types, 2)
    within("exponent", exponent, FINITE)
    within("spread", spread, SHARE)
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
