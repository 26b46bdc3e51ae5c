"""Text for language models: tokens, corpora, and each node's order of batches."""

from gossamer.data._multi30k import multi30k
from gossamer.data.order import BatchOrder, TokenWindows, token_shard
from gossamer.data.tokens import Corpus, Vocabulary, basic_english, corpus_from_file
from gossamer.data.zipf import zipf_corpus, zipf_text

__all__ = [
    "BatchOrder",
    "Corpus",
    "TokenWindows",
    "Vocabulary",
    "basic_english",
    "corpus_from_file",
    "multi30k",
    "token_shard",
    "zipf_corpus",
    "zipf_text",
]
