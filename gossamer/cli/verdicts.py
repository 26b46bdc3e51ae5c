"""The verdicts of experiments, on a terminal."""

from collections import Counter
from collections.abc import Sequence

from gossamer.cli.terminal import Paint, bad, good, middling, say
from gossamer.experiments import Verdict, Work
from gossamer.experiments.verdict import Holds

DOES: dict[Holds, str] = {"yes": "hold", "partly": "hold in part", "no": "do not hold"}
WORDS: dict[Holds, tuple[str, Paint]] = {
    "yes": ("holds", good),
    "partly": ("holds in part", middling),
    "no": ("does not hold", bad),
}


def say_verdicts(work: Work) -> None:
    """Every statement of an experiment, whether it holds, and what we measured."""
    for verdict in _verdicts(work):
        word, paint = WORDS[verdict.holds]
        say(f": {verdict.statement}", "  ", "    ", head=word, paint=paint)
        for line in verdict.ours.splitlines():
            say(line, "    ", "    ")


def count_verdicts(works: Sequence[Work]) -> str:
    """How many statements hold, as a sentence."""
    found = Counter(verdict.holds for work in works for verdict in _verdicts(work))
    total = sum(found.values())
    if not total:
        return "Nothing can be judged yet."
    parts = [f"{found[word]} {does}" for word, does in DOES.items() if found[word]]
    return f"Of {total} statements {', '.join(parts)}."


def _verdicts(work: Work) -> list[Verdict]:
    results = work.results()
    return [] if results is None else work.experiment.verdicts(results)
