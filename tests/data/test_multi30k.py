import os
import shutil
import urllib.request
from pathlib import Path

import pytest

from gossamer.data import multi30k
from gossamer.data._multi30k import SHA256
from gossamer.errors import InvalidInput
from gossamer.files import cache_folder


@pytest.fixture
def folder() -> Path:
    named = os.environ.get("GOSSAMER_MULTI30K")
    found = Path(named) if named else cache_folder("multi30k")
    if not all((found / name).exists() for name in SHA256):
        pytest.skip("Multi30k is neither in the cache nor in the folder GOSSAMER_MULTI30K names")
    return found


def test_sizes_are_the_papers(folder: Path):
    corpus = multi30k(folder)
    assert len(corpus.vocabulary) == 10_208
    assert (len(corpus.train), len(corpus.validation)) == (377_687, 13_326)
    assert corpus.unigram_loss() == pytest.approx(5.631, abs=5e-4)  # the table's plateau


def test_folder_of_the_environment_is_read(folder: Path, tmp_path, monkeypatch):
    for name in SHA256:
        shutil.copy(folder / name, tmp_path)
    monkeypatch.setenv("GOSSAMER_MULTI30K", str(tmp_path))
    assert multi30k().digest() == multi30k(folder).digest()


def test_changed_file_is_refused(folder: Path, tmp_path):
    for name in SHA256:
        shutil.copy(folder / name, tmp_path)
    (tmp_path / "val.en.gz").write_bytes(b"something else")
    with pytest.raises(InvalidInput, match=r"val\.en\.gz: got sha256"):
        multi30k(tmp_path)


def test_folder_without_the_files_is_refused_with_their_address(tmp_path):
    with pytest.raises(InvalidInput, match=r"without train\.en\.gz.*download it from https"):
        multi30k(tmp_path)


def test_a_folder_in_place_of_a_file_is_refused(tmp_path):
    (tmp_path / "train.en.gz").mkdir()
    with pytest.raises(InvalidInput, match=r"without train\.en\.gz"):
        multi30k(tmp_path)


def test_download_fills_the_cache_once(folder: Path, tmp_path, monkeypatch):
    opened = []

    def serve(url: str, timeout: float):
        opened.append(url)
        return (folder / url.rsplit("/", 1)[1]).open("rb")

    monkeypatch.delenv("GOSSAMER_MULTI30K", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(urllib.request, "urlopen", serve)
    assert multi30k().digest() == multi30k().digest()
    assert len(opened) == 2
    assert sorted(path.name for path in cache_folder("multi30k").iterdir()) == sorted(SHA256)


def test_failed_download_says_what_to_do(tmp_path, monkeypatch):
    def fail(url: str, timeout: float):
        raise OSError("no route to host")

    monkeypatch.delenv("GOSSAMER_MULTI30K", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(urllib.request, "urlopen", fail)
    with pytest.raises(InvalidInput, match=r"no route to host.*name a folder that has it"):
        multi30k()
    assert not cache_folder("multi30k").exists()
