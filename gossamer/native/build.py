"""From C text to a function that can be called: compiled once per machine, kept in a cache.

What is in the cache is executed. It is read only where the folder and the file belong to this user
and nobody else can write to them, and where the file is as it was written.
"""

import contextlib
import ctypes
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from gossamer.files import cache_folder

FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
PATIENCE = 120.0
"""Seconds after which the compiler is given up."""

DIGEST = 16
"""Bytes at the end of a compiled file that tell whether it is whole."""


def compiler() -> str | None:
    """The C compiler of this machine, `CC` or gcc; None where there is none, or it is not wanted.

    Steps are taken as they are written where the environment says `GOSSAMER_NATIVE=0`.
    """
    if platform.system() != "Linux" or os.environ.get("GOSSAMER_NATIVE") == "0":
        return None
    return shutil.which(os.environ.get("CC") or "gcc")


@cache
def function(text: str, width: int) -> Callable[..., int] | None:
    """`run` of a C file, for R = `width`; None where it cannot be compiled or loaded.

    It lets other threads of Python go on meanwhile.
    """
    program = library(text, width)
    if program is None:
        return None
    run = program.run
    run.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p]
    run.restype = ctypes.c_int
    return run


def library(text: str, width: int = 1) -> ctypes.CDLL | None:
    """All functions of a C file, for R = `width`; None where it cannot be compiled or loaded."""
    try:
        path = program_folder() / f"{_key(text, width)}.so"
        if not _is_ready(path):
            with _one_at_a_time(path):
                if not _is_ready(path):
                    _compile(text, width, path)
        return ctypes.CDLL(str(path))
    except (OSError, subprocess.SubprocessError):
        return None


def program_folder() -> Path:
    """Where compiled programs are kept: the cache's folder `native`.

    Where that cannot be written to, or others can write to it, a folder that this process makes and
    takes away again.
    """
    try:
        folder = cache_folder("native")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_ours(folder) and os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):  # no home, or one that is not to be written to
        pass
    return Path(_own_folder().name)


@cache
def _own_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="gossamer-native-")


def _is_ours(path: Path) -> bool:
    """Whether it is there, belongs to this user, and nobody else can write to it."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid == os.getuid() and not others and not stat.S_ISLNK(found.st_mode)


def _is_ready(path: Path) -> bool:
    return _is_ours(path) and _is_whole(path)


@contextlib.contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """All ranks of a host want the same program at once: one compiles it, where locks are kept."""
    import fcntl  # only where there is a compiler: on Linux

    with path.with_suffix(".lock").open("w") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_whole(path: Path) -> bool:
    """Whether a file ends in the digest of what comes before."""
    content = path.read_bytes()
    return content[-DIGEST:] == _digest(content[:-DIGEST])


def _compile(text: str, width: int, path: Path) -> None:
    """Into a file beside `path` first: another process may be doing the same."""
    command = compiler()
    assert command is not None
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        written, made = Path(folder) / "run.c", Path(folder) / "run.so"
        written.write_text(text)
        sizes = [f"-DR={width}", f"-DREGISTER={register_bytes()}"]
        given = [command, *FLAGS, *sizes, "-o", str(made), str(written), "-lm"]
        quiet = {"stdin": subprocess.DEVNULL, "capture_output": True}
        subprocess.run(given, check=True, timeout=PATIENCE, **quiet)  # type: ignore[call-overload]
        content = made.read_bytes()
        made.write_bytes(content + _digest(content))  # what follows a program is not loaded
        made.chmod(0o700)
        made.replace(path)


def _key(text: str, width: int) -> str:
    about = [text, str(width), *FLAGS, str(compiler()), platform.machine(), _processor()]
    return _digest("\n".join(about).encode()).hex()


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST).digest()


@cache
def register_bytes() -> int:
    """Bytes of a vector register."""
    flags = _processor().split()
    return 64 if "avx512f" in flags else 32 if "avx2" in flags else 16


@cache
def _processor() -> str:
    """What -march=native depends on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    told = ("model name", "flags", "CPU part", "Features")  # the last two: of ARM
    return "\n".join(dict.fromkeys(one for one in lines if one.startswith(told)))
