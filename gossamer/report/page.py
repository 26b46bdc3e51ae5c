"""One HTML page with everything in it: findings, figures, tables, and what holds of the paper."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from gossamer.errors import require
from gossamer.experiments import Experiment, Options, Table, Verdict, Work
from gossamer.files import whole_file
from gossamer.plots import plain_log_axes
from gossamer.report.dot_plot import dot_plot
from gossamer.report.drawing import Drawing, drawing
from gossamer.report.elements import colour_rules
from gossamer.report.figures import save_figure
from gossamer.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = {
    "HOLDS": ("yes", "partly", "no"),
    "MARKS": {"yes": "✓", "partly": "◐", "no": "✗"},
    "SINGULAR": {"yes": "holds", "partly": "in part", "no": "does not"},
    "PLURAL": {"yes": "hold", "partly": "hold in part", "no": "do not hold"},
    "SOURCES": {
        "setting": "number of the setting",
        "published": "another publication",
        "ours": "ours",
    },
    "WHOSE": {"The paper's": "paper setting", "Other papers'": "published", "Ours": "ours"},
    "STUDIES": {
        "synthetic": "Regression",
        "theory": "Theory",
        "methods": "Methods",
        "language": "Transformers",
    },
}
"""What the page calls things."""


@dataclass(frozen=True)
class Section:
    """An experiment in the page."""

    experiment: Experiment[Any]
    command: str
    seconds: float
    missing: list[str]
    """Units that are still to be computed."""

    finding: str
    dots: Drawing | None
    """Printed numbers beside ours."""

    pictures: dict[str, Drawing]
    verdicts: list[Verdict]
    tables: list[Table]

    rehearsal: bool
    """A small model on artificial text, which says nothing about the paper."""

    @property
    def counts(self) -> Counter[str]:
        """How many statements hold, hold in part, do not."""
        return Counter(verdict.holds for verdict in self.verdicts)


@dataclass(frozen=True)
class Incomplete:
    """An experiment of which too little is there to be read."""

    title: str
    done: int
    parts: int
    command: str


def write_report(experiments: Iterable[Experiment[Any]], out: Path, options: Options) -> Path:
    """Write a page with figures and verdicts for all experiments that have results in `out`.

    Returns the path of the page. If no experiment has enough results, `out` is refused.
    """
    works = [Work.below(out, experiment, options) for experiment in experiments]
    root = out / options.size
    found = [_section(work, root) for work in works]
    sections = [one for one in found if isinstance(one, Section)]
    require(
        len(sections) > 0,
        "out",
        f"{root}, where nothing is complete",
        "a folder with the results of an experiment",
        "make them with `gossamer run synthetic theory` and the same options",
    )
    incomplete = [one for one in found if isinstance(one, Incomplete)]
    path = root / "report.html"
    with whole_file(path) as partial:
        partial.write_text(_page(sections, incomplete, options), encoding="utf-8")
    return path


def _page(sections: list[Section], incomplete: list[Incomplete], options: Options) -> str:
    verdicts = [v for section in sections if not section.rehearsal for v in section.verdicts]
    return _template().render(
        sections=sections,
        studies=[(s, list(of)) for s, of in groupby(sections, key=lambda s: s.experiment.study)],
        incomplete=incomplete,
        findings=[section for section in sections if section.finding],
        printed=[section for section in sections if section.dots],
        sources={verdict.source for section in sections for verdict in section.verdicts},
        counts=Counter(verdict.holds for verdict in verdicts if verdict.source == "paper"),
        others=Counter(verdict.holds for verdict in verdicts if verdict.source != "paper"),
        options=options,
        version=__version__,
        minutes=sum(section.seconds for section in sections) / 60,
    )


def _section(work: Work, root: Path) -> Section | Incomplete:
    experiment, records = work.experiment, work.stored()
    results = {name: record.result for name, record in records.items()}
    if not experiment.readable(results, work.units):
        return Incomplete(experiment.title, len(results), len(work.units), _command(work))
    rehearsal = experiment.study == "language" and work.options.size != "full"
    printed = [] if rehearsal else experiment.printed(results)
    return Section(
        experiment,
        _command(work),
        sum(record.made["seconds"] for record in records.values()),
        [unit.name for unit in work.units if unit.name not in results],
        "" if rehearsal else experiment.finding(results),
        drawing(dot_plot(printed), f"{experiment.name}-printed") if printed else None,
        {stem: _drawn(stem, one, root) for stem, one in experiment.figures(results).items()},
        experiment.verdicts(results),
        experiment.tables(results),
        rehearsal,
    )


def _command(work: Work) -> str:
    """What computes the experiment; Transformers of the paper's size want a GPU."""
    gpu = work.options.size == "full" and work.experiment.study == "language"
    device = " --device cuda" if gpu else ""
    return f"gossamer run {work.experiment.name}{work.options.flags()}{device}"


def _drawn(stem: str, figure: "Figure", root: Path) -> Drawing:
    plain_log_axes(figure)
    save_figure(figure, root / "figures" / stem)
    return drawing(figure, stem)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["code"] = _code
    environment.globals |= WORDS
    environment.globals["css"] = Markup(asset("theme.css") + colour_rules() + asset("page.css"))
    environment.globals["js"] = Markup(asset("numbers.js") + asset("page.js"))
    return environment.from_string(asset("page.html"))


def asset(name: str) -> str:
    """The text of a file of the page."""
    return files("gossamer.report").joinpath(name).read_text(encoding="utf-8")


def _code(text: str) -> Markup:
    """Escaped, with `words in backticks` as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
