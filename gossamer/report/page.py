"""One HTML page with everything in it: figures, tables, and what holds of the paper."""

import base64
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from gossamer.errors import require
from gossamer.experiments import Experiment, Options, Table, Verdict, Work
from gossamer.files import whole_file
from gossamer.report.figures import FORMATS, save_figure
from gossamer.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure in the page, and the files beside it."""

    stem: str
    data: str
    """The SVG as a data URI, so that the page needs no other file."""

    files: Mapping[str, str]
    """Format → path relative to the page."""


@dataclass(frozen=True)
class Section:
    """An experiment in the page."""

    experiment: Experiment[Any]
    command: str
    seconds: float
    missing: list[str]
    """Units that are still to be computed."""

    pictures: list[Picture]
    verdicts: list[Verdict]
    tables: list[Table]

    rehearsal: bool
    """A small model on artificial text, which says nothing about the paper."""


def write_report(experiments: Iterable[Experiment[Any]], out: Path, options: Options) -> Path:
    """Draw and judge every experiment that is complete below `out`; returns the page's path.

    A folder without any is refused.
    """
    works = [Work.below(out, experiment, options) for experiment in experiments]
    root = out / options.size
    found = [(work, _section(work, root)) for work in works]
    sections = [section for _, section in found if section is not None]
    require(
        len(sections) > 0,
        "out",
        f"{root}, where nothing is complete",
        "a folder with the results of an experiment",
        "make them with `gossamer run synthetic theory` and the same options",
    )
    verdicts = [v for section in sections if not section.rehearsal for v in section.verdicts]
    page = _template().render(
        sections=sections,
        missing=[_command(work) for work, section in found if section is None],
        counts=Counter(verdict.holds for verdict in verdicts if verdict.source == "paper"),
        others=Counter(verdict.holds for verdict in verdicts if verdict.source != "paper"),
        options=options,
        version=__version__,
        minutes=sum(section.seconds for section in sections) / 60,
    )
    path = root / "report.html"
    with whole_file(path) as partial:
        partial.write_text(page, encoding="utf-8")
    return path


def _section(work: Work, root: Path) -> Section | None:
    experiment, records = work.experiment, work.stored()
    results = {name: record.result for name, record in records.items()}
    if not experiment.readable(results, work.units):
        return None
    figures = experiment.figures(results)
    return Section(
        experiment,
        _command(work),
        sum(record.made["seconds"] for record in records.values()),
        [unit.name for unit in work.units if unit.name not in results],
        [_picture(stem, figure, root) for stem, figure in figures.items()],
        experiment.verdicts(results),
        experiment.tables(results),
        rehearsal=experiment.study == "language" and work.options.size != "full",
    )


def _command(work: Work) -> str:
    """What computes the experiment; Transformers of the paper's size want a GPU."""
    gpu = work.options.size == "full" and work.experiment.study == "language"
    device = " --device cuda" if gpu else ""
    return f"gossamer run {work.experiment.name}{work.options.flags()}{device}"


def _picture(stem: str, figure: "Figure", root: Path) -> Picture:
    paths = save_figure(figure, root / "figures" / stem)
    data = base64.b64encode(paths["svg"].read_bytes()).decode()
    beside = {fmt: str(paths[fmt].relative_to(root)) for fmt in FORMATS}
    return Picture(stem, f"data:image/svg+xml;base64,{data}", beside)


@cache
def _template() -> jinja2.Template:
    source = files("gossamer.report").joinpath("template.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["code"] = _code
    return environment.from_string(source)


def _code(text: str) -> Markup:
    """Escaped, with `words in backticks` as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
