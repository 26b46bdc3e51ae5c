"""The page: made from stored results only, self-contained, and right in a browser."""

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
from browser import CHROMIUM, look_at
from gossamer.experiments.runner import run_experiment

import gossamer as gs
from gossamer.experiments import Experiment, Options, Store, Table, Verdict
from gossamer.plots import panels
from gossamer.report import write_report
from gossamer.studies import EXPERIMENTS
from gossamer.studies.synthetic import dependence
from gossamer.studies.synthetic.connectivity import Connectivity
from gossamer.studies.theory.claim_1 import Claim1

STUDY: dict[str, Experiment] = {e.name: e for e in (Claim1(), Connectivity())}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Claim 1 as it is, connectivity with few steps; nothing else."""
    store = Store.open(tmp_path_factory.mktemp("study"), Options())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dependence, "STEPS", 50)
        for experiment in STUDY.values():
            run_experiment(experiment, Options(), store)
    return store


@pytest.fixture(scope="module")
def page(store: Store) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dependence, "STEPS", 50)
        return write_report(EXPERIMENTS, store, Options())


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
        assert (f"<code>gossamer run {name}</code>" in html) or name in STUDY
    assert "Not run yet" in html


def test_the_counts_at_the_top_are_those_of_the_badges(page: Path):
    html = page.read_text(encoding="utf-8")
    for holds, words in (("yes", "hold"), ("partly", "hold in part"), ("no", "do not")):
        count = html.count(f'<span class="badge {holds}">')
        assert f'<span class="{holds}"><b>{count}</b> {words}</span>' in html
    assert html.count('class="badge') == 4


def test_nothing_is_simulated(store: Store, monkeypatch: pytest.MonkeyPatch):
    def refuse(*arguments, **options):
        raise AssertionError("the report simulates")

    monkeypatch.setattr(dependence, "STEPS", 50)
    for module in ("claim_1", "dependence", "synthetic"):
        monkeypatch.setattr(f"gossamer.experiments.{module}.simulate", refuse)
    for experiment in STUDY.values():
        with pytest.raises(AssertionError, match="simulates"):
            experiment.units(Options())[0].compute()
    assert write_report(STUDY, store, Options()).is_file()


def test_an_empty_store_is_refused_and_left_empty(tmp_path: Path):
    with pytest.raises(gs.InvalidInput, match=r"nothing is complete.*gossamer run all"):
        write_report(EXPERIMENTS, Store(tmp_path / "quick"), Options())
    assert not list(tmp_path.iterdir())


def test_an_incomplete_experiment_is_left_out(tmp_path: Path):
    store = Store.open(tmp_path, Options())
    run_experiment(STUDY["claim-1"], Options(), store)
    store.path(STUDY["claim-1"], STUDY["claim-1"].units(Options())[1]).unlink()
    with pytest.raises(gs.InvalidInput, match="nothing is complete"):
        write_report(STUDY, store, Options())


class Hostile(Experiment):
    """Words that would be HTML, a table of several rows, every verdict, and no figure."""

    name, title, about = "hostile", "<b>bold</b> & 'quoted'", "<script>alert(1)</script>"

    def units(self, options):
        from gossamer.experiments import Unit

        return [Unit("one", {}, lambda: {"value": 1})]

    def figures(self, results):
        return {}

    def verdicts(self, results):
        words = "<img src=x onerror=alert(1)>"
        return [Verdict(words, "1\n2", holds, words) for holds in ("yes", "partly", "no")]

    def tables(self, results):
        return [Table("<i>", ["<a>", "b"], [["<td>", "x" * 300]]), Table("t", ["c"], [])]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = Store.open(tmp_path_factory.mktemp("hostile"), Options(full=True))
    experiment = Hostile()
    run_experiment(experiment, Options(full=True), store)
    return write_report({"hostile": experiment}, store, Options(full=True))


def test_words_stay_words(hostile: Path):
    html = hostile.read_text(encoding="utf-8")
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; &#39;quoted&#39;" in html
    assert "Full study" in html
    assert "Not run yet" not in html


@pytest.mark.parametrize("full", [False, True])
def test_a_quick_transformer_is_not_passed_for_that_of_the_paper(tmp_path: Path, full: bool):
    class Language(Hostile):
        study = "language"

    options, experiment = Options(full=full), Language()
    store = Store.open(tmp_path, options)
    run_experiment(experiment, options, store)
    html = write_report({"hostile": experiment}, store, options).read_text(encoding="utf-8")
    assert ("artificial text" in html) != full
    for holds in ("yes", "partly", "no"):
        assert html.count(f'<span class="badge {holds}">') == 1
        assert f'<span class="{holds}"><b>{int(full)}</b>' in html


def test_two_pictures_of_an_experiment_are_told_apart_by_who_hears_the_page(tmp_path: Path):
    class Pictures(Hostile):
        def figures(self, results):
            return {stem: panels(1)[0] for stem in ("left", "right")}

    store = Store.open(tmp_path, Options())
    run_experiment(Pictures(), Options(), store)
    html = write_report({"hostile": Pictures()}, store, Options()).read_text(encoding="utf-8")
    first, second = re.findall(r'alt="([^"]*)"', html)
    assert first != second


def test_the_commands_are_those_of_this_study(tmp_path: Path):
    options = Options(full=True, seed=3)
    store, experiment = Store.open(tmp_path, options), Hostile()
    run_experiment(experiment, options, store)
    page = write_report({**EXPERIMENTS, "hostile": experiment}, store, options)
    html = page.read_text(encoding="utf-8")
    for command in (
        "gossamer run hostile --full --seed 3",
        "gossamer run rates --full --seed 3",
        "gossamer run noise-evidence --full --seed 3 --device cuda",
    ):
        assert f"<code>{command}</code>" in html


def test_the_page_does_not_pass_its_own_environment_for_that_of_the_results(page: Path):
    html = page.read_text(encoding="utf-8")
    assert gs.__version__ in html
    assert torch.__version__ not in html


needs_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH")


@needs_a_browser
@pytest.mark.parametrize("width", [1300, 390])
def test_in_a_browser(page: Path, tmp_path: Path, width: int):
    found = look_at(page, width, tmp_path)
    assert found["problems"] == []
    assert found["width"] == width
    assert len(found["images"]) == 2
    assert all(natural > 0 for natural in found["images"])
    assert found["verdicts"] == [3] * 4
    assert set(found["badges"]) <= {"yes", "partly", "no"}
    assert found["requests"] == []
    assert found["overflow"] <= 0, f"the page is {found['overflow']} px wider than its window"


@needs_a_browser
def test_a_wide_table_scrolls_by_itself(hostile: Path, tmp_path: Path):
    found = look_at(hostile, 390, tmp_path, dark=True)
    assert found["problems"] == []
    assert found["badges"] == ["yes", "partly", "no"]
    assert found["overflow"] <= 0


@needs_a_browser
def test_the_browser_would_have_told(tmp_path: Path):
    """A broken image, a script error and a page too wide are all found."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><html><head></head><body><img src='data:image/png;base64,AAAA'>"
        "<script>console.error('spoken'); undefinedName</script>"
        "<div style='width:600px'>wide</div></body></html>"
    )
    found = look_at(bad, 390, tmp_path / "profile")
    assert found["images"] == [0]
    assert found["overflow"] > 100
    for words in ("spoken", "undefinedName", "decode"):
        assert any(words in problem for problem in found["problems"])
