"""The compiler, and the cache of what is executed."""

import os
import signal
import tempfile
import threading
import time
import warnings
from pathlib import Path

import pytest

from gossamer.native import build, threads

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="this machine has no C compiler")

TEXT = "int run(const long *sizes, double t, void **p) { *(double *)p = t * R; return 1; }"
program_folder = build.program_folder  # before it is replaced


def path_of(text: str = TEXT) -> Path:
    return build.program_folder() / f"{build._key(text, 2)}.so"


def test_compiled_once(monkeypatch):
    text = TEXT + "// once"
    assert build.function(text, 2) is not None
    build.function.cache_clear()
    monkeypatch.setattr(build, "_compile", None)
    assert build.function(text, 2) is not None


@pytest.mark.parametrize("what", ["cut", "changed", "empty", "others may write", "a link"])
def test_a_file_that_cannot_be_trusted_is_made_again(tmp_path, what: str):
    text = f"{TEXT} // {what}"
    assert build.function(text, 2) is not None
    path, good = path_of(text), path_of(text).read_bytes()
    spoilt = {"cut": good[:5000], "empty": b"", "changed": good[:99] + b"!" + good[100:]}
    if what in spoilt:
        path.unlink()  # what is loaded is not to be changed
        path.write_bytes(spoilt[what])
    elif what == "a link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.chmod(0o777)
    build.function.cache_clear()
    assert build.function(text, 2) is not None
    assert not path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o700
    assert build._is_whole(path)


def test_several_at_once():
    text = TEXT + "// several"
    path = path_of(text)
    threads = [threading.Thread(target=build._compile, args=(text, 2, path)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert build._is_whole(path)
    assert not [one for one in path.parent.iterdir() if one.is_dir()]


def test_who_comes_second_waits_and_finds_it_made(monkeypatch):
    text, made, really = TEXT + "// one", [], build._compile

    def slowly(*given) -> None:
        made.append(given)
        time.sleep(0.05)
        really(*given)

    monkeypatch.setattr(build, "_compile", slowly)
    threads = [threading.Thread(target=build.library, args=(text, 2)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert build._is_whole(path_of(text))


def test_a_compiler_that_fails_is_asked_once(monkeypatch):
    asked = []
    compile = build._compile
    monkeypatch.setattr(build, "_compile", lambda *given: asked.append(1) or compile(*given))
    assert build.function("no C at all", 2) is None
    assert build.function("no C at all", 2) is None
    assert len(asked) == 1


def test_which_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    assert build.compiler() is None
    monkeypatch.setenv("CC", "")
    assert build.compiler() is not None
    monkeypatch.setenv("GOSSAMER_NATIVE", "0")
    assert build.compiler() is None


def test_the_folder_is_ours_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = program_folder()
    assert folder == tmp_path / "gossamer" / "native"
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("what", ["others may write", "of another user", "a file", "no home"])
def test_another_folder_where_it_is_not(monkeypatch, tmp_path, what: str):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "gossamer" / "native"
    if what == "a file":
        (tmp_path / "gossamer").write_text("")
    elif what == "no home":
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setattr(Path, "home", _no_home)
    else:
        folder.mkdir(parents=True)
        folder.chmod(0o777 if what == "others may write" else 0o700)
    if what == "of another user":
        monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    found = program_folder()
    assert found != folder
    assert found.stat().st_mode & 0o777 == 0o700


def test_no_place_at_all_is_no_error(monkeypatch, tmp_path):
    """In a container where nothing can be written, training went down with the pass over x."""
    monkeypatch.setattr(build, "program_folder", program_folder)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    monkeypatch.setattr(build, "_own_folder", build._own_folder.__wrapped__)
    assert build.library(TEXT + "// nowhere", 2) is None


def _no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_threads_after_a_fork():
    """A child has none of its parent's threads, and must not wait for them."""
    threads.in_threads(lambda first, last: None, 2, threads=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(20)
        threads.in_threads(lambda first, last: None, 2, threads=2)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
