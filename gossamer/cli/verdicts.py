"""The verdicts of experiments, on a terminal."""

from collections import Counter
from collections.abc import Sequence

from gossamer.cli.terminal import bad, good, middling, say
from gossamer.experiments import Verdict, Work
from gossamer.experiments.verdict import Holds

DOES: dict[Holds, str] = {"yes": "hold", "partly": "hold in part", "no": "do not hold"}
WORDS: dict[Holds, str] = {
    "yes": good("holds"),
    "partly": middling("holds in part"),
    "no": bad("does not hold"),
}


def say_verdicts(work: Work) -> None:
    """Every statement of an experiment, whether it holds, and what we measured."""
    for verdict in _verdicts(work):
        say(f"{WORDS[verdict.holds]}: {verdict.statement}", "  ", "    ")
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
