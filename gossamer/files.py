"""Files that appear whole or not at all."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write what becomes `path` when the block ends, and leaves nothing if it fails."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.touch()
        permissions = partial.stat().st_mode
        yield partial
        partial.chmod(permissions)  # safetensors writes what only its owner can read
        with partial.open("rb+") as written:
            os.fsync(written.fileno())  # else a power cut after the rename may leave it empty
        os.replace(partial, path)
    except OSError as reason:
        if reason.errno and not reason.filename:  # a full disk does not say which file
            reason.filename = str(path)
        raise
    except Exception as reason:
        number = re.search(r"\(os error (\d+)\)$", str(reason))  # safetensors has its own errors
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from reason
    finally:
        partial.unlink(missing_ok=True)
