import gzip
import os
import urllib.request
from pathlib import Path

import pytest

from gossamer.data import tiny_shakespeare
from gossamer.errors import InvalidInput
from gossamer.files import cache_folder


@pytest.fixture
def folder() -> Path:
    named = os.environ.get("GOSSAMER_TINY_SHAKESPEARE")
    found = Path(named) if named else cache_folder("tiny_shakespeare")
    if not any((found / name).exists() for name in ("input.txt", "input.txt.gz")):
        pytest.skip("Tiny Shakespeare is neither in the cache nor in GOSSAMER_TINY_SHAKESPEARE")
    return found


def test_sizes_are_the_usual_ones(folder: Path):
    corpus = tiny_shakespeare(folder)
    assert (len(corpus.train), len(corpus.validation)) == (1_003_854, 111_540)
    assert len(corpus.vocabulary) == 65 + 2
    assert "".join(corpus.vocabulary.decode(corpus.train[:14])) == "First Citizen:"


def test_plain_and_compressed_files_are_the_same_corpus(folder: Path, tmp_path: Path):
    packed, plain = folder / "input.txt.gz", folder / "input.txt"
    text = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    (tmp_path / "input.txt").write_bytes(text)
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "input.txt.gz").write_bytes(gzip.compress(text, 1))
    assert tiny_shakespeare(tmp_path).digest() == tiny_shakespeare(tmp_path / "packed").digest()


def test_changed_text_is_refused(tmp_path: Path):
    (tmp_path / "input.txt.gz").write_bytes(gzip.compress(b"Second Citizen:"))
    with pytest.raises(InvalidInput, match=r"input\.txt\.gz: got sha256 .*, need sha256 86c4e6aa"):
        tiny_shakespeare(tmp_path)


def test_the_environment_names_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GOSSAMER_TINY_SHAKESPEARE", str(tmp_path))
    with pytest.raises(InvalidInput, match=r"without input\.txt, need .*; download it from https"):
        tiny_shakespeare()


def test_what_a_server_sends_is_verified_before_it_is_kept(tmp_path: Path, monkeypatch):
    class Wrong:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def read(self) -> bytes:
            return b"not Shakespeare"

    monkeypatch.delenv("GOSSAMER_TINY_SHAKESPEARE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: Wrong())
    with pytest.raises(InvalidInput, match=r"got sha256"):
        tiny_shakespeare()
    assert not cache_folder("tiny_shakespeare").exists()
