"""Multi30k: 30,000 English image captions, the paper's corpus."""

import gzip
import hashlib
import os
import urllib.request
from pathlib import Path

from gossamer.data.tokens import Corpus, basic_english
from gossamer.errors import InvalidInput, require
from gossamer.files import whole_file

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

    Captions follow one another in one stream without separators. The vocabulary has 10,208
    words: 10,206 types of the training captions and `<pad>`, `<unk>`.

    Args:
        folder: holds `train.en.gz` and `val.en.gz`. By default the folder that the environment
            variable `GOSSAMER_MULTI30K` names, else a cache that is filled by one download. The
            content of both files is checked either way.

    Reference: Elliott et al. (2016), https://github.com/multi30k/dataset.
    """
    named = folder or os.environ.get("GOSSAMER_MULTI30K")
    train, validation = (
        basic_english(_read(Path(named or cache_folder()), name, download=not named))
        for name in SHA256
    )
    return Corpus.of("multi30k", train, validation)


def cache_folder() -> Path:
    """Where downloads are kept: `gossamer/multi30k` below `XDG_CACHE_HOME` or `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gossamer" / "multi30k"


def _read(folder: Path, name: str, download: bool) -> str:
    """The text of one file, its checksum verified."""
    path = folder / name
    if download and not path.is_file():
        _download(path)
    way_out = f"download it from {URL}{name}"
    require(path.is_file(), "folder", f"{folder} without {name}", f"a folder with {name}", way_out)
    content = path.read_bytes()
    _verify(content, str(path), SHA256[name])
    return gzip.decompress(content).decode("utf-8")


def _download(path: Path) -> None:
    """Fetch a file into the cache, whole and verified or not at all."""
    try:
        with urllib.request.urlopen(URL + path.name, timeout=60) as response:
            content = response.read()
    except OSError as reason:
        raise InvalidInput(
            f"multi30k: {URL}{path.name} could not be read ({reason}); put the file into "
            f"{path.parent}, or name a folder that has it, e.g. multi30k('captions')"
        ) from reason
    _verify(content, URL + path.name, SHA256[path.name])
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as partial:
        partial.write_bytes(content)


def _verify(content: bytes, where: str, expected: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    require(
        found == expected,
        where,
        f"sha256 {found}",
        f"sha256 {expected}",
        "delete the file and fetch it again",
    )
