"""A method tuned on one network under one noise: where it ends, and what it sent on the way."""

import math
from dataclasses import dataclass

import torch

from gossamer.algorithms import PushSum
from gossamer.experiments import Result
from gossamer.fit import fits
from gossamer.networks import Network
from gossamer.problems import Problem
from gossamer.simulation import Run
from gossamer.simulation.halving import median
from gossamer.simulation.search_sets import SearchSet
from gossamer.simulation.sweep_record import AllDiverged
from gossamer.simulation.traffic import Traffic
from gossamer.studies.methods.compared import Alike, Different
from gossamer.studies.searched import Method, Searched


@dataclass(frozen=True, kw_only=True)
class OnNetwork(Searched):
    """A method on a network, tuned by halving."""

    nodes: Alike | Different

    levels: tuple[float, ...] = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
    """Shares of the initial error; what was sent until the median reaches each is counted."""

    records: int = 400
    extensions: int = 3
    """How many times the search goes on beyond the edge of its set."""

    dtype: torch.dtype = torch.float32
    """Also of whole messages."""

    def problem(self) -> Problem:
        """That of the nodes."""
        return self.nodes.problem()

    def run(self, device: str) -> Result:
        """What was chosen, its final errors on fresh seeds, and the bytes that a node sent."""
        try:
            found = self.tuned(
                device,
                extensions=self.extensions,
                record_every=max(1, self.steps // self.records),
                metrics=["error", "bytes"],
                dtype=self.dtype,
            )
        except AllDiverged:
            return self._nothing()
        return {
            "hyperparameters": found.hyperparameters,
            "edges": dict(found.edges),
            "settings": len(found.search.scores()),
            "run_steps": found.search.run_steps,
            "initial": float(found.run.metrics["error"][0, 0]),
            "errors": found.run.final().tolist(),
            "bytes": float(found.run.metrics["bytes"][-1].mean()),
            "bytes_until": [bytes_until(found.run, level) for level in self.levels],
        }

    def _nothing(self) -> Result:
        """Where every setting diverged."""
        problem, never = self.problem(), float("inf")
        assert problem.optimum is not None
        initial = torch.linalg.vector_norm(problem.start - problem.optimum)
        return {
            "hyperparameters": {},
            "edges": {},
            "settings": math.prod(map(len, self.grid.values())),
            "run_steps": 0,
            "initial": float(initial),
            "errors": [never] * len(self.fresh_seeds),
            "bytes": never,
            "bytes_until": [never] * len(self.levels),
        }


def bytes_until(run: Run, level: float) -> float:
    """What a node has sent when the median error is first at most `level` of the initial; or ∞."""
    error = median(run.metrics["error"])
    below = (error <= level * error[0]).nonzero()
    return float(run.metrics["bytes"][int(below[0])].mean()) if len(below) else float("inf")


def admitted(algorithm: Method, grid: SearchSet, network: Network) -> Method | None:
    """The method as it may run on the network: as it is, by push-sum, or not at all.

    >>> from gossamer.algorithms import DSGD
    >>> from gossamer.networks import random_digraph, ring
    >>> one_way = random_digraph(8, degree=2)
    >>> admitted(DSGD, {"lr": [0.1]}, ring(8)), admitted(DSGD, {"lr": [0.1]}, one_way)
    (<class '...DSGD'>, <class '...PushSum(DSGD)'>)
    """
    first = {name: values[0] for name, values in grid.items()}
    return next((kind for kind in _forms(algorithm) if fits(kind(**first), network)), None)


def _forms(algorithm: Method) -> list[Method]:
    return [algorithm] if algorithm.needs_symmetric else [algorithm, PushSum(algorithm)]


def bytes_per_step(algorithm: Method, network: Network, dim: int, dtype: torch.dtype) -> float:
    """What a node sends in a step, on average over the nodes and over many steps.

    The weight of push-sum, one number more, is not counted.

    >>> from gossamer.algorithms import DSGD, GTDSGD
    >>> from gossamer.networks import ring
    >>> [bytes_per_step(method, ring(8), 20, torch.float32) for method in (DSGD, GTDSGD)]
    [160.0, 320.0]
    """
    mixed = 2 if algorithm.tracker else 1
    many = 1000
    sent = Traffic(network, [0], [dim] * mixed, dtype).totals_at([0, many])["bytes"]
    return float(sent[-1]) / many
