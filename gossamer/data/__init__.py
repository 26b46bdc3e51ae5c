"""Data: named data sets, text, splits over the nodes, and each node's order of batches."""

from gossamer.data._multi30k import multi30k
from gossamer.data._tiny_shakespeare import tiny_shakespeare
from gossamer.data.dataset import Dataset
from gossamer.data.named import DATASETS, load
from gossamer.data.order import BatchOrder, TokenWindows, token_shard
from gossamer.data.splits import Split, by_label, dirichlet, iid, shards, sizes
from gossamer.data.tokens import Corpus, Vocabulary, basic_english, corpus_from_file
from gossamer.data.zipf import zipf_corpus, zipf_text

__all__ = [
    "DATASETS",
    "BatchOrder",
    "Corpus",
    "Dataset",
    "Split",
    "TokenWindows",
    "Vocabulary",
    "basic_english",
    "by_label",
    "corpus_from_file",
    "dirichlet",
    "iid",
    "load",
    "multi30k",
    "shards",
    "sizes",
    "tiny_shakespeare",
    "token_shard",
    "zipf_corpus",
    "zipf_text",
]
