"""A method tuned on one problem under one noise: its errors on fresh seeds, and how hard it was."""

from dataclasses import dataclass

import torch

from gossamer.experiments import Result
from gossamer.problems import Problem, Quadratic, RobustRegression
from gossamer.studies.searched import Searched


@dataclass(frozen=True)
class Alike:
    """Nodes that hold samples of one law: the paper's regression."""

    num_nodes: int
    seed: int

    def problem(self) -> Problem:
        """The problem."""
        return RobustRegression(self.num_nodes, seed=self.seed)


@dataclass(frozen=True)
class Different:
    """Nodes whose optima lie some `spread` apart in every coordinate."""

    num_nodes: int
    dim: int
    spread: float
    seed: int

    def problem(self) -> Problem:
        """The problem."""
        return Quadratic(self.num_nodes, self.dim, spread=self.spread, seed=self.seed)


@dataclass(frozen=True, kw_only=True)
class Compared(Searched):
    """A method in one situation, tuned by the full grid."""

    nodes: Alike | Different

    good: float = 2.0
    """A setting is good while its score is at most this multiple of the lowest."""

    search_dtype: torch.dtype = torch.float32

    def problem(self) -> Problem:
        """That of the nodes."""
        return self.nodes.problem()

    def run(self, device: str) -> Result:
        """What was chosen, its final errors, and how many settings would have done."""
        found = self.tuned(device, strategy="grid", search_dtype=self.search_dtype)
        scores, initial = found.search.scores(), float(found.run.metrics["error"][0, 0])
        return {
            "hyperparameters": found.hyperparameters,
            "initial": initial,
            "errors": found.run.final().tolist(),
            "settings": len(scores),
            "good": int((scores <= self.good * scores.min()).sum()),
            "useless": int((scores > initial).sum()),
        }
