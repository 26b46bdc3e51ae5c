"""safetensors files that know a checksum of all their bytes, so that no damage goes unnoticed.

The SHA-256 stands in the file's own metadata, and is taken with 64 zeros in its place:

    length | {"__metadata__": {…, "sha256": "<64 hex digits>"}, "x": …} | tensors
"""

import hashlib
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gossamer.errors import InvalidInput
from gossamer.files import whole_file

BLANK = "0" * 64
SEAL = re.compile(rb'"sha256":"([0-9a-f]{64})"')
PIECE = 1 << 20


def write_sealed(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write a file with its checksum, whole or not at all, and on the disk before it appears."""
    own = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with whole_file(path) as partial:
        save_file(own, partial, metadata={**metadata, "sha256": BLANK})
        with partial.open("rb+") as file:
            place, digest = _seal(file)
            file.seek(place)
            file.write(digest.encode())


def read_sealed(path: Path, kind: str, way_out: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a file; executes nothing from it.

    One that is not as it was written raises `InvalidInput`, which says what `kind` of file it is
    and the `way_out`.
    """
    with undamaged(path, kind, way_out):
        with path.open("rb") as file:
            place, digest = _seal(file)
            file.seek(place)
            if digest != file.read(len(BLANK)).decode():
                raise ValueError("its checksum is wrong")
        with safe_open(path, framework="pt") as opened:
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
            return tensors, opened.metadata()


@contextmanager
def undamaged(path: Path, kind: str, way_out: str) -> Iterator[None]:
    """Reading a file within, whatever is wrong with it is said with its name and a way out."""
    try:
        yield
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as reason:
        words = f"{path} is damaged or not of Gossamer ({reason})"
        raise InvalidInput(f"{kind}: {words}; {way_out}") from reason


def _seal(file: BinaryIO) -> tuple[int, str]:
    """Where the checksum stands, and what it should be."""
    head = file.read(8)
    length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
    head += file.read(min(length, PIECE * 64))
    found = SEAL.search(head)
    if found is None:
        raise ValueError("it holds no checksum")
    place = found.start(1)
    digest = hashlib.sha256(head[:place] + BLANK.encode() + head[found.end(1) :])
    while piece := file.read(PIECE):
        digest.update(piece)
    return place, digest.hexdigest()
