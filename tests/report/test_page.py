"""The page: made from stored results only, self-contained, and right in a browser."""

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch
from browser import CHROMIUM, look_at

import gossamer as gs
from gossamer.colours import LOOKS
from gossamer.experiments import Experiment, Options, Printed, Table, Unit, Verdict, Work
from gossamer.plots import curve, panels
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
        self.ids: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]
        for name, value in attributes:
            if name in {"src", "href", "srcset", "data", "action", "poster"}:
                self.found.append((tag, value))


def test_everything_is_in_the_page(page: Path):
    html = page.read_text(encoding="utf-8")
    references = References()
    references.feed(html)
    assert len(set(references.ids)) == len(references.ids)
    inside = {f"#{name}" for name in references.ids}
    assert {target for _, target in references.found if not target.startswith("data:")} <= inside
    assert set(re.findall(r"url\(([^)]*)\)", html)) <= inside
    assert "@import" not in html
    assert "http" not in html


def test_what_is_missing_is_named_with_the_command_that_makes_it(page: Path):
    html = page.read_text(encoding="utf-8")
    for name in EXPERIMENTS:
        assert (f'<section id="{name}" class="experiment">' in html) == (name in STUDY)
        assert f"<code>gossamer run {name} --size test</code>" in html
    assert "0 of 21 parts. <code>gossamer run ring-noise --size test</code>" in html


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


def test_an_experiment_that_can_be_read_in_part_names_what_is_missing(tmp_path: Path):
    class Partial(Hostile):
        def units(self, size, seed):
            return [One("one"), One("another <one>")]

        def readable(self, results, units):
            return "one" in results

    work = computed(Partial(), tmp_path)
    assert "Still to be computed" not in html_of(Partial(), tmp_path)
    work.path(work.units[1]).unlink()
    html = write_report([Partial()], tmp_path, TEST).read_text(encoding="utf-8")
    assert "Still to be computed: another &lt;one&gt;." in html
    assert badges(html) == [1, 1, 1]


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
    assert html.count("<script") == 1
    assert "<img" not in html
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; &#39;quoted&#39;" in html
    assert "Full study" in html
    assert "Not complete yet" not in html


def test_the_parts_that_hold_are_named_where_some_do(hostile: Path):
    html = hostile.read_text(encoding="utf-8")
    assert badges(html) == counts(html) == [1, 1, 1]
    words = "Holds for &lt;img src=x onerror=alert(1)&gt;."
    assert html.count(f'<p class="note">{words}</p>') == 1
    assert "elsewhere" not in html


SOURCES = {
    "setting": "number of the setting",
    "published": "another publication",
    "ours": "ours",
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
        assert html.count(f'<span class="source">{words}</span>') == 2 * (other == source)


@pytest.mark.parametrize("size", ["test", "quick", "full"])
def test_a_small_transformer_is_not_passed_for_that_of_the_paper(tmp_path: Path, size: Any):
    class Language(Hostile):
        study = "language"

        def finding(self, results):
            return "found it"

        def printed(self, results):
            return [Printed("loss", "GT-NSGDm", 0.3, 0.25, [0.2, 0.3])]

    html = html_of(Language(), tmp_path, Options(size))
    assert ("artificial text" in html) == (size != "full")
    assert (f"in the {size} study" in html) == (size != "full")
    assert badges(html) == [1, 1, 1]
    assert counts(html) == [int(size == "full")] * 3
    assert html.count("found it") == (2 if size == "full" else 0), "at the top, and in its place"
    assert ('id="printed"' in html) == (size == "full")


def test_two_pictures_of_an_experiment_are_told_apart_by_who_hears_the_page(tmp_path: Path):
    class Pictures(Hostile):
        def figures(self, results):
            return {stem: panels(1)[0] for stem in ("left", "right")}

    html = html_of(Pictures(), tmp_path)
    first, second = re.findall(r'<figure class="drawing" aria-label="([^"]*)"', html)
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


class Drawn(Hostile):
    """Curves whose values are known, statements of every kind, and a finding."""

    name = "drawn"

    def figures(self, results):
        figure, (left, right) = panels(2)
        for method, factor in (("DSGD", 1), ("GT-NSGDm", 100)):
            values = [[factor * 2.0**-k] * 2 for k in range(11)]
            curve(left, range(0, 1100, 100), values, method, *LOOKS[method])
        left.set(yscale="log")
        left.legend()
        right.plot([0.25], [1], "o", label="ours")
        right.set_yticks([0, 1], labels=["DSGD", "GT-NSGDm"])
        return {"drawn": figure}

    def printed(self, results):
        return [Printed("final error", "GT-NSGDm", 0.3, 0.25, [0.2, 0.3])]

    def verdicts(self, results):
        sources = ("paper", "setting", "published", "ours")
        return [Verdict("so", "1", holds, source=s) for s in sources for holds in PARTS.values()]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("drawn")
    for experiment in (Drawn(), Hostile()):
        computed(experiment, out)
    return write_report([Drawn(), Hostile()], out, TEST)


ACT = (Path(__file__).parent / "act.js").read_text(encoding="utf-8")


@needs_a_browser
@pytest.mark.parametrize("dark", [False, True])
def test_in_a_browser(page: Path, drawn: Path, hostile: Path, tmp_path: Path, dark: bool):
    """A study, known curves and words that are too long, on a desk and on a phone."""
    pages = [(one, width) for one in (page, drawn, hostile) for width in (1300, 390)]
    found = look_at(pages, tmp_path / "browser", dark, ACT)
    for (where, width), one in zip(pages, found, strict=True):
        assert one["problems"] == [], where
        assert one["requests"] == []
        assert one["width"] == width
        assert one["overflow"] <= 0, f"{where} is {one['overflow']} px too wide"
        assert set(one["badges"]) <= {"yes", "partly", "no"}
    for wide, one in zip((True, False), found[2:4], strict=True):
        acts_as_it_should(one["acted"], wide)
        assert one["acted"]["ink"] == ("rgb(229, 233, 240)" if dark else "rgb(28, 35, 48)")
        assert one["acted"]["stroke"] == ("rgb(71, 169, 234)" if dark else "rgb(0, 114, 178)")


def acts_as_it_should(acted: dict[str, Any], wide: bool) -> None:
    middle = re.compile(r"(.+): (.+) at (.+)")
    for words, method, value in zip(acted["told"], ("DSGD", "GT-NSGDm"), (1, 100), strict=False):
        label, y, x = middle.fullmatch(words).groups()
        assert label == method
        assert float(x) == pytest.approx(500, rel=0.01)
        assert float(y) == pytest.approx(value * 2**-5, rel=0.01)
    assert acted["told"][2] == "GT-NSGDm, ours: 0.25"
    before, after, told = acted["hidden"]
    assert (before, after) == (2, 0), "the curve and its band are switched off together"
    assert told.startswith("GT-NSGDm"), "what is off is not told"
    assert acted["shown"] == [2, True]
    assert acted["filters"] == [[9, 2], [3, 2], [1, 1], [3, 1], [3, 1]]
    assert acted["contents"] == ([True] * 3 if wide else [False, True, True])
    assert acted["dots"] == 2


@needs_a_browser
def test_the_browser_would_have_told(tmp_path: Path):
    """A broken image, a script error and a page too wide are all found."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><html><head></head><body><img src='data:image/png;base64,AAAA'>"
        "<script>console.error('spoken'); undefinedName</script>"
        "<div style='width:600px'>wide</div></body></html>"
    )
    (found,) = look_at([(bad, 390)], tmp_path / "browser")
    assert found["images"] == [0]
    assert found["overflow"] > 100
    for words in ("spoken", "undefinedName", "decode"):
        assert any(words in problem for problem in found["problems"])
