"""Multi30k: 30,000 English image captions, the paper's corpus."""

import gzip
import os

from gossamer.data.downloads import Download
from gossamer.data.tokens import Corpus, basic_english

URL = (
    "https://raw.githubusercontent.com/multi30k/dataset/"
    "a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/"
)
SHA256 = {
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
}


def multi30k(folder: str | os.PathLike[str] | None = None) -> Corpus:
    """The English captions of Multi30k: 377,687 training and 13,326 validation tokens.

    The captions form one stream without separators. The vocabulary has 10,208 entries: the 10,206
    different words of the training captions, `<pad>` and `<unk>`.

    Args:
        folder: the folder with `train.en.gz` and `val.en.gz`. By default it is the folder that the
            environment variable `GOSSAMER_MULTI30K` names. If that is not set, it is a cache folder
            into which the files are downloaded once. Their checksums are verified in any case.

    Reference: Elliott et al. (2016), https://github.com/multi30k/dataset.
    """
    files = (Download("multi30k", name, URL, checksum) for name, checksum in SHA256.items())
    texts = (gzip.decompress(file.read(folder)).decode("utf-8") for file in files)
    train, validation = map(basic_english, texts)
    return Corpus.of("multi30k", train, validation)
