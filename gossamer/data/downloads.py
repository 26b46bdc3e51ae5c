"""Files from elsewhere: read from a folder or fetched once, and verified either way."""

import gzip
import hashlib
import os
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from gossamer.errors import InvalidInput, require
from gossamer.files import cache_folder, whole_file


@dataclass(frozen=True)
class Download:
    """One file of a corpus.

    Attributes:
        corpus: what it belongs to, e.g. "multi30k": the environment variable `GOSSAMER_MULTI30K`
            may name a folder that has the file.
        name: of the file.
        url: of the folder that it is fetched from, with a slash at the end.
        sha256: of its content.
    """

    corpus: str
    name: str
    url: str
    sha256: str

    def read(self, folder: str | os.PathLike[str] | None = None) -> bytes:
        """Its content, from `folder`, the folder of the environment variable, or the cache.

        The cache is filled by one download. A folder may hold the file compressed, with `.gz`
        after its name.
        """
        named = folder or os.environ.get(f"GOSSAMER_{self.corpus.upper()}")
        path = Path(named or cache_folder(self.corpus)) / self.name
        if not named and not path.is_file():
            self._fetch(path)
        compressed = path.with_name(f"{self.name}.gz")
        if not path.is_file() and compressed.is_file():
            return self._verified(gzip.decompress(compressed.read_bytes()), str(compressed))
        found, need = f"{path.parent} without {self.name}", f"a folder with {self.name}"
        require(path.is_file(), "folder", found, need, f"download it from {self.url}{self.name}")
        return self._verified(path.read_bytes(), str(path))

    def _fetch(self, path: Path) -> None:
        """Into the cache, whole and verified or not at all."""
        address = self.url + self.name
        try:
            with urllib.request.urlopen(address, timeout=60) as response:
                content = response.read()
        except OSError as reason:
            raise InvalidInput(
                f"{self.corpus}: {address} could not be read ({reason}); put the file into "
                f"{path.parent}, or name a folder that has it, e.g. {self.corpus}('folder')"
            ) from reason
        self._verified(content, address)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as partial:
            partial.write_bytes(content)

    def _verified(self, content: bytes, where: str) -> bytes:
        found, way_out = hashlib.sha256(content).hexdigest(), "delete the file and fetch it again"
        same = found == self.sha256
        require(same, where, f"sha256 {found}", f"sha256 {self.sha256}", way_out)
        return content
