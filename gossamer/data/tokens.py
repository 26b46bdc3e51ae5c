"""From text to token streams: the tokenizer, the vocabulary and the corpus."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from gossamer.digests import digest
from gossamer.errors import InvalidInput, require
from gossamer.interval import Interval, within

PAD, UNKNOWN = "<pad>", "<unk>"

_RULES = (
    (re.compile(r"<br />|[;:]"), " "),
    (re.compile(r'"'), ""),
    (re.compile(r"([.,()!?'])"), r" \1 "),
)


def basic_english(text: str) -> list[str]:
    """Splits English text into tokens by the rules of torchtext's `basic_english`.

    The text is converted to lower case and split at white space, semicolons and colons. Each of
    `. , ( ) ! ? '` is a token of its own. Each `"` is removed.

    >>> basic_english("A man's hat (red); \\"odd\\".")
    ['a', 'man', "'", 's', 'hat', '(', 'red', ')', 'odd', '.']
    """
    text = text.lower()
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text.split()


@dataclass(frozen=True, repr=False)
class Vocabulary:
    """The words that a model knows; a token is an index into `words`.

    >>> vocabulary = Vocabulary.of(["b", "a", "b"])
    >>> vocabulary
    Vocabulary(4 words)
    >>> vocabulary.words, vocabulary.encode(["a", "b", "c"]).tolist()
    (('<pad>', '<unk>', 'b', 'a'), [3, 2, 1])
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, words: Iterable[str]) -> "Vocabulary":
        """The vocabulary of a text: `<pad>`, `<unk>`, then its words, the most frequent first."""
        counts = Counter(words)
        types = counts.keys() - {PAD, UNKNOWN}
        return cls((PAD, UNKNOWN, *sorted(types, key=lambda word: (-counts[word], word))))

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"

    def encode(self, words: Iterable[str]) -> Tensor:
        """The token of each word, as one vector; an unknown word becomes `<unk>`."""
        unknown = self._index[UNKNOWN]
        return torch.tensor([self._index.get(word, unknown) for word in words], dtype=torch.int64)

    def decode(self, tokens: Tensor) -> list[str]:
        """The words that the tokens stand for."""
        return [self.words[token] for token in tokens.tolist()]

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: token for token, word in enumerate(self.words)}


@dataclass(frozen=True, repr=False)
class Corpus:
    """A stream of tokens for training, another one for validation, and their vocabulary."""

    name: str
    train: Tensor
    validation: Tensor
    vocabulary: Vocabulary

    def __repr__(self) -> str:
        tokens = f"{len(self.train)} training and {len(self.validation)} validation tokens"
        return f"Corpus({self.name!r}, {tokens}, {len(self.vocabulary)} words)"

    @classmethod
    def of(cls, name: str, train: Sequence[str], validation: Sequence[str]) -> "Corpus":
        """A corpus of two sequences of words; the vocabulary consists of the training words."""
        vocabulary = Vocabulary.of(train)
        return cls(name, vocabulary.encode(train), vocabulary.encode(validation), vocabulary)

    def unigram_loss(self) -> float:
        """The validation loss of predicting each word by its frequency in the training stream.

        It is the cross-entropy in nats per token, with 1 added to the count of every word of the
        vocabulary. A model that ignores the context can reach this loss. On Multi30k it is 5.63,
        and several baselines of the GT-NSGDm paper end there.

        >>> corpus = Corpus.of("tiny", ["a", "a", "b"], ["a", "b"])
        >>> corpus
        Corpus('tiny', 3 training and 2 validation tokens, 4 words)
        >>> round(corpus.unigram_loss(), 4)                  # −(log 3/7 + log 2/7)/2
        1.05
        """
        counts = torch.bincount(self.train, minlength=len(self.vocabulary)).double() + 1
        return float(-(counts / counts.sum()).log()[self.validation].mean())

    def digest(self) -> str:
        """A hash of the two streams, sixteen hexadecimal digits."""
        return digest(self.train, self.validation)


def corpus_from_file(path: str | os.PathLike[str], *, validation_share: float = 0.1) -> Corpus:
    """A corpus from a UTF-8 text file; its last words are held out for validation.

    The words are those of `basic_english`; `validation_share` is the share that is held out.
    """
    within("validation_share", validation_share, Interval(0, 1))
    try:
        words = basic_english(Path(path).read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as reason:
        raise InvalidInput(f"path: got {path} ({reason}), need a UTF-8 text file") from reason
    cut = len(words) - max(1, round(validation_share * len(words)))
    require(cut > 0, "path", f"{path} with {len(words)} words", "a text of at least 2 words")
    return Corpus.of(Path(path).name, words[:cut], words[cut:])
