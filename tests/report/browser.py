"""A page opened in headless Chromium, and what the browser found on it."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)

LISTEN = """<script>
window.problems = [];
window.addEventListener("error", e => problems.push(e.message || "cannot load"), true);
for (const level of ["error", "warn"])
  console[level] = (...words) => problems.push(words.join(" "));
</script>"""

LOOK = """<script>
const decoded = image => image.decode().catch(() => problems.push("cannot decode an image"));
window.addEventListener("load", () => Promise.all([...document.images].map(decoded)).then(() => {
  const root = document.documentElement;
  root.setAttribute("data-findings", encodeURIComponent(JSON.stringify({
    problems,
    images: [...document.images].map(image => image.naturalWidth),
    links: [...document.querySelectorAll("a[href]")].map(a => a.getAttribute("href")),
    verdicts: [...document.querySelectorAll("table.verdicts tbody tr")].map(tr => tr.cells.length),
    badges: [...document.querySelectorAll(".badge")].map(badge => badge.textContent),
    requests: performance.getEntriesByType("resource").map(entry => entry.name)
      .filter(name => !name.startsWith("data:")),
    width: window.innerWidth,
    overflow: Math.max(root.scrollWidth, document.body.scrollWidth) - root.clientWidth,
  })));
}));
</script>"""


def look_at(
    views: Sequence[tuple[Path, int]], folder: Path, dark: bool = False
) -> list[dict[str, Any]]:
    """Findings on a copy of each page beside it, in a window so many pixels wide.

    Headless windows are at least 500 pixels wide, so the pages are put into frames of one window.
    """
    copies = [_that_looks(*view) for view in views]
    widths = [width for _, width in views]
    frames = [FRAME.format(copy.as_uri(), w) for copy, w in zip(copies, widths, strict=True)]
    window = folder / "window.html"
    window.write_text(WINDOW.replace("FRAMES", "".join(frames)), encoding="utf-8")
    found = findings(window, folder / "profile", dark)
    for copy in copies:
        copy.unlink()
    return list(found["pages"])


def _that_looks(page: Path, width: int) -> Path:
    html = page.read_text(encoding="utf-8")
    html = html.replace("<head>", f"<head>{LISTEN}", 1).replace("</body>", f"{LOOK}</body>", 1)
    copy = page.resolve().with_name(f".looked-at-{width}.html")
    copy.write_text(html, encoding="utf-8")
    return copy


def findings(page: Path, folder: Path, dark: bool = False) -> dict[str, Any]:
    """What a page says in `data-findings` of an element; the browser's own files go to `folder`."""
    assert CHROMIUM is not None
    flags = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--disable-dev-shm-usage", "--allow-file-access-from-files", f"--user-data-dir={folder}",
        "--virtual-time-budget=5000", "--window-size=1400,1000",
    ]  # fmt: skip
    flags += ["--blink-settings=preferredColorScheme=0"] if dark else []
    command = [CHROMIUM, *flags, "--dump-dom", page.resolve().as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout
    found = re.search(r'data-findings="([^"]*)"', shown)
    assert found is not None, f"the page never finished loading:\n{shown[:500]}"
    return dict(json.loads(unquote(found[1])))


FRAME = '<iframe src="{}" style="width:{}px; height:800px; border:0"></iframe>'
WINDOW = """<!doctype html><body>FRAMES<script>
const frames = [...document.querySelectorAll("iframe")];
const told = ({ contentDocument: { documentElement: root } }) => root.dataset.findings;
const wait = setInterval(() => {
  if (!frames.every(told)) return;
  const pages = frames.map(frame => JSON.parse(decodeURIComponent(told(frame))));
  document.body.dataset.findings = encodeURIComponent(JSON.stringify({ pages }));
  clearInterval(wait);
}, 50);
</script></body>"""
