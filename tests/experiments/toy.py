"""An experiment of three units that counts how often each is computed."""

from collections import Counter
from collections.abc import Callable
from functools import partial

from gossamer.experiments import Experiment, Options, Unit, Verdict


class Toy(Experiment):
    """Unit k computes k + seed, in no time."""

    name, title, about = "toy", "A toy", "Three numbers."

    def __init__(self, before: Callable[[str], None] = lambda name: None) -> None:
        self.before = before
        self.computed: Counter[str] = Counter()

    def units(self, options: Options) -> list[Unit]:
        return [
            Unit(f"k={k}", {"k": k, "seed": options.seed}, partial(self._compute, k, options.seed))
            for k in range(3)
        ]

    def _compute(self, k: int, seed: int) -> dict[str, float]:
        self.before(f"k={k}")
        self.computed[f"k={k}"] += 1
        return {"value": k + seed}

    def figures(self, results):
        return {}

    def verdicts(self, results):
        return [Verdict("three numbers", str(results), "yes")]
