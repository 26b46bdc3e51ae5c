"""The documentation site builds without a warning and can be read from disk, offline."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag

ROOT = Path(__file__).parent.parent
FETCHED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=\"?([^\s\">]+)")


def build(folder: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_site(tmp_path: Path):
    build(tmp_path)
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        if page.name != "404.html":  # served, if ever, from the root of a host
            stands_alone(page)
    assert (tmp_path / "search" / "search_index.js").is_file()
    assert not list(tmp_path.rglob("*.py"))


def stands_alone(page: Path) -> None:
    """Whatever the page fetches lies beside it."""
    for address in FETCHED.findall(page.read_text(encoding="utf-8")):
        if not address.startswith(("#", "data:")):
            beside = page.parent / unquote(urldefrag(address).url)
            assert beside.is_file(), f"{page.name} fetches {address}"
