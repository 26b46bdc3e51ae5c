"""What is compared: a graph, a method in the form that the peer runs, and who the peer is."""

from dataclasses import dataclass

import torch
from forms import AugDGM, CombineThenAdapt
from task import Task

import gossamer as gs

PAIRS = torch.eye(4, dtype=torch.float64).view(2, 2, 4).sum(1).repeat_interleave(2, 0) / 2
"""Ranks 0, 1 average and ranks 2, 3 average."""


def pairs_of_decent_dp(rounds: int = 500) -> gs.Network:
    """Its "ring": pairs and other pairs in turn, but for the others twice at the start."""
    others = PAIRS.roll((1, 1), (0, 1))
    return gs.time_varying([others, others] + [others, PAIRS] * (rounds // 2), name="pairs(4)")


STACKED = 100
"""Settings of a sweep, which the simulator advances together."""


@dataclass(frozen=True)
class Case:
    """One comparison."""

    peer: str
    network: gs.Network
    method: type[gs.DSGD] | type[gs.GTDSGD]
    update: str
    """What both compute."""

    @property
    def real_processes(self) -> bool:
        return self.network.num_nodes == 4

    def algorithm(self, task: Task) -> gs.DSGD | gs.GTDSGD:
        return self.method(lr=task.lr)


CASES = {
    "ring of 20, DSGD": Case("decent-bench", gs.ring(20), gs.DSGD, r"$x \leftarrow W (x - α g)$"),
    "ring of 20, tracking": Case(
        "decent-bench",
        gs.ring(20),
        AugDGM,
        r"$y \leftarrow W (y + g - g^-), x \leftarrow W (x - α y)$",
    ),
    "four on a ring, DSGD": Case("DISROPT", gs.ring(4), gs.DSGD, r"$x \leftarrow W (x - α g)$"),
    "four on a ring, tracking": Case(
        "DISROPT", gs.ring(4), gs.DIGing, r"$y \leftarrow W y + g - g^-, x \leftarrow W x - α y$"
    ),
    "four in pairs, DSGD": Case(
        "decent-dp",
        pairs_of_decent_dp(),
        CombineThenAdapt,
        r"$x \leftarrow W x - α g$",
    ),
}
