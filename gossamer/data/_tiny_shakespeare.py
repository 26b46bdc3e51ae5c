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
    """Tiny Shakespeare as characters: 1,003,854 to learn from, the last 111,540 to be judged on.

    The vocabulary has 67 entries: the 65 characters that occur, `<pad>` and `<unk>`. For words in
    place of characters use `corpus_from_file`.

    Args:
        folder: holds `input.txt`, or `input.txt.gz`. By default the folder that the environment
            variable `GOSSAMER_TINY_SHAKESPEARE` names, else a cache that is filled by one download.
            The content is checked either way.

    Reference: Karpathy (2015), https://github.com/karpathy/char-rnn.
    """
    text = FILE.read(folder).decode("ascii")
    cut = int(0.9 * len(text))
    return Corpus.of("tiny_shakespeare", text[:cut], text[cut:])
