"""The documentation site builds without a warning and can be read from disk, offline."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag

from report.browser import CHROMIUM, look_at

ROOT = Path(__file__).parent.parent
FETCHED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=\"?([^\s\">]+)")


def test_site(tmp_path: Path):
    """One test, since the site is built once."""
    site = tmp_path / "site"
    build(site)
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        if page.name != "404.html":  # served, if ever, from the root of a host
            stands_alone(page)
    assert not list(site.rglob("*.py"))
    if CHROMIUM is not None:
        fits_a_phone(site / "choose.html", tmp_path / "browser")
        finds(site / "index.html", "tracking", tmp_path / "browser")


def build(folder: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def stands_alone(page: Path) -> None:
    """Whatever the page fetches lies beside it, and no marker is left to fill."""
    text = page.read_text(encoding="utf-8")
    for address in FETCHED.findall(text):
        if not address.startswith(("#", "data:")):
            beside = page.parent / unquote(urldefrag(address).url)
            assert beside.is_file(), f"{page.name} fetches {address}"
    assert not re.search(r"<p>\[\[\w|of the README</(a|p)>", text), page.name


def fits_a_phone(page: Path, profile: Path) -> None:
    found = look_at(page, 390, profile)
    assert found["problems"] == []
    assert found["overflow"] <= 0
    assert all(width > 0 for width in found["images"])


def finds(page: Path, word: str, profile: Path) -> None:
    """Search answers in a page opened from disk."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    command = [CHROMIUM, *flags, "--virtual-time-budget=8000", "--dump-dom"]
    address = f"{page.as_uri()}?q={word}"
    shown = subprocess.run([*command, address], capture_output=True, text=True, timeout=90)
    assert "md-search-result__item" in shown.stdout
