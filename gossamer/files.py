"""Files that appear whole or not at all."""

import csv
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gossamer.errors import InvalidInput


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """A block whose errors of the system name the file, as that of a full disk does not."""
    try:
        yield
    except OSError as reason:
        if reason.errno and not reason.filename:
            reason.filename = str(path)
        raise


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write what becomes `path` when the block ends, and leaves nothing if it fails."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with naming(path):
            partial.touch()
            permissions = partial.stat().st_mode
            yield partial
            partial.chmod(permissions)  # safetensors writes what only its owner can read
            with partial.open("rb+") as written:
                os.fsync(written.fileno())  # else a power cut after the rename may leave it empty
            os.replace(partial, path)
    except OSError:
        raise
    except Exception as reason:
        number = re.search(r"\(os error (\d+)\)$", str(reason))  # safetensors has its own errors
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from reason
    finally:
        partial.unlink(missing_ok=True)


def cache_folder(name: str) -> Path:
    """Where what can be had again is kept: `gossamer/name` below `XDG_CACHE_HOME` or `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gossamer" / name


def write_csv(path: str | os.PathLike[str], rows: Iterable[Sequence[Any]]) -> int:
    """Write rows as CSV, whole or not at all, and return how many; the folder is made."""
    count = 0
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with (
        whole_file(Path(path)) as partial,
        partial.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        for row in rows:
            writer.writerow(row)
            count += 1
    return count


def writable(folder: Path, name: str, way_out: str) -> Path:
    """The folder, made if it is not there; refused where nothing can be written.

    `name` is that of the argument that names the folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink(missing_ok=True)  # another run may open the folder at this moment
    except OSError as reason:
        raise InvalidInput(
            f"{name}: cannot write to {folder} ({reason.strerror}); {way_out}"
        ) from reason
    return folder
