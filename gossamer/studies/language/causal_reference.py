"""A published causal setting: four printed losses beside ours, and three methods more."""

from gossamer.experiments import Experiment, Figures, Result, Results, Table, Unit, Verdict
from gossamer.plots import OKABE_ITO, curve, panels, style
from gossamer.simulation.words import show_hyperparameters
from gossamer.studies.language.grids import FINER, TRANSFORMER
from gossamer.studies.language.task import (
    NETWORKS,
    SIZES,
    Size,
    Task,
    final_losses,
    mean_loss,
)
from gossamer.studies.language.tuned import OnTheNetwork, Tuned, schedule_for
from gossamer.studies.seeds import fresh_seeds, tuning_seeds
from gossamer.studies.wording import mean_and_deviation

TASK = Task("causal", stride=32, epochs=20, dropout=0.1, style="pytorch")

PRINTED = {
    "DSGD": (4.634, 0.026),
    "Normalized DSGD": (4.386, 0.016),
    "DSGD-GClip": (4.375, 0.021),
    "DSGD-CClip": (3.962, 0.008),
}
"""arXiv 2610.10527, Table 2, which calls DSGD-GClip "DSGD-Clip"."""

ADDED = ("QG-DSGDm", "GT-Adam", "GT-NSGDm")
METHODS = (*PRINTED, *ADDED)
TOLERANCE = 0.1
FINE = ", finer set"
SETS = {"": TRANSFORMER, FINE: FINER}
"""What is added to a method's name → where its settings come from."""


class CausalReference(Experiment[Size]):
    """Causal language modelling on a ring of eight, as published, and three methods more."""

    name = "causal-reference"
    title = "Causal language modelling beside published losses"
    study = "language"
    about = (
        "A GPT of the table's size trained causally as in arXiv 2610.10527: a ring of eight nodes "
        "with contiguous shards, windows of 64 tokens 32 apart, dropout 0.1, batches of 64, 20 "
        "epochs (460 steps), five runs. The published study prints its losses, but neither the "
        "kind of its layers nor its hyper-parameters. We take PyTorch's layers (LayerNorm after "
        "each sum, ReLU, PyTorch's initial weights) and search the table's sets on the ring "
        "itself, which for clipped and normalized methods have one step size and one clip level "
        "per decade, and then finer sets around what was best. Three methods are added."
    )

    sizes = SIZES

    def units(self, size: Size, seed: int) -> list[Unit]:
        """A unit per search set and method."""
        return [_unit(method, which, size, seed) for which in SETS for method in METHODS]

    def figures(self, results: Results) -> Figures:
        """Validation loss over steps, with the finer sets."""
        with style():
            figure, (ax,) = panels(1, width=5.4, height=3.6)
            for method, colour in zip(METHODS, OKABE_ITO, strict=False):
                ring = results[f"{method}{FINE}"]["networks"]["ring"]
                curve(ax, ring["steps"], ring["validation_loss"], method, colour)
            ax.set(xlabel="step t", ylabel="validation loss [nats per token]")
            ax.legend()
        return {"causal-reference": figure}

    def tables(self, results: Results) -> list[Table]:
        """Printed and measured losses, with both sets."""
        columns = ["method", "printed", "ours", "hyper-parameters", "ours, finer set", "hyper-…"]
        rows = [
            [
                method,
                "{:.3f} ± {:.3f}".format(*PRINTED[method]) if method in PRINTED else "–",
                *(cell for which in SETS for cell in _cells(results[f"{method}{which}"])),
            ]
            for method in METHODS
        ]
        title = "Validation loss on the ring, mean ± deviation of five runs"
        return [Table(title, columns, rows)]

    def verdicts(self, results: Results) -> list[Verdict]:
        """Each printed loss, and what the added methods reach."""
        losses = {
            which: {m: mean_loss(results[f"{m}{which}"]["networks"]["ring"]) for m in METHODS}
            for which in SETS
        }
        coarse, finer = losses.values()
        return [*(_printed(m, coarse[m], finer[m]) for m in PRINTED), _added(finer)]


def _unit(method: str, which: str, size: Size, seed: int) -> Unit:
    algorithm, all_settings = SETS[which][method]
    settings, ring = size.searched(all_settings), NETWORKS["ring"]
    return Tuned(
        f"{method}{which}",
        algorithm,
        settings,
        size.task(TASK, seed),
        {"ring": ring},
        OnTheNetwork(ring, schedule_for(settings)),
        tuning_seeds(seed, 1),
        fresh_seeds(seed, size.fresh_seeds),
    )


def _cells(result: Result) -> list[str]:
    losses = mean_and_deviation(final_losses(result["networks"]["ring"]))
    return [losses, show_hyperparameters(result["search"]["hyperparameters"])]


def _printed(method: str, coarse: float, finer: float) -> Verdict:
    printed, _ = PRINTED[method]
    return Verdict(
        f"{method} ends at {printed}",
        f"{coarse:.3f} ({coarse - printed:+.3f}); with the finer set {finer:.3f} "
        f"({finer - printed:+.3f})",
        {
            "the paper's search set": abs(coarse - printed) <= TOLERANCE,
            "the finer set": abs(finer - printed) <= TOLERANCE,
        },
        f"Judged: within {TOLERANCE} of the printed mean.",
        source="published",
    )


def _added(losses: dict[str, float]) -> Verdict:
    best = min(losses, key=losses.__getitem__)
    return Verdict(
        "Beyond the published table: methods with tracking or momentum end lower than all four",
        ", ".join(f"{m} {losses[m]:.3f}" for m in ADDED) + f"; best {best}",
        {m: losses[m] < min(losses[p] for p in PRINTED) for m in ADDED},
        "With the finer sets.",
        source="ours",
    )
