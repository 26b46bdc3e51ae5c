"""Two questions that end in a method, its parameters and a command, of the stored studies."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple

import choices
from choices import OURS, Choice, multiples
from from_results import LINKED, link
from gather import gathered

from gossamer.experiments import Result
from gossamer.studies import EXPERIMENTS
from gossamer.studies.language.grids import MODERN
from gossamer.studies.language.modern_table.reading import candidate, gaps
from gossamer.studies.language.modern_table.situations import TASKS, tuned_name
from gossamer.studies.methods import all_methods
from gossamer.studies.methods.bad_networks import reading as bad_networks
from gossamer.studies.methods.bad_networks.situations import NETWORKS, NOISES
from gossamer.studies.methods.standing import median_error

Settings = Mapping[str, Any]

PROBLEMS = {"alike": "RobustRegression(20)", "different": "Quadratic(20, 20, spread=10)"}
"""Nodes → the problem of the studies on which they are so."""


class Answer(NamedTuple):
    """What one knows, the row of the tables that answers it, and one situation of that row."""

    known: str
    row: Choice
    nodes: str
    network: str
    noise: str
    steps: int
    found: Mapping[str, Result]
    """Method → its result there, with the hyper-parameters that its search chose."""


def good() -> list[Answer]:
    """A good network: by nodes and tails."""
    results = gathered("all-methods").results
    network = NETWORKS["clean"].name
    situations = product(all_methods.KINDS, choices.NOISES.items())
    return [
        Answer(
            f"Nodes {nodes}, {tails}",
            row,
            nodes,
            network,
            str(all_methods.NOISES[noise]),
            EXPERIMENTS["all-methods"].sizes["full"].steps,
            all_methods.in_situation(results, nodes, noise),
        )
        for row, (nodes, (tails, noise)) in zip(choices.clean(), situations, strict=True)
    ]


def bad(place: int) -> list[Answer]:
    """A bad network, of the first or the second group of each kind of nodes."""
    groups = [
        (k, nodes, names[-1])
        for nodes, groups in choices.BAD.items()
        for k, names in enumerate(groups.values())
    ]
    situations = product(groups, choices.NOISES.items())
    return [
        _on(row, nodes, network, tails, noise)
        for row, ((k, nodes, network), (tails, noise)) in zip(
            choices.bad(), situations, strict=True
        )
        if k == place
    ]


def _on(row: Choice, nodes: str, network: str, tails: str, noise: str) -> Answer:
    return Answer(
        f"Nodes {nodes}, {tails}",
        row,
        nodes,
        NETWORKS[network].name,
        str(NOISES[noise]),
        EXPERIMENTS["bad-networks"].sizes["full"].steps,
        bad_networks.in_situation(gathered("bad-networks").results, nodes, network, noise),
    )


def call(method: str, settings: Settings) -> str:
    """The method as one types it, without what is so by default.

    >>> call("DSGD-Clip", {"lr": 5.0, "clip": 50.0, "clip_exponent": 0.4})
    'DSGDClip(lr=5, clip=50)'
    """
    algorithm = LINKED[method][0]
    defaults = {field.name: field.default for field in dataclasses.fields(algorithm)}
    chosen = {name: value for name, value in settings.items() if value != defaults[name]}
    typed = {k: repr(v) if isinstance(v, str) else f"{v:.4g}" for k, v in chosen.items()}
    return f"{algorithm.__name__}({', '.join(f'{k}={v}' for k, v in typed.items())})"


def command(answer: Answer) -> str:
    """What compares the best method with GT-NSGDm in the answer's situation."""
    best = next(iter(multiples(answer.row.situations)))
    methods = [call(m, answer.found[m]["hyperparameters"]) for m in dict.fromkeys([best, OURS])]
    noise = re.sub(r"\d+\.\d{4,}", lambda number: f"{float(number[0]):.4g}", answer.noise)
    lines = [
        *(f'-a "{method}"' for method in methods),
        f"-n '{answer.network}'",
        f"-p '{PROBLEMS[answer.nodes]}' --noise '{noise}' --steps {answer.steps}",
    ]
    return "gossamer compare " + " \\\n  ".join(lines)


def answered(answer: Answer) -> str:
    """The recommendation, after the faults of the network, if it has some."""
    best, times = next(iter(multiples(answer.row.situations).items()))
    _, _, faults = answer.row.known.partition("; ")
    case = f"*Your network has {faults}.*\n\n" if faults else ""
    such = "on such networks" if len(answer.row.situations) > 1 else "on such a network"
    where = such if faults else "of this situation"
    compared = {method for errors in answer.row.situations for method in errors}
    typed = call(best, answer.found[best]["hyperparameters"])
    wrapper = one_way(best, typed) if "one-way" in faults else ""
    return (
        f"{case}**Take {link(best)}**, e.g. `{typed}`. "
        f"Its error was {ended(times, len(compared))} in [our measurements](#methods) {where}."
        f"{wrapper if faults else elsewhere(answer, best)}\n\n"
        f"{_bash(command(answer))}"
    )


def one_way(method: str, typed: str) -> str:
    """What a method needs on one-way links.

    >>> one_way("DSGD", "DSGD(lr=0.1)")
    ' On one-way links, take `PushSum(DSGD(lr=0.1))`.'
    >>> one_way("GT-DSGD", "GTDSGD(lr=0.1)")
    ''
    """
    return "" if LINKED[method][0].tracker else f" On one-way links, take `PushSum({typed})`."


def ended(times: float, methods: int) -> str:
    """Where a method ended, from its largest multiple of the lowest error of so many methods.

    >>> ended(1.31, 18)
    'at most 1.31 times the lowest of 18 methods'
    """
    least = f"the lowest of {methods} methods"
    return least if times == 1 else f"at most {times:.2f} times {least}"


def elsewhere(answer: Answer, best: str) -> str:
    """What ends lower on a good network in the study of bad ones, which has more methods."""
    noise = choices.NOISES[answer.known.partition(", ")[2]]
    found = bad_networks.in_situation(
        gathered("bad-networks").results, answer.nodes, "clean", noise
    )
    lowest = next(iter(found))
    if lowest == best:
        return ""
    times = median_error(found[lowest]) / median_error(found[best])
    steps = EXPERIMENTS["bad-networks"].sizes["full"].steps
    return (
        f" [Another study](bad-networks.md#which-method-survives-what) compared {len(found)} "
        f"methods on the same network under {noise} noise, for {steps:,} instead of "
        f"{answer.steps:,} steps. There {link(lowest)} had the lowest error, {times:.2f} times "
        f"that of {best}."
    )


def _bash(line: str) -> str:
    return f"```bash\n{line}\n```"


def language(corpus: Any) -> str:
    """The recommendation for a language model, with what was tuned on a corpus."""
    results = gathered("modern-table").results
    best = candidate(results)
    on_the_ring = gaps(results)[best]
    settings = results[tuned_name(corpus, best)]["search"]["hyperparameters"]
    how = by_words if TOKENS[corpus] == "Words" else by_characters
    return (
        f"**Take {link(best)}**, e.g. `{call(best, settings)}`. On a ring, its validation loss was "
        f"at most {max(on_the_ring.values()) - 1:.1%} above the lowest of {len(MODERN)} methods, "
        "both on words and on characters ([more](#methods)). Replace `book.txt` with your text. "
        f"{how(best, settings)}"
    )


def by_words(method: str, settings: Settings) -> str:
    """The command, which splits a text into words."""
    options = " ".join(f"--{name.replace('_', '-')} {value:g}" for name, value in settings.items())
    chosen = f"--algorithm {LINKED[method][0].__name__} {options}"
    return (
        "This command splits it into words. Its model has other [layers](models.md#the-gpt) than "
        "ours had, and no dropout, so tune `lr` again:\n\n"
        f"{_bash(f'gossamer train --model gpt --data book.txt {chosen}')}"
    )


def by_characters(method: str, settings: Settings) -> str:
    """Python, as the command knows only words."""
    return (
        "`gossamer train` splits a text into words, so use Python for characters. This simulates "
        "eight nodes with the model of our measurements:\n\n"
        f"```python\n{characters(call(method, settings))}\n```"
    )


def characters(method: str) -> str:
    """A program that trains the model of the study on the characters of a text.

    >>> "gs.DSGD(lr=0.1)" in characters("DSGD(lr=0.1)")
    True
    """
    return f"""from pathlib import Path

import torch

import gossamer as gs

text = Path("book.txt").read_text(encoding="utf-8")
cut = len(text) * 9 // 10
corpus = gs.data.Corpus.of("book", list(text[:cut]), list(text[cut:]))
problem = gs.LanguageProblem(corpus, 8, stride=32, dropout=0.1, style="pytorch")
method = gs.{method}
run = gs.simulate(method, problem, gs.ring(8), steps=1000, metrics=[], dtype=torch.float32)
loss = problem.to("cpu", torch.float32).validation_loss(run.x.mean(0))
print(f"validation loss {{loss.item():.2f}} nats per character")"""


TOKENS = {"Multi30k": "Words", "Tiny Shakespeare": "Characters"}
"""Corpus of the study → what its model predicts."""

UNKNOWN = f"""**Take {link(OURS)}**, e.g. `GTNSGDm(lr=0.01, momentum=0.8)`. It has no clipping level
to choose, and in none of the situations of three studies did a tuned run of it end above half of
its initial error. This command computes step sizes for 10,000 steps and says what is guaranteed.
Replace the number of steps and the noise with yours:

{_bash("gossamer plan --steps 10000 --noise 'StudentT(1.5)'")}"""


def tabs(entries: Mapping[str, str], colons: int) -> str:
    """Tabs, which need no script; inside others with fewer colons."""
    fence, inner = ":" * (colons + 1), ":" * colons
    items = [f"{inner}{{tab-item}} {title}\n{text}\n{inner}" for title, text in entries.items()]
    return f"{fence}{{tab-set}}\n" + "\n".join(items) + f"\n{fence}"


def questions(_: str) -> str:
    """Both questions and all answers."""
    pairs = zip(bad(0), bad(1), strict=True)
    by_nodes = {
        "A good network": {a.known: answered(a) for a in good()},
        "A bad network": {
            one.known: "\n\n".join(map(answered, (one, several))) for one, several in pairs
        },
    }
    second = "**2. What are your nodes and your noise like?**"
    answers = {network: f"{second}\n\n{tabs(found, 3)}" for network, found in by_nodes.items()}
    corpora = {f"{TOKENS[corpus]} ({corpus})": language(corpus) for corpus in TASKS}
    answers["A language model"] = f"**2. What are its tokens?**\n\n{tabs(corpora, 3)}"
    answers["Nothing known, or no time to tune"] = UNKNOWN
    return f"**1. What do you have?**\n\n{tabs(answers, 5)}"


TABLES: dict[str, Callable[[str], str]] = {"questions": questions}
