"""Texts of the nodes: sorted, and how far apart they are."""

import torch

from gossamer.data import Corpus
from gossamer.studies.language.shards import Shards, divergence
from gossamer.studies.language.task import SIZES, Sorted, Task, Zipf

TEXT = Zipf(tokens=800, types=20)


def test_a_sorted_text_has_the_same_pieces_in_order():
    plain, inside = TEXT.corpus(0), Sorted(TEXT, (".",)).corpus(0)
    words = plain.vocabulary.decode(inside.train)
    sentences = " ".join(words).split(" . ")
    assert sentences[:-1] == sorted(sentences[:-1])
    assert torch.equal(inside.train.sort().values, plain.train.sort().values)
    assert inside.train.tolist() != plain.train.tolist()
    assert torch.equal(inside.validation, plain.validation)
    assert inside.vocabulary == plain.vocabulary


def test_speeches_are_sorted_by_who_speaks():
    class Play:
        def corpus(self, seed: int) -> Corpus:
            return Corpus.of("play", "B:\nyes\n\nA:\nno\n\nB:\nbye\n\n", "A")

    found = Sorted(Play(), ("\n", "\n")).corpus(0)  # type: ignore[arg-type]
    assert "".join(found.vocabulary.decode(found.train)) == "A:\nno\n\nB:\nbye\n\nB:\nyes\n\n"


def test_equal_shards_do_not_diverge_and_disjoint_ones_by_the_log_of_their_number():
    text = Corpus.of("tiny", list("abcdabcd"), list("a"))
    assert divergence(text, text.train, 2) == 0
    disjoint = text.train.sort().values
    assert abs(divergence(text, disjoint, 4) - torch.log(torch.tensor(4.0)).item()) < 1e-6


def test_facts_of_a_corpus():
    task = SIZES["test"].task(Task("causal", stride=32, epochs=20), seed=0)
    facts = Shards("facts", task, Sorted(TEXT, (".",))).run("cpu")
    assert facts["steps"] == task.steps("cpu")
    assert facts["parameters"] == task.problem("cpu").dim
    assert facts["train_tokens"] == len(task.corpus.train)
    assert facts["divergence"]["sorted"] > facts["divergence"]["contiguous"] > 0
