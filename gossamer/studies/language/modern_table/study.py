"""Today's methods on two corpora, beside published losses, and which one to take for models."""

import dataclasses
from collections.abc import Sequence

from gossamer.experiments import Experiment, Figures, Printed, Results, Table, Unit, Verdict
from gossamer.networks import Network
from gossamer.networks.compressors import QSGD
from gossamer.noise import MultivariateT, StudentT
from gossamer.studies.language.grids import MODERN
from gossamer.studies.language.modern_table.picture import figure_of
from gossamer.studies.language.modern_table.reading import TOLERANCE, gaps
from gossamer.studies.language.modern_table.situations import (
    ENDS,
    FIRST,
    MOVED,
    PARAMETERS,
    PRINTED,
    TASKS,
    elsewhere_name,
    shards_name,
    tuned_name,
)
from gossamer.studies.language.modern_table.tables import tables_of
from gossamer.studies.language.modern_table.verdicts import verdicts_of
from gossamer.studies.language.on_the_ring import Elsewhere, OnTheRing, Place, Search
from gossamer.studies.language.shards import Shards
from gossamer.studies.language.task import (
    NETWORKS,
    SIZES,
    Size,
    Sorted,
    Task,
    Text,
    final_losses,
    mean_loss,
)
from gossamer.studies.language.tuned import Rungs
from gossamer.studies.seeds import fresh_seeds, tuning_seeds
from gossamer.text import listing

RUNGS: Rungs = ((1 / 8, 0.5), (1 / 4, 0.3), (1 / 2, 0.15))
EXTENSIONS = 3


class ModernTable(Experiment[Size]):
    """All methods that make sense on a ring of eight, tuned, on words and on characters."""

    name = "modern-table"
    title = "Today's methods train a Transformer on words and on characters"
    study = "language"
    about = (
        "A GPT trained causally as in arXiv 2610.10527: a ring of eight nodes with contiguous "
        "shards, windows of 64 tokens 32 apart, dropout 0.1, batches of 64, 20 epochs, on the "
        "words of Multi30k and on the characters of Tiny Shakespeare. The published study prints "
        "four losses for each, but neither the kind of its layers nor its hyper-parameters; we "
        "take PyTorch's layers (LayerNorm after each sum, ReLU, PyTorch's initial weights). Every "
        "method is tuned on the ring by halving, with a tuning seed. Where the best lies on an "
        "edge of its set, the search goes on beyond it by itself, at most three times. The choice "
        "is then trained with five fresh seeds, which set the initial weights, the order of the "
        "batches and the dropout; losses are of the average model on the validation text. Beside "
        "the four published methods: the family of GT-NSGDm, which is tracking followed by the "
        "steepest direction of a norm, of all parameters, of each tensor (layer-wise), of each "
        "coordinate (sign) or of each matrix (DeMuon); GT-Adam; and others with momentum, "
        "tracking, clipping or variance reduction. Left out are DSGD-Clip and SClip-EF, whose "
        "decaying steps are made for convex problems and which learn little in the paper's table; "
        "EXTRA, Exact Diffusion, DIGing, ATC-Tracking and MoTEF, which differ from GT-DSGD and "
        "Momentum Tracking, both here, in the order of their steps. The family and GT-Adam are "
        "also trained elsewhere with the setting of the ring: on a directed exponential and a "
        "complete network; on sorted shards, where nodes hold captions with unlike beginnings, or "
        "unlike speakers; with Student-t noise of tail index 1.5 added to every gradient, as long "
        "as the gradient itself, independent in each coordinate or large in all at once; and on a "
        "bad network, which loses a tenth of its messages and sends four bits per coordinate."
    )

    sizes = SIZES

    def units(self, size: Size, seed: int) -> list[Unit]:
        """Both corpora; the methods asked about first, then the others; and other places."""
        rest = tuple(method for method in MODERN if method not in FIRST)
        return [
            *(_shards(corpus, size, seed) for corpus in TASKS),
            *(_tuned(corpus, m, size, seed) for m in (*FIRST, *rest) for corpus in TASKS),
            *(_elsewhere(corpus, m, size, seed) for m in MOVED for corpus in TASKS),
        ]

    def readable(self, results: Results, units: Sequence[Unit]) -> bool:
        """When both columns of the table are complete; other places may be shown one by one."""
        return all(unit.name in results for unit in units if not isinstance(unit, Elsewhere))

    def finding(self, results: Results) -> str:
        """The lowest on each corpus, and how much of the published table is seen again."""
        found = gaps(results)
        best = [f"{next(m for m in MODERN if found[m][c] == 1)} on {c}" for c in TASKS]
        differences = [abs(number.ours - number.printed) for number in self.printed(results)]
        seen_again = sum(difference <= TOLERANCE for difference in differences)
        return (
            f"Of {len(MODERN)} methods tuned on a ring of eight nodes these end lowest: "
            f"{listing(best)}. {seen_again} of {len(differences)} published losses are within "
            f"{TOLERANCE} of ours."
        )

    def printed(self, results: Results) -> list[Printed]:
        """The published table."""
        return [
            Printed(f"validation loss, {c}", m, printed, mean_loss(curve), final_losses(curve))
            for c, losses in PRINTED.items()
            for m, printed in losses.items()
            for curve in [results[tuned_name(c, m)]]
        ]

    def figures(self, results: Results) -> Figures:
        """Validation loss over steps, a panel per corpus."""
        return {self.name: figure_of(results)}

    def tables(self, results: Results) -> list[Table]:
        """Losses on the ring, losses elsewhere, what was chosen, and the corpora."""
        return tables_of(results)

    def verdicts(self, results: Results) -> list[Verdict]:
        """The printed losses, what is best on both corpora, whether it stands, and the cost."""
        return verdicts_of(results)


def _task(corpus: str, size: Size, seed: int) -> Task:
    return size.task(TASKS[corpus], seed)


def _text(task: Task) -> Text:
    assert not isinstance(task.text, Sorted)
    return task.text


def _shards(corpus: str, size: Size, seed: int) -> Unit:
    task = _task(corpus, size, seed)
    return Shards(shards_name(corpus), task, Sorted(_text(task), ENDS[corpus]))


def _search(corpus: str, method: str, size: Size, seed: int) -> Search:
    algorithm, settings = MODERN[method]
    where = (_task(corpus, size, seed), NETWORKS["ring"])
    (tuned_on,) = tuning_seeds(seed, 1)
    return Search(algorithm, size.searched(settings), *where, tuned_on, RUNGS, EXTENSIONS)


def _tuned(corpus: str, method: str, size: Size, seed: int) -> Unit:
    search = _search(corpus, method, size, seed)
    return OnTheRing(tuned_name(corpus, method), search, fresh_seeds(seed, size.fresh_seeds))


def _elsewhere(corpus: str, method: str, size: Size, seed: int) -> Unit:
    search, places = _search(corpus, method, size, seed), _places(corpus, size, seed)
    return Elsewhere(elsewhere_name(corpus, method), search, places, fresh_seeds(seed, 1))


def _places(corpus: str, size: Size, seed: int) -> dict[str, Place]:
    task, ring = _task(corpus, size, seed), NETWORKS["ring"]
    unlike = dataclasses.replace(task, text=Sorted(_text(task), ENDS[corpus]))
    dim = PARAMETERS[corpus]
    each, all_at_once = StudentT(1.5, dim ** (-2 / 3)), MultivariateT(1.5, dim**-0.5)
    return {
        "directed exponential": Place(task, NETWORKS["directed exponential"]),
        "complete": Place(task, NETWORKS["complete"]),
        "sorted shards": Place(unlike, ring),
        "Student-t noise": Place(task, ring, each.growing(1.0, floor=0.0)),
        "Student-t noise, all at once": Place(task, ring, all_at_once.growing(1.0, floor=0.0)),
        "bad network": Place(task, _bad(ring)),
    }


def _bad(network: Network) -> Network:
    return network.drops(0.1).compressed(QSGD(4))
