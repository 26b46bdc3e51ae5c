"""The page: made from stored results only, self-contained, and right in a browser."""

import base64
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch
from browser import CHROMIUM, look_at

import gossamer as gs
from gossamer.experiments import Experiment, Options, Table, Unit, Verdict, Work
from gossamer.plots import panels
from gossamer.report import write_report
from gossamer.studies import EXPERIMENTS

STUDY = {name: EXPERIMENTS[name] for name in ("claim-1", "connectivity")}
TEST = Options("test")


def computed(experiment: Experiment[Any], out: Path, options: Options = TEST) -> Work:
    work = Work.below(out, experiment, options)
    work.run()
    return work


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Claim 1 and connectivity at the size "test"; nothing else."""
    out = tmp_path_factory.mktemp("study")
    for experiment in STUDY.values():
        computed(experiment, out)
    return out


@pytest.fixture(scope="module")
def page(study: Path) -> Path:
    return write_report(EXPERIMENTS.values(), study, TEST)


class References(HTMLParser):
    """Every attribute that makes a browser fetch or link something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.scripts = 0

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        for name, value in attributes:
            if name in {"src", "href", "srcset", "data", "action", "poster"}:
                self.found.append((tag, value))


def test_everything_is_in_the_page(page: Path):
    html = page.read_text(encoding="utf-8")
    references = References()
    references.feed(html)
    for tag, target in references.found:
        if tag == "a":
            assert target.startswith("#") or (page.parent / target).is_file()
        else:
            assert target.startswith("data:")
    assert references.scripts == 0
    assert not re.search(r"@import|url\(", html)
    assert "http" not in re.sub(r'src="data:[^"]*"', "", html)


def test_pictures_refer_to_nothing_outside(page: Path):
    html = page.read_text(encoding="utf-8")
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', html)
    assert len(pictures) == 2
    for picture in pictures:
        svg = base64.b64decode(picture).decode()
        assert all(target.startswith("#") for target in re.findall(r'href="([^"]*)"', svg))
        assert "<script" not in svg
        assert "<text" not in svg, "text that depends on the fonts of the reader"


def test_what_is_missing_is_named_with_the_command_that_makes_it(page: Path):
    html = page.read_text(encoding="utf-8")
    for name in EXPERIMENTS:
        assert (f'<section id="{name}">' in html) == (name in STUDY)
        assert f"<code>gossamer run {name} --size test</code>" in html
    assert "Not run yet" in html


def counts(html: str) -> list[int]:
    """How many hold, hold in part, and do not, at the top of the page."""
    rows = (("yes", "hold"), ("partly", "hold in part"), ("no", "do not"))
    found = [re.findall(rf'<span class="{c}"><b>(\d+)</b> {w}</span>', html) for c, w in rows]
    return [int(number) for (number,) in found]


def badges(html: str) -> list[int]:
    return [html.count(f'<span class="badge {holds}">') for holds in ("yes", "partly", "no")]


def test_every_verdict_has_its_badge_and_the_papers_are_counted(page: Path, study: Path):
    html = page.read_text(encoding="utf-8")
    verdicts = []
    for experiment in STUDY.values():
        results = Work.below(study, experiment, TEST).results()
        assert results is not None
        verdicts += experiment.verdicts(results)
    all_of_them, papers = (
        [[v.holds for v in some].count(holds) for holds in ("yes", "partly", "no")]
        for some in (verdicts, [v for v in verdicts if v.source == "paper"])
    )
    assert badges(html) == all_of_them
    assert counts(html) == papers
    assert sum(papers) == sum(all_of_them) - 1, "λ is a number of the setting"


def test_nothing_is_simulated(study: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*arguments, **options):
        raise AssertionError("the report computes")

    units = {type(u) for e in STUDY.values() for u in Work.below(study, e, TEST).units}
    for unit in units:
        monkeypatch.setattr(unit, "run", refuse)
    assert write_report(STUDY.values(), study, TEST).is_file()


def test_an_empty_folder_is_refused_and_left_empty(tmp_path: Path):
    words = r"nothing is complete.*gossamer run synthetic theory"
    with pytest.raises(gs.InvalidInput, match=words):
        write_report(EXPERIMENTS.values(), tmp_path, TEST)
    assert not list(tmp_path.iterdir())


def test_an_incomplete_experiment_is_left_out(tmp_path: Path):
    work = computed(STUDY["claim-1"], tmp_path)
    work.path(work.units[1]).unlink()
    with pytest.raises(gs.InvalidInput, match="nothing is complete"):
        write_report(STUDY.values(), tmp_path, TEST)


WORDS = "<img src=x onerror=alert(1)>"
PARTS = {
    "yes": {WORDS: True},
    "partly": {WORDS: True, "<b>elsewhere</b>": False},
    "no": {WORDS: True, "b": False, "c": False},
}


@dataclass(frozen=True)
class One(Unit):
    def run(self, device: str) -> dict[str, float]:
        return {"value": 1}


class Hostile(Experiment[None]):
    """Words that would be HTML, a table of several rows, every verdict, and no figure."""

    name, title, study = "hostile", "<b>bold</b> & 'quoted'", "theory"
    about = "<script>alert(1)</script>"
    sizes = {"test": None, "quick": None, "full": None}  # noqa: RUF012

    def units(self, size, seed):
        return [One("one")]

    def figures(self, results):
        return {}

    def verdicts(self, results):
        return [Verdict(WORDS, "1\n2", condition, WORDS) for condition in PARTS.values()]

    def tables(self, results):
        return [Table("<i>", ["<a>", "b"], [["<td>", "x" * 300]]), Table("t", ["c"], [])]


def html_of(experiment: Experiment[Any], out: Path, options: Options = TEST) -> str:
    computed(experiment, out, options)
    return write_report([experiment], out, options).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("hostile")
    html_of(Hostile(), out, Options("full"))
    return out / "full" / "report.html"


VOID = {"meta", "link", "img", "br", "hr", "input"}


class WellFormed(HTMLParser):
    """Every element is closed where it has to be, and none twice."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> at line {self.getpos()[0]}"


@pytest.mark.parametrize("which", ["page", "hostile"])
def test_the_page_is_well_formed(which: str, request: pytest.FixtureRequest):
    parser = WellFormed()
    parser.feed(request.getfixturevalue(which).read_text(encoding="utf-8"))
    parser.close()
    assert parser.open == []


def test_words_stay_words(hostile: Path):
    html = hostile.read_text(encoding="utf-8")
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; &#39;quoted&#39;" in html
    assert "Full study" in html
    assert "Not run yet" not in html


def test_the_parts_that_hold_are_named_where_some_do(hostile: Path):
    html = hostile.read_text(encoding="utf-8")
    assert badges(html) == counts(html) == [1, 1, 1]
    assert html.count('<span class="note">for &lt;img src=x onerror=alert(1)&gt;</span>') == 1
    assert "elsewhere" not in html


SOURCES = {
    "setting": "a number of the setting, not counted",
    "published": "another publication, not counted",
    "ours": "ours, not counted",
}


@pytest.mark.parametrize("source", ["paper", *SOURCES])
def test_only_statements_of_the_paper_are_counted_and_others_told_apart(
    source: Any, tmp_path: Path
):
    class Sourced(Hostile):
        def verdicts(self, results):
            held = Verdict("it holds", "measured", True, source=source)
            return [held, Verdict("it does not", "measured", False, source=source)]

    html = html_of(Sourced(), tmp_path)
    assert badges(html) == [1, 0, 1]
    counted = source == "paper"
    assert counts(html) == ([1, 0, 1] if counted else [0, 0, 0])
    others = "0 hold, 0 in part, 0 do not" if counted else "1 hold, 0 in part, 1 do not"
    assert others in " ".join(html.split())
    for other, words in SOURCES.items():
        assert html.count(f'<span class="note">{words}</span>') == 2 * (other == source)


@pytest.mark.parametrize("size", ["test", "quick", "full"])
def test_a_small_transformer_is_not_passed_for_that_of_the_paper(tmp_path: Path, size: Any):
    class Language(Hostile):
        study = "language"

    html = html_of(Language(), tmp_path, Options(size))
    assert ("artificial text" in html) == (size != "full")
    assert (f"in the {size} one" in html) == (size != "full")
    assert badges(html) == [1, 1, 1]
    assert counts(html) == [int(size == "full")] * 3


def test_two_pictures_of_an_experiment_are_told_apart_by_who_hears_the_page(tmp_path: Path):
    class Pictures(Hostile):
        def figures(self, results):
            return {stem: panels(1)[0] for stem in ("left", "right")}

    html = html_of(Pictures(), tmp_path)
    first, second = re.findall(r'alt="([^"]*)"', html)
    assert first != second


def test_the_commands_are_those_of_this_study(tmp_path: Path):
    options, experiment = Options("full", seed=3), Hostile()
    computed(experiment, tmp_path, options)
    page = write_report([*EXPERIMENTS.values(), experiment], tmp_path, options)
    html = page.read_text(encoding="utf-8")
    for command in (
        "gossamer run hostile --size full --seed 3",
        "gossamer run rates --size full --seed 3",
        "gossamer run noise-evidence --size full --seed 3 --device cuda",
    ):
        assert f"<code>{command}</code>" in html


def test_the_page_does_not_pass_its_own_environment_for_that_of_the_results(page: Path):
    html = page.read_text(encoding="utf-8")
    assert gs.__version__ in html
    assert torch.__version__ not in html


needs_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH")


BAD = """<!doctype html><html><head></head><body><img src='data:image/png;base64,AAAA'>
<script>console.error('spoken'); undefinedName</script>
<div style='width:600px'>wide</div></body></html>"""
WIDTHS = (1300, 390)


@pytest.fixture(scope="module")
def seen(page: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Found by one browser: on the page at each width, then on a bad one."""
    folder = tmp_path_factory.mktemp("seen")
    bad = folder / "bad.html"
    bad.write_text(BAD)
    return look_at([*((page, width) for width in WIDTHS), (bad, 390)], folder)


@needs_a_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_in_a_browser(seen: list[dict[str, Any]], width: int):
    found = seen[WIDTHS.index(width)]
    assert found["problems"] == []
    assert found["width"] == width
    assert len(found["images"]) == 2
    assert all(natural > 0 for natural in found["images"])
    assert found["verdicts"] == [3] * 4
    assert set(found["badges"]) <= {"yes", "partly", "no"}
    assert found["requests"] == []
    assert found["overflow"] <= 0, f"the page is {found['overflow']} px wider than its window"


@needs_a_browser
def test_the_browser_would_have_told(seen: list[dict[str, Any]]):
    """A broken image, a script error and a page too wide are all found."""
    found = seen[-1]
    assert found["images"] == [0]
    assert found["overflow"] > 100
    for words in ("spoken", "undefinedName", "decode"):
        assert any(words in problem for problem in found["problems"])


@needs_a_browser
def test_a_wide_table_scrolls_by_itself(hostile: Path, tmp_path: Path):
    (found,) = look_at([(hostile, 390)], tmp_path, dark=True)
    assert found["problems"] == []
    assert found["badges"] == ["yes", "partly", "no"]
    assert found["overflow"] <= 0
