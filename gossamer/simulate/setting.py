"""Everything of a simulation but the method: where it runs, for how long, what is recorded."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.errors import require
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulate.metrics import METRICS
from gossamer.simulate.run import versions
from gossamer.simulate.stack import Stack

STACK_BYTES = {"cpu": 3 * 2**19, "cuda": 2**26}
"""Size of a tensor of the largest stack: what stays in a CPU's cache, or fills a GPU."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """A simulation without its method."""

    problem: Problem
    network: Network
    noise: Noise | None
    steps: int
    record_every: int
    metrics: Sequence[str]
    dtype: torch.dtype
    device: torch.device | str
    progress: bool | None

    def __post_init__(self) -> None:
        require(self.steps >= 1, "steps", self.steps, "an integer ≥ 1")
        require(self.record_every >= 1, "record_every", self.record_every, "an integer ≥ 1")
        for name in self.metrics:
            require(name in METRICS, "metrics", name, f"names among {', '.join(METRICS)}")

    @property
    def record_steps(self) -> list[int]:
        """0, k, 2k, … and always the last step."""
        return sorted({*range(0, self.steps, self.record_every), self.steps})

    @property
    def runs_at_once(self) -> int:
        """How many runs a stack may hold."""
        itemsize = torch.empty(0, dtype=self.dtype).element_size()
        run_bytes = self.problem.num_nodes * self.problem.dim * itemsize
        return max(1, STACK_BYTES[torch.device(self.device).type] // run_bytes)

    def stack(self, algorithm: Algorithm[Any], seeds: Sequence[int]) -> Stack:
        """Runs of `algorithm` at step 0, run r with `seeds[r]`."""
        return Stack(
            algorithm, self.problem, self.network, self.noise, seeds, self.dtype, self.device
        )

    def describe(self) -> dict[str, Any]:
        """The setting as plain JSON."""
        noise = self.noise and {"name": type(self.noise).__name__, **vars(self.noise)}
        return {
            "problem": self.problem.describe(),
            "network": self.network.name,
            "noise": noise,
            "steps": self.steps,
            "record_every": self.record_every,
            "dtype": str(self.dtype).removeprefix("torch."),
            "device": str(self.device),
            "versions": versions(),
        }


def list_seeds(seeds: int | Iterable[int]) -> list[int]:
    """One seed or many, as a list; none is refused."""
    listed = [seeds] if isinstance(seeds, int) else list(seeds)
    require(len(listed) > 0, "seeds", listed, "at least one integer")
    return listed
