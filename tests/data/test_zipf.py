import math
from collections import Counter
from itertools import pairwise

import pytest
import torch

from gossamer.data import zipf_corpus, zipf_text
from gossamer.data.zipf import zipf_frequencies
from gossamer.errors import InvalidInput


def words(count: int, **options: float) -> list[str]:
    return [word for word in zipf_text(count, **options).split() if word != "."]


def test_word_frequencies_follow_zipf():
    count, types = 100_000, 50
    counts = Counter(words(count, num_types=types, spread=1.0))  # independent words
    found = torch.tensor(sorted(counts.values(), reverse=True)) / count
    expected = zipf_frequencies(types)
    error = (expected * (1 - expected) / count).sqrt()
    assert ((found[:10] - expected[:10]).abs() < 4 * error[:10]).all()


def test_grammar_keeps_the_frequencies_and_confines_what_follows():
    count, types, spread = 100_000, 50, 0.05
    text = words(count, num_types=types, spread=spread)
    share = max(Counter(text).values())
    assert share / count == pytest.approx(float(zipf_frequencies(types)[0]), abs=0.01)
    rare = min(Counter(text), key=Counter(text).get)
    after = {b for a, b in pairwise(text) if a == rare}
    reach = spread + float(zipf_frequencies(types)[-1])  # the arc that the next word lies in
    assert len(after) <= 2 + (zipf_frequencies(types).flip(0).cumsum(0) < reach).sum()


def test_context_is_worth_more_than_a_nat():
    corpus = zipf_corpus(60_000, num_types=48)
    pairs = Counter(pairwise(corpus.train.tolist()))
    firsts = Counter(corpus.train.tolist())
    total = sum(pairs.values())
    bigram = -sum(n / total * math.log(n / firsts[a]) for (a, _), n in pairs.items())
    assert bigram < corpus.unigram_loss() - 1


def test_text_is_a_function_of_its_seed_and_grows_at_the_end():
    assert zipf_text(100, seed=3) == zipf_text(100, seed=3)
    assert zipf_text(100, seed=3) != zipf_text(100, seed=4)
    assert zipf_text(200, seed=3).startswith(zipf_text(100, seed=3))


def test_all_words_are_distinct():
    assert len(set(words(200_000, num_types=300, exponent=0.0, spread=1.0))) == 300


@pytest.mark.parametrize("num_words", [-1, 0, 1, 2.5])
def test_too_few_words_for_two_parts_are_refused(num_words: int):
    with pytest.raises(InvalidInput, match="num_words: got"):
        zipf_corpus(num_words)


@pytest.mark.parametrize(
    ("option", "value"),
    [("num_types", 1), ("spread", 0.0), ("spread", 1.5), ("exponent", math.nan)],
)
def test_bad_options_are_refused(option: str, value: float):
    with pytest.raises(InvalidInput, match=option):
        zipf_text(10, **{option: value})
