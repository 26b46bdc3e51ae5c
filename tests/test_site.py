"""The documentation site builds without a warning and can be read from disk, offline."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest
from browser import CHROMIUM, findings

import gossamer as gs

ROOT = Path(__file__).parent.parent
FETCHED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=\"?([^\s\">]+)")


@pytest.mark.slow
def test_site(tmp_path: Path):
    """One test, since the site is built once."""
    site = tmp_path / "site"
    build(site)
    brought = {*site.glob("_static/**/*"), *site.glob("assets/**/*")}
    pages = sorted({*site.rglob("*.html")} - brought)
    assert len(pages) > 60
    for page in pages:
        stands_alone(page)
    assert not list(site.rglob("*.py"))
    documents_every_name(site)
    if CHROMIUM is not None:
        looks_right(site, pages, tmp_path / "browser")


def build(folder: Path) -> None:
    trees = ["--doctree-dir", str(folder.with_name("trees"))]
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", *trees]
    done = subprocess.run([*command, "docs", str(folder)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def stands_alone(page: Path) -> None:
    """Whatever the page fetches lies beside it, and no marker or formula is left to fill."""
    text = page.read_text(encoding="utf-8")
    for address in FETCHED.findall(text):
        if not address.startswith(("#", "data:")):
            beside = page.parent / unquote(urldefrag(address).url.partition("?")[0])
            assert beside.is_file(), f"{page.name} fetches {address}"
    assert not re.search(r"<p>\[\[\w|of the README</(a|p)>|<p>\$\$", text), page.name


def documents_every_name(site: Path) -> None:
    """Every class and function of the top-level namespace has its place in the API."""
    pages = "".join(page.read_text(encoding="utf-8") for page in site.glob("reference/*.html"))
    named = [name for name in gs.__all__ if callable(getattr(gs, name))]
    assert [name for name in named if f'id="gossamer.{name}"' not in pages] == []
    assert not re.search(r"[:∶]py[:∶]obj", pages), "markup that Sphinx did not read"


WIDTHS = (1280, 390)
LOOK = """<!doctype html><body>
<iframe id="page" style="width: 1280px; height: 800px; border: 0"></iframe><script>
const frame = document.getElementById("page"), found = {}
const shown = element => element.getClientRects().length > 0
const scrolls = element => /auto|scroll/.test(getComputedStyle(element).overflowX)
function boxed(element) {
  while (element.className !== "bd-article" && !scrolls(element)) element = element.parentElement
  return scrolls(element)
}
function look(name) {
  const page = frame.contentDocument, root = page.documentElement
  const now = frame.clientWidth, others = %(widths)s.filter(width => width !== now)
  const themes = page.querySelector(".bd-article img") ? ["light", "dark"] : ["light"]
  for (const width of [now, ...others]) for (const theme of themes) {
    root.dataset.theme = theme
    frame.style.width = `${width}px`  // last, since a new width is a new layout
    const every = theme === "light" ? "*" : "img"  // dark pages differ in colours and pictures
    const parts = [...page.querySelectorAll(`.bd-article ${every}`)].filter(shown)
    const wide = part => part.getBoundingClientRect().right > width + 0.5 && !boxed(part)
    found[`${name} ${theme} ${width}`] = {
      overflow: Math.max(root.scrollWidth, page.body.scrollWidth) - root.clientWidth,
      empty: parts.filter(part => part.naturalWidth === 0).map(part => part.src),
      cut: parts.filter(wide).map(part => part.outerHTML.slice(0, 200)),
      paper: getComputedStyle(page.body).backgroundColor,
    }
  }
}
let scripts  // of the page that was loaded last: one with the same need not run them again
async function open(name) {
  const text = await new Promise(loaded => {
    const file = new XMLHttpRequest()
    file.onload = () => loaded(file.responseText)
    file.open("GET", name)
    file.send()
  })
  const next = new DOMParser().parseFromString(text, "text/html")
  const needed = [...next.scripts].map(script => script.src.split("/").pop()).join()
  if (needed === scripts) return put(next.body, name)
  await new Promise(loaded => { frame.onload = loaded; frame.src = name })
  scripts = needed
}
function put(body, name) {
  const page = frame.contentDocument, base = page.createElement("base")
  base.href = new URL(name, location)
  page.head.prepend(base)
  page.body.replaceWith(page.adoptNode(body))
}
async function visit(name) {
  await open(name)
  const images = [...frame.contentDocument.images]
  images.forEach(image => image.loading = "eager")
  await Promise.all(images.filter(shown).map(image => image.decode().catch(() => {})))
  look(name)
}
async function search(word) {
  await new Promise(loaded => { frame.onload = loaded; frame.src = `search.html?q=${word}` })
  const results = () => frame.contentDocument.querySelectorAll("#search-results li").length
  const wait = resolve => setTimeout(resolve, 50)
  for (let tries = 0; tries < 99 && results() < 9; tries++) await new Promise(wait)
  found.results = results()
}
async function all(names) {
  for (const name of names) await visit(name)
  await search("tracking")
  document.body.innerHTML = ""
  document.body.dataset.findings = encodeURIComponent(JSON.stringify(found))
}
all(%(pages)s)
</script></body>"""


def looks_right(site: Path, pages: list[Path], profile: Path) -> None:
    """In one browser: no page scrolls sideways, what is cut scrolls in a box of its own, and no
    page complains. Pages that differ in their body only are loaded once.
    """
    found, complaints = look_at_all(site, [str(page.relative_to(site)) for page in pages], profile)
    assert complaints == []
    assert found.pop("results") > 3
    light = [view for view in found if " light " in view]
    assert len(light) == len(WIDTHS) * len(pages)
    for view, seen in found.items():
        assert (seen["overflow"], seen["empty"], seen["cut"]) == (0, [], []), view
    light, dark = (found[f"index.html {theme} 1280"]["paper"] for theme in ("light", "dark"))
    assert light != dark


def look_at_all(site: Path, names: list[str], profile: Path) -> tuple[dict[str, Any], list[str]]:
    """What the browser measured, and what was written on its console."""
    look = site / "look.html"
    look.write_text(LOOK % {"widths": list(WIDTHS), "pages": json.dumps(names)}, encoding="utf-8")
    found, written = findings(look.as_uri(), profile, seconds=600)
    complaints = [line for line in written if '"[PST]: ' not in line]  # what the theme tells
    return dict(found), complaints
