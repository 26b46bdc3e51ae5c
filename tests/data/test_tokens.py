import pytest
import torch

from gossamer.data import Corpus, Vocabulary, basic_english, corpus_from_file
from gossamer.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Two young, White males.", ["two", "young", ",", "white", "males", "."]),
        ("it's (not) so!?", ["it", "'", "s", "(", "not", ")", "so", "!", "?"]),
        ('a "quoted" word', ["a", "quoted", "word"]),
        ("one;two:three", ["one", "two", "three"]),
        ("line<br />break\n\tand  space", ["line", "break", "and", "space"]),
        ("t-shirt 3.5", ["t-shirt", "3", ".", "5"]),
        ("", []),
    ],
)
def test_tokens_follow_basic_english(text: str, tokens: list[str]):
    assert basic_english(text) == tokens


def test_vocabulary_is_ordered_by_frequency_then_spelling():
    assert Vocabulary.of(["c", "b", "b", "a"]).words == ("<pad>", "<unk>", "b", "a", "c")


def test_encoding_inverts_decoding_and_maps_strangers_to_unknown():
    vocabulary = Vocabulary.of(["x", "y"])
    assert vocabulary.decode(vocabulary.encode(["y", "x"])) == ["y", "x"]
    assert vocabulary.decode(vocabulary.encode(["z"])) == ["<unk>"]


def test_any_text_file_is_a_corpus(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("Été, the end. " * 10, encoding="utf-8")  # five tokens each
    corpus = corpus_from_file(path, validation_share=0.2)
    assert (len(corpus.train), len(corpus.validation)) == (40, 10)
    assert corpus.vocabulary.decode(corpus.train[:5]) == ["été", ",", "the", "end", "."]
    assert corpus.name == "book.txt"


def test_too_short_a_text_is_refused(tmp_path):
    path = tmp_path / "word.txt"
    path.write_text("word")
    with pytest.raises(InvalidInput, match="at least 2 words"):
        corpus_from_file(path)


def test_digest_names_the_streams():
    first, second = Corpus.of("a", ["x", "y"], ["x"]), Corpus.of("b", ["x", "y"], ["y"])
    assert first.digest() != second.digest()
    assert first.digest() == Corpus.of("c", ["x", "y"], ["x"]).digest()


def test_unigram_loss_of_a_uniform_stream_is_the_log_of_its_types():
    words = [str(k % 100) for k in range(100_000)]
    assert Corpus.of("uniform", words, words).unigram_loss() == pytest.approx(
        torch.tensor(100.0).log().item(), abs=1e-3
    )


def test_special_words_in_the_text_are_not_counted_twice():
    vocabulary = Vocabulary.of(["a", "<unk>", "<pad>", "a"])
    assert vocabulary.words == ("<pad>", "<unk>", "a")
    assert vocabulary.encode(["<pad>", "<unk>", "stranger"]).tolist() == [0, 1, 1]


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path):
    path = tmp_path / "bom.txt"
    path.write_text("the end", encoding="utf-8-sig")
    assert corpus_from_file(path).vocabulary.words[2:] == ("the",)


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("café au lait".encode("latin-1"))
    with pytest.raises(InvalidInput, match="need a UTF-8 text file"):
        corpus_from_file(path)
