"""The verdicts of experiments, on a terminal."""

from collections import Counter
from collections.abc import Sequence

from gossamer.cli.terminal import Paint, bad, good, middling, say
from gossamer.experiments import Verdict, Work
from gossamer.experiments.verdict import Holds

DOES: dict[Holds, tuple[str, str]] = {
    "yes": ("holds", "hold"),
    "partly": ("holds in part", "hold in part"),
    "no": ("does not hold", "do not hold"),
}
"""What one statement does, and what several do."""

PAINTS: dict[Holds, Paint] = {"yes": good, "partly": middling, "no": bad}


def say_verdicts(work: Work) -> None:
    """Every statement of an experiment, whether it holds, and what we measured."""
    for verdict in _verdicts(work):
        word, _ = DOES[verdict.holds]
        say(f": {verdict.statement}", "  ", "    ", head=word, paint=PAINTS[verdict.holds])
        for line in verdict.ours.splitlines():
            say(line, "    ", "    ")


def count_verdicts(works: Sequence[Work]) -> str:
    """How many statements hold, as a sentence."""
    found = Counter(verdict.holds for work in works for verdict in _verdicts(work))
    if not found:
        return "Nothing can be judged yet."
    if found.total() == 1:
        return f"The only statement {DOES[next(iter(found))][0]}."
    parts = [f"{found[w]} {does[found[w] > 1]}" for w, does in DOES.items() if found[w]]
    return f"Of {found.total()} statements {', '.join(parts)}."


def _verdicts(work: Work) -> list[Verdict]:
    results = work.results()
    return [] if results is None else work.experiment.verdicts(results)
