"""Why the table's losses differ from the printed ones: their parts, and the effect of dropout."""

import dataclasses
import statistics
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from gossamer.algorithms import DSGD, Algorithm, DSGDGClip, GTNSGDm, QGDSGDm
from gossamer.colours import INK, OKABE_ITO
from gossamer.data import TokenWindows
from gossamer.data.tokens import UNKNOWN
from gossamer.experiments import Experiment, Figures, Result, Results, Table, Unit, Verdict
from gossamer.networks import Network
from gossamer.plots import panels, style
from gossamer.provenance import device_name
from gossamer.studies.language.task import (
    NETWORKS,
    SIZES,
    Size,
    Task,
    curves,
    mean_loss,
    mean_lowest_loss,
    train,
)
from gossamer.studies.language.transformer_table import PRINTED, TASKS, meets_goal, on_plateau
from gossamer.studies.seeds import fresh_seeds
from gossamer.studies.wording import listed

READINGS = {
    "no dropout": TASKS["paper"],
    "dropout": dataclasses.replace(TASKS["paper"], dropout=0.1),
    "every window": dataclasses.replace(TASKS["paper"], stride=1),
    "every window, dropout": dataclasses.replace(TASKS["paper"], stride=1, dropout=0.1),
}
"""The table's reading; the default of PyTorch's Transformer layers, as the paper prints none; and
windows one token apart, as "12 epochs" may also mean."""

METHODS: dict[str, tuple[str, Algorithm[Any]]] = {
    "GT-NSGDm 0.6": ("GT-NSGDm", GTNSGDm(lr=0.1, momentum=0.6)),
    "GT-NSGDm 0.8": ("GT-NSGDm", GTNSGDm(lr=0.1, momentum=0.8)),
    "DSGD-GClip": ("DSGD-GClip", DSGDGClip(lr=1.0, clip=1.0)),
    "QG-DSGDm": ("QG-DSGDm", QGDSGDm(lr=0.1, momentum=0.8, quasi_momentum=0.8)),
    "DSGD": ("DSGD", DSGD(lr=0.1)),
}
"""Row → the table's method, as tuned for the table; GT-NSGDm also with its second best momentum."""

TRACKED = ("GT-NSGDm 0.6", "GT-NSGDm 0.8")
SEEDS = 2
PARTS = ("last position", "unknown words", "all else")


class TransformerReadings(Experiment[Size]):
    """Five settings on the ring, with and without dropout, with some and with all windows."""

    name = "transformer-readings"
    title = "What the losses of the Transformer table consist of, and what dropout does to them"
    study = "language"
    about = (
        "The paper prints neither the dropout of its model nor how far apart its windows are; the "
        "table has no dropout and windows five tokens apart. Here five of its settings are trained "
        "on the ring without dropout and with 0.1, PyTorch's default, and with every window, one "
        "token apart (8,832 steps); two runs each, hyper-parameters as tuned for the table, "
        "GT-NSGDm also with the second best. "
        "The final loss is split into three parts. Two of them no model can copy: the token after "
        "the last position of a window, which is outside the window, and words that do not occur "
        "in the training text, whose embedding is never trained. The third part is all else."
    )

    sizes = SIZES

    def units(self, size: Size, seed: int) -> list[Unit]:
        """A unit per reading and row."""
        return [_unit(reading, row, size, seed) for reading in READINGS for row in _rows(reading)]

    def figures(self, results: Results) -> Figures:
        """What the losses of GT-NSGDm consist of, a bar per reading and momentum."""
        bars = [(reading, row) for reading in READINGS for row in TRACKED]
        names = [f"{reading} {row}" for reading, row in bars]
        labels = [f"{reading}, β = {row.split()[1]}" for reading, row in bars]
        with style():
            figure, (ax,) = panels(1, width=7.0, height=3.4)
            left = [0.0] * len(names)
            for part, colour in zip(PARTS, OKABE_ITO, strict=False):
                widths = [results[name]["parts"][part] for name in names]
                ax.barh(labels, widths, left=left, color=colour, label=part)
                left = [a + b for a, b in zip(left, widths, strict=True)]
            ax.axvline(_printed("GT-NSGDm"), color=INK, linestyle="--", label="printed")
            ax.set(xlabel="validation loss of GT-NSGDm on the ring [nats per token]")
            ax.invert_yaxis()
            ax.legend()
        return {"transformer-readings": figure}

    def tables(self, results: Results) -> list[Table]:
        """Losses under every reading, and the parts of GT-NSGDm's."""
        return [
            Table(
                "Validation loss on the ring, mean of two runs (in brackets: lowest in training)",
                ["method", "printed", *READINGS],
                [
                    [row, f"{_printed(method):.3f}", *(_cell(results, r, row) for r in READINGS)]
                    for row, (method, _) in METHODS.items()
                ],
            ),
            Table(
                "What GT-NSGDm's final loss on the ring consists of, in nats per token (mean of "
                "two runs)",
                ["settings", "momentum β", "steps", *PARTS, "sum"],
                [_parts_row(results, r, row) for r in READINGS for row in TRACKED],
            ),
        ]

    def verdicts(self, results: Results) -> list[Verdict]:
        """The printed losses under every reading; what is left when copying is learnt."""
        floor = [_floor(results)]
        if results["no dropout DSGD"]["corpus"] != "multi30k":
            return floor  # no printed number is about the artificial text
        return [_goal(results), _plateau(results), *floor]


def _rows(reading: str) -> tuple[str, ...]:
    """The rows of a reading: the longest, with both, is trained with GT-NSGDm alone."""
    return TRACKED if reading == "every window, dropout" else tuple(METHODS)


def _unit(reading: str, row: str, size: Size, seed: int) -> Unit:
    task = size.task(READINGS[reading], seed)
    task = dataclasses.replace(task, stride=min(task.stride, READINGS[reading].stride))
    _, algorithm = METHODS[row]
    return Reading(f"{reading} {row}", algorithm, task, NETWORKS["ring"], fresh_seeds(seed, SEEDS))


@dataclass(frozen=True)
class Reading(Unit):
    """A method trained under one reading, and what its final loss consists of."""

    algorithm: Algorithm[Any]
    task: Task
    network: Network
    seeds: tuple[int, ...]
    records: int = 32

    def run(self, device: str) -> Result:
        """The losses over the steps, and the parts of the last."""
        given = (self.algorithm, self.task, self.network, self.seeds, self.records, device)
        run = train(*given, keep_x=True)
        parts = [parts_of_loss(self.task, device, x) for x in run.x.mean(0)]
        return {
            **curves(run),
            "parts": {part: statistics.fmean(p[part] for p in parts) for part in parts[0]},
            "corpus": self.task.corpus.name,
            "machine": device_name(device),
        }


@torch.no_grad()
def parts_of_loss(task: Task, device: str, x: torch.Tensor) -> dict[str, float]:
    """The validation loss at `x` as a sum over disjoint sets of positions."""
    text = task.corpus
    windows = TokenWindows(text.validation, task.context, task.context)
    inputs, targets = windows[torch.arange(len(windows))]
    logits = task.problem(device).module_at(x)(inputs.to(device))
    losses = functional.cross_entropy(logits.mT, targets.to(device), reduction="none").cpu()
    last = torch.zeros_like(targets, dtype=torch.bool)
    last[:, -1] = True
    unknown = (targets == text.vocabulary.encode([UNKNOWN])) & ~last
    sets = {"last position": last, "unknown words": unknown, "all else": ~(last | unknown)}
    return {part: float(losses[where].sum()) / losses.numel() for part, where in sets.items()}


def _printed(method: str) -> float:
    """The printed mean on the ring."""
    return PRINTED[method][0][0]


def _cell(results: Results, reading: str, row: str) -> str:
    result = results.get(f"{reading} {row}")
    return "–" if result is None else f"{mean_loss(result):.3f} ({mean_lowest_loss(result):.3f})"


def _parts_row(results: Results, reading: str, row: str) -> list[str]:
    result = results[f"{reading} {row}"]
    parts = [result["parts"][part] for part in PARTS]
    numbers = [f"{value:.3f}" for value in (*parts, sum(parts))]
    return [reading, row.split()[1], f"{result['steps'][-1]:,}", *numbers]


def _losses(results: Results, row: str) -> dict[str, float]:
    names = {reading: f"{reading} {row}" for reading in READINGS}
    return {reading: mean_loss(results[name]) for reading, name in names.items() if name in results}


def _goal(results: Results) -> Verdict:
    printed = _printed("GT-NSGDm")
    met = {
        f"{reading}, β = {row.split()[1]}": meets_goal(loss, printed)
        for row in TRACKED
        for reading, loss in _losses(results, row).items()
    }
    return Verdict(
        f"GT-NSGDm ends at a loss of {printed} on the ring (four choices of dropout and windows)",
        "\n".join(f"β = {row.split()[1]}: " + listed(_losses(results, row)) for row in TRACKED),
        met,
        "It holds for a reading and a momentum β if our loss is at most 0.30 and within 0.05 of "
        "the printed one. This is so for: "
        f"{'; '.join(name for name, is_met in met.items() if is_met) or 'none'}.",
    )


def _plateau(results: Results) -> Verdict:
    losses = _losses(results, "DSGD")
    return Verdict(
        "DSGD stays at a loss of 5.63 on the ring: without dropout, with it, and with every window",
        listed(losses),
        {reading: on_plateau(loss) for reading, loss in losses.items()},
        "It holds if the loss is within 0.05 of 5.63. With every window there are five times as "
        "many steps.",
    )


def _floor(results: Results) -> Verdict:
    losses = {name: mean_loss(results[name]) for name in results if "GT-NSGDm" in name}
    best = min(losses, key=losses.__getitem__)
    parts = results[best]["parts"]
    return Verdict(
        "Beyond the paper: most of the lowest loss comes from tokens that no model can copy",
        f"{best.replace(' GT-NSGDm ', ', β = ')}: " + listed(parts),
        parts["all else"] < 0.2 * sum(parts.values()),
        "It holds if last positions and unknown words make up more than 80 % of the loss. No model "
        "can copy these tokens.",
        source="ours",
    )
