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
window.act = () => ({});
</script><script>{act}</script><script>
const decoded = image => image.decode().catch(() => problems.push("cannot decode an image"));
window.addEventListener("load", () => Promise.all([...document.images].map(decoded)).then(() => {
  const root = document.documentElement;
  root.setAttribute("data-findings", encodeURIComponent(JSON.stringify({
    problems,
    images: [...document.images].map(image => image.naturalWidth),
    links: [...document.querySelectorAll("a[href]")].map(a => a.getAttribute("href")),
    badges: [...document.querySelectorAll(".badge")].map(badge => badge.classList[1]),
    requests: performance.getEntriesByType("resource").map(entry => entry.name)
      .filter(name => !name.startsWith("data:")),
    width: window.innerWidth,
    overflow: Math.max(root.scrollWidth, document.body.scrollWidth) - root.clientWidth,
    acted: act(),
  })));
}));
</script>"""


def look_at(
    pages: Sequence[tuple[Path, int]], folder: Path, dark: bool = False, act: str = ""
) -> list[dict[str, Any]]:
    """Findings on copies of pages in `folder`, each in a window of so many pixels.

    Headless windows are at least 500 pixels wide, so the pages are put into frames of a page, which
    also means that the browser starts once. `act` may define a function of that name, whose answer
    is among the findings.
    """
    folder.mkdir(exist_ok=True)
    frames = []
    for place, (page, width) in enumerate(pages):
        html, look = page.read_text(encoding="utf-8"), LOOK.replace("{act}", act)
        html = html.replace("<head>", f"<head>{LISTEN}", 1).replace("</body>", f"{look}</body>", 1)
        (folder / f"{place}.html").write_text(html, encoding="utf-8")
        frames.append(f'<iframe src="{place}.html" style="width:{width}px"></iframe>')
    (folder / "frames.html").write_text(FRAMES.replace("{frames}", "".join(frames)))
    address = (folder / "frames.html").resolve().as_uri()
    found, _ = findings(address, folder / "profile", dark)
    return list(found["pages"])


def findings(
    address: str, profile: Path, dark: bool = False, seconds: int = 5
) -> tuple[Any, list[str]]:
    """What a page says in `data-findings` of an element, and the lines of the browser's console.

    The browser's own files go to `profile`. The clock of the page jumps from event to event, and
    the page has until it shows `seconds`.
    """
    flags = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--disable-dev-shm-usage", "--allow-file-access-from-files", f"--user-data-dir={profile}",
        f"--virtual-time-budget={1000 * seconds}", "--window-size=1400,1000",
        "--enable-logging=stderr",
    ]  # fmt: skip
    flags += ["--blink-settings=preferredColorScheme=0"] if dark else []
    command = [str(CHROMIUM), *flags, "--dump-dom", address]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=180)
    found = re.search(r'data-findings="([^"]*)"', shown.stdout)
    assert found, f"the page never finished:\n{shown.stdout[:500]}{shown.stderr[-500:]}"
    console = [line for line in shown.stderr.splitlines() if ":CONSOLE" in line]
    return json.loads(unquote(found[1])), console


FRAMES = """<!doctype html><style>iframe { height:800px; border:0 }</style><body>{frames}
<script>
const frames = [...document.querySelectorAll("iframe")];
const wait = setInterval(() => {
  const found = frames.map(one => one.contentDocument.documentElement.dataset.findings);
  if (!found.every(Boolean)) return;
  const pages = found.map(one => JSON.parse(decodeURIComponent(one)));
  document.body.dataset.findings = encodeURIComponent(JSON.stringify({ pages }));
  clearInterval(wait);
}, 50);
</script></body>"""
