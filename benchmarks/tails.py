"""How often is the diagnosis of a tail wrong? Samples of known laws through `tails.diagnose`.

    python benchmarks/tails.py                 everything: writes benchmarks/tails.json
    python benchmarks/tails.py --jobs 2        on two processes
    python benchmarks/tails.py --only t(1.5)   laws whose name contains this

Every law is drawn 200 times with 1,000 and 10,000 samples and 20 times with 100,000, from the seeds
0, 1, …; what is already in the file is not computed again. docs/tails.md shows the results.
"""

import argparse
import json
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gossamer.noise import AlphaStable, Gaussian, Noise, Pareto, StudentT
from gossamer.tails import Diagnosis, NoiseProbe, diagnose
from gossamer.tails.samples import Kind

RESULT = Path(__file__).with_suffix(".json")
REPETITIONS = {1_000: 200, 10_000: 200, 100_000: 20}

Array = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Array]


@dataclass(frozen=True)
class Law:
    """Samples whose tail index is known; ∞ where all moments exist."""

    name: str
    tail_index: float
    kind: Kind
    draw: Draw

    @property
    def required(self) -> bool:
        """Whether its errors are bounded: the others show how far the diagnosis carries."""
        return not self.name.endswith("*")


def of(noise: Noise, dim: int = 1) -> Draw:
    """Noise vectors of our own laws."""

    def draw(size: int, rng: np.random.Generator) -> Array:
        generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        vectors: Array = noise.sample((size, dim), generator=generator).numpy()
        return vectors

    return draw


def centred_lognormal(sigma: float) -> Draw:
    """A lognormal minus its mean, as vectors of dimension 1."""
    return lambda n, rng: rng.lognormal(0, sigma, (n, 1)) - math.exp(sigma**2 / 2)


def now_and_then_large(n: int, rng: np.random.Generator) -> Array:
    """Gaussian noise, of which every 100th sample is 50 times as large."""
    return rng.normal(size=(n, 1)) * np.where(rng.random((n, 1)) < 0.01, 50, 1)


def autoregressive(n: int, rng: np.random.Generator) -> Array:
    """x = 0.9 x + t(1.5): large samples come in clusters."""
    innovations = rng.standard_t(1.5, n + 200)
    for step in range(1, innovations.size):
        innovations[step] += 0.9 * innovations[step - 1]
    return innovations[200:, None]


def signed_lognormal(n: int, rng: np.random.Generator) -> Array:
    """Three coordinates, each a lognormal of σ = 2 with a random sign."""
    return rng.lognormal(0, 2, (n, 3)) * rng.choice([-1, 1], (n, 3))


INF = math.inf
LAWS = [
    Law("lognormal σ = 1", INF, "norms", lambda n, rng: rng.lognormal(0, 1.0, n)),
    Law("lognormal σ = 1.7", INF, "norms", lambda n, rng: rng.lognormal(0, 1.7, n)),
    Law("lognormal σ = 2", INF, "norms", lambda n, rng: rng.lognormal(0, 2.0, n)),
    Law("lognormal σ = 2, centred", INF, "vectors", centred_lognormal(2.0)),
    Law("Weibull 0.3", INF, "norms", lambda n, rng: rng.weibull(0.3, n)),
    Law("Gaussian", INF, "vectors", of(Gaussian())),
    Law("t(3)", 3.0, "vectors", of(StudentT(3.0))),
    Law("Pareto 3", 3.0, "norms", lambda n, rng: 1 + rng.pareto(3.0, n)),
    Law("Pareto 3, centred", 3.0, "vectors", of(Pareto(3.0))),
    Law("t(1.5)", 1.5, "vectors", of(StudentT(1.5))),
    Law("Pareto 1.2", 1.2, "norms", lambda n, rng: 1 + rng.pareto(1.2, n)),
    Law("Pareto 1.2, centred", 1.2, "vectors", of(Pareto(1.2))),
    Law("Pareto 1.5", 1.5, "norms", lambda n, rng: 1 + rng.pareto(1.5, n)),
    Law("Pareto 1.5, centred", 1.5, "vectors", of(Pareto(1.5))),
    Law("stable 1.5", 1.5, "vectors", of(AlphaStable(1.5))),
    Law("stable 1.9", 1.9, "vectors", of(AlphaStable(1.9))),
    Law("stable 1.95", 1.95, "vectors", of(AlphaStable(1.95))),
    Law("t(1.5), 20 coordinates *", 1.5, "vectors", of(StudentT(1.5), dim=20)),
    Law("t(1.8) *", 1.8, "vectors", of(StudentT(1.8))),
    Law("stable 1.8 *", 1.8, "vectors", of(AlphaStable(1.8))),
    Law("stable 1.99 *", 1.99, "vectors", of(AlphaStable(1.99))),
    Law("lognormal σ = 2, plus 5 *", INF, "norms", lambda n, rng: 5 + rng.lognormal(0, 2.0, n)),
    Law("lognormal σ = 2, 3 coordinates *", INF, "vectors", signed_lognormal),
    Law("Gaussian, 1 % times 50 *", INF, "vectors", now_and_then_large),
    Law("autoregression 0.9 of t(1.5) *", 1.5, "vectors", autoregressive),
]


@dataclass(frozen=True)
class Unit:
    """A law at one size: what is computed at a time."""

    law: int
    size: int

    @property
    def key(self) -> str:
        """Its name in the file."""
        return f"{LAWS[self.law].name}, {self.size}"


def measure(unit: Unit) -> tuple[str, dict[str, Any]]:
    """The diagnoses of all repetitions of a unit, counted."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    law = LAWS[unit.law]
    rngs = (np.random.default_rng([seed, unit.size]) for seed in range(REPETITIONS[unit.size]))
    return unit.key, counted(law, [diagnose(law.draw(unit.size, r), kind=law.kind) for r in rngs])


def counted(law: Law, found: list[Diagnosis]) -> dict[str, Any]:
    """How many said what, were wrong, suggested too large a p, covered the index."""
    tails = [diagnosis.tail for diagnosis in found]
    infinite = tails.count("infinite variance")
    light = tails.count("finite variance") + tails.count("no power tail")
    orders = [diagnosis.suggested_p for diagnosis in found]
    inside = [d.interval[0] <= law.tail_index <= d.interval[1] for d in found]
    return {
        "kind": law.kind,
        "required": law.required,
        "tail index": None if math.isinf(law.tail_index) else law.tail_index,
        "repetitions": len(found),
        "infinite variance": infinite,
        "light": light,
        "undecided": tails.count("undecided"),
        "wrong": light if law.tail_index < 2 else infinite,
        "p too large": sum(p > min(2.0, law.tail_index) for p in orders),
        "median p": float(np.median(orders)),
        "covered": None if math.isinf(law.tail_index) else sum(inside),
        "called dependent": sum(d.correlation_time > 1 for d in found),
    }


def probe_gaussian(runs: int = 100, records: int = 32, dim: int = 64) -> dict[str, Any]:
    """A model whose gradients are Gaussian, through a probe at its default: the lowest answers."""
    lowest = [min(estimates(_probed(seed, records, dim))) for seed in range(runs)]
    return {
        "runs": runs,
        "samples each": 32 * records,
        "coordinates": dim,
        "lowest estimate": min(lowest),
        "runs with an estimate below 1.95": sum(index < 1.95 for index in lowest),
    }


def _probed(seed: int, records: int, dim: int) -> Diagnosis:
    generator = torch.Generator().manual_seed(seed)

    class Batches:
        def __iter__(self) -> Iterator[Tensor]:
            while True:
                yield torch.randn(1, dim, generator=generator, dtype=torch.float64)

    model = nn.ParameterList([torch.zeros(dim, dtype=torch.float64)])
    probe = NoiseProbe(model, lambda m, x: (m[0] * x).sum(), Batches())
    for step in range(records):
        probe.measure(step)
    return probe.diagnose()


def estimates(diagnosis: Diagnosis) -> list[float]:
    """The tail indices of all estimators."""
    assert diagnosis.log_moment is not None
    assert diagnosis.stable_index is not None
    hill = [estimate.tail_index for estimate in diagnosis.hill.values()]
    fits = [fit.tail_index for fit in diagnosis.pareto_fit.values()]
    return [*hill, *fits, diagnosis.log_moment.tail_index, diagnosis.stable_index]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path, default=RESULT)
    chosen = parser.parse_args()
    result = json.loads(chosen.json.read_text()) if chosen.json.exists() else {"laws": {}}
    every = [Unit(law, size) for size in REPETITIONS for law in range(len(LAWS))]
    todo = [u for u in every if chosen.only in u.key and u.key not in result["laws"]]
    with get_context("spawn").Pool(chosen.jobs) as pool:
        for key, counts in pool.imap_unordered(measure, todo):
            result["laws"][key] = counts
            print(key, counts, flush=True)
            write(chosen.json, result)
    if "probe" not in result and not chosen.only:
        write(chosen.json, result | {"probe": probe_gaussian()})


def write(path: Path, result: dict[str, Any]) -> None:
    """The results in the order of the laws and sizes, whichever was ready first."""
    keys = [Unit(law, size).key for law in range(len(LAWS)) for size in REPETITIONS]
    laws = {key: result["laws"][key] for key in keys if key in result["laws"]}
    text = json.dumps(result | {"laws": laws}, indent=1, ensure_ascii=False)
    path.with_suffix(".part").write_text(text + "\n")
    path.with_suffix(".part").replace(path)


if __name__ == "__main__":
    main()
