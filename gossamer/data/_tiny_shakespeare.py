"""Tiny Shakespeare: a million characters of his plays, the usual small corpus."""

import os

from gossamer.data.downloads import Download
from gossamer.data.tokens import Corpus

FILE = Download(
    corpus="tiny_shakespeare",
    name="input.txt",
    url="https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/",
    sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
)


def tiny_shakespeare(folder: str | os.PathLike[str] | None = None) -> Corpus:
    """Tiny Shakespeare as characters: 1,003,854 for training, the last 111,540 for validation.

    The vocabulary has 67 entries: the 65 characters that occur, `<pad>` and `<unk>`. If you want
    words instead of characters, use `corpus_from_file`.

    Args:
        folder: the folder with `input.txt` or `input.txt.gz`. By default it is the folder that the
            environment variable `GOSSAMER_TINY_SHAKESPEARE` names. If that is not set, it is a
            cache folder into which the file is downloaded once. Its checksum is verified in any
            case.

    Reference: Karpathy (2015), https://github.com/karpathy/char-rnn.
    """
    text = FILE.read(folder).decode("ascii")
    cut = int(0.9 * len(text))
    return Corpus.of("tiny_shakespeare", text[:cut], text[cut:])
