"""An experiment of three units that counts how often each is computed."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from gossamer.experiments import Experiment, Unit, Verdict

COMPUTED: Counter[str] = Counter()
"""Unit → how often it was computed; tests empty it."""

BEFORE: list[Callable[[str], None]] = []
"""What is called with a unit's name before it is computed."""


@dataclass(frozen=True)
class Sum(Unit):
    k: int
    seed: int

    def run(self, device: str) -> dict[str, float]:
        for hook in BEFORE:
            hook(self.name)
        COMPUTED[self.name] += 1
        return {"value": self.k + self.seed}


@dataclass(frozen=True)
class Size:
    units: int


class Toy(Experiment[Size]):
    """Unit k computes k + seed, in no time."""

    name, title, about, study = "toy", "A toy", "Three numbers.", "theory"
    sizes = {"test": Size(2), "quick": Size(3), "full": Size(3)}  # noqa: RUF012

    def units(self, size, seed):
        return [Sum(f"k={k}", k, seed) for k in range(size.units)]

    def figures(self, results):
        return {}

    def verdicts(self, results):
        return [Verdict("three numbers", str(results), True)]
