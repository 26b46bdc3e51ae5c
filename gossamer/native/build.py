"""From C text to a function that can be called: compiled once per machine, kept in a cache."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")


@cache
def compiler() -> str | None:
    """The C compiler of this machine, if there is one that knows its instructions."""
    return shutil.which(os.environ.get("CC", "gcc")) if platform.system() == "Linux" else None


@cache
def function(text: str, width: int) -> Any:
    """`run` of a C file, for R = `width`; it lets other threads of Python go on meanwhile."""
    path = cache_folder() / f"{_key(text, width)}.so"
    if not path.exists():
        _compile(text, width, path)
    run = ctypes.CDLL(str(path)).run
    run.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p]
    run.restype = None
    return run


def cache_folder() -> Path:
    """Where compiled programs are kept: `gossamer/native` below `XDG_CACHE_HOME` or `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "gossamer" / "native"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _compile(text: str, width: int, path: Path) -> None:
    """Into a file beside `path` first: another process may be doing the same."""
    command = compiler()
    assert command is not None
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        (Path(folder) / "run.c").write_text(text)
        made = Path(folder) / "run.so"
        given = [
            command,
            *FLAGS,
            f"-DR={width}",
            f"-DREGISTER={register_bytes()}",
            "-o",
            str(made),
            f"{folder}/run.c",
            "-lm",
        ]
        subprocess.run(given, check=True, capture_output=True)
        made.replace(path)


def _key(text: str, width: int) -> str:
    about = "\n".join([text, str(width), *FLAGS, str(compiler()), _processor()])
    return hashlib.blake2b(about.encode(), digest_size=16).hexdigest()


@cache
def register_bytes() -> int:
    """Bytes of a vector register."""
    flags = _processor().split()
    return 64 if "avx512f" in flags else 32 if "avx2" in flags else 16


@cache
def _processor() -> str:
    """What -march=native depends on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return "\n".join(dict.fromkeys(one for one in lines if one.startswith(("model name", "flags"))))
