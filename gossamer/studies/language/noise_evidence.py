"""The paper's first figure: does gradient noise grow heavy tails while a GPT is trained?"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gossamer.colours import INK, OKABE_ITO
from gossamer.experiments import Experiment, Figures, Result, Results, Table, Unit, Verdict
from gossamer.plots import panels, style
from gossamer.seeding import stream
from gossamer.studies.language.far_quantile import FarQuantile, length, shape
from gossamer.studies.language.noise_norms import NoiseAlongTraining
from gossamer.studies.language.task import SIZES, Size, Task
from gossamer.studies.seeds import fresh_seeds
from gossamer.studies.synthetic.task import NOISES
from gossamer.tails import Diagnosis, TailEstimate, diagnose
from gossamer.tails._diagnose import COLUMNS
from gossamer.tails.estimate import GAUSSIAN_IQR
from gossamer.tails.samples import Array
from gossamer.text import listing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TASKS = {
    "causal": Task("causal", stride=5, epochs=12, num_nodes=1),
    "paper": Task("paper", stride=5, epochs=12, num_nodes=1),
}

LR = 0.1
"""The paper prints no step size for this figure."""

MEASURED = (0, 6, 10)
"""Epochs, of twelve, at whose beginning the noise is measured."""

PASSES = 8
"""Passes over the data, each in its own order, whose batches are measured."""

STABLE = NOISES["α-stable"]
SYNTHETIC = "α-stable"

SHOWN = (-3.0, 15.0)
"""Norms that a panel shows, in interquartile ranges from the median."""


def samples(result: Result) -> dict[str, Array]:
    """The noise norms of each measured epoch, and as many |X| of the α-stable law."""
    norms = {f"epoch {m['epoch']}": np.array(m["norms"]) for m in result["measured"]}
    size = len(result["measured"][0]["norms"])
    draws = STABLE.sample((size,), generator=stream("noise-evidence"))
    return {**norms, SYNTHETIC: draws.abs().numpy()}


class NoiseEvidence(Experiment[Size]):
    """Norms of gradient noise along centralized training, beside an α-stable law."""

    name = "noise-evidence"
    title = "The noise of mini-batch gradients along the training of a GPT"
    study = "language"
    about = (
        "Theory for heavy-tailed noise matters if gradients have such noise. The paper's evidence "
        "is a GPT of 3,018,240 parameters that one node trains by SGD on Multi30k for 12 epochs. "
        "At the beginning of epochs 0, 6 and 10 training pauses, and at that fixed x the distance "
        "‖g(x, ξ) − ∇f(x)‖ of mini-batch gradients to the full-batch gradient is measured. We "
        f"measure the batches of {PASSES} passes over the data, in orders that training does not "
        "use and that are the same at the three epochs; ∇f is the mean over all batches of a pass. "
        f"The step size, which is not printed, is {LR}; batches hold 64 windows of 64 tokens, five "
        "tokens apart. Beside them: |X| of as many draws of the synthetic study's α-stable law, "
        "tail index 1.5 and skewness 0.5, whose variance is infinite. The panels show densities on "
        "a logarithmic axis. A norm in three million dimensions is never near 0, so norms are "
        "counted from their median and in interquartile ranges (IQR): all bodies then look alike, "
        "and what differs are the tails. The dashed line is a Gaussian. A smaller Hill index is a "
        "heavier tail; below 2 the variance is infinite. Hill reads ratios of norms, so a part "
        "that all norms share makes its index large; the table's shape is free of that. `causal` "
        "is language modelling; `paper` shuffles the training tokens and lets attention see the "
        "token to be predicted."
    )

    sizes = SIZES

    def units(self, size: Size, seed: int) -> list[Unit]:
        """A unit per protocol."""
        return [_unit(protocol, size, seed) for protocol in TASKS]

    def finding(self, results: Results) -> str:
        """The index at the last measured epoch."""
        last = {p: list(samples(results[p]).values())[-2] for p in TASKS}
        tails = {p: _tail(diagnose(norms)) for p, norms in last.items()}
        heavy = any(tail.interval[0] < 2 for tail in tails.values())
        indices = [f"{tail} (`{p}`)" for p, tail in tails.items()]
        return (
            f"The gradient noise of the Transformer {'may have' if heavy else 'has no'} infinite "
            f"variance: that takes a Hill index below 2, and at the last measured epoch it is "
            f"{listing(indices)}."
        )

    def figures(self, results: Results) -> Figures:
        """Per protocol the densities at three epochs and that of the synthetic law."""
        return {f"{self.name}-{p}": _row_of_densities(p, results[p]) for p in TASKS}

    def tables(self, results: Results) -> list[Table]:
        """The shape of every sample, then every estimator on each."""
        return [
            Table(
                "Training and the norms of its gradient noise",
                [
                    "protocol",
                    "sample",
                    "validation loss",
                    "‖∇f‖",
                    "median norm",
                    "length: q99.9 / q50",
                    "largest / q50",
                    "shape: (q99.9 − q50) / (q75 − q50)",
                    "tail",
                ],
                [row for p in TASKS for row in _shapes(p, results[p])],
            ),
            *(_estimates(p, results[p]) for p in TASKS),
        ]

    def verdicts(self, results: Results) -> list[Verdict]:
        """The paper's two sentences, for each protocol."""
        return [
            judged for p in TASKS for judged in (_heavier(p, results[p]), _alike(p, results[p]))
        ]


def _tail(diagnosis: Diagnosis) -> TailEstimate:
    return diagnosis.hill["√n"]


def _unit(protocol: str, size: Size, seed: int) -> Unit:
    task = size.task(TASKS[protocol], seed)
    epochs = tuple(epoch * task.epochs // 12 for epoch in MEASURED)
    (training_seed,) = fresh_seeds(seed, 1)
    noise_seeds = tuple(1000 * seed + 700 + k for k in range(PASSES))
    return NoiseAlongTraining(protocol, task, LR, epochs, training_seed, noise_seeds)


def _row_of_densities(protocol: str, result: Result) -> "Figure":
    with style():
        found = samples(result)
        figure, axes = panels(len(found), width=3.0, height=3.0)
        for ax, (name, norms) in zip(axes, found.items(), strict=True):
            synthetic = name == SYNTHETIC
            _density(ax, norms, OKABE_ITO[1 if synthetic else 0])
            ax.set_xlabel(f"{'|X|' if synthetic else 'noise norm'} from its median [IQR]")
            diagnosis = diagnose(norms)
            ax.set_title(f"{name}: {diagnosis.tail}\nHill at √n {_tail(diagnosis)}")
        axes[0].set_ylabel(f"density, protocol “{protocol}”")
        axes[0].legend(loc="upper right")
    return figure


def _density(ax: "Axes", norms: Array, colour: str) -> None:
    """The density in interquartile ranges from the median, and a Gaussian of the same two."""
    low, median, high = np.quantile(norms, [0.25, 0.5, 0.75])
    z = (norms - median) / (high - low)
    bins = np.linspace(*SHOWN, 73)
    one = 1 / (z.size * (bins[1] - bins[0]))  # the density of a bin that holds one norm
    counts, _ = np.histogram(z, bins)
    ax.stairs(counts * one, bins, fill=True, color=colour, alpha=0.5)
    x, deviation = np.linspace(*SHOWN, 400), 1 / GAUSSIAN_IQR
    gaussian = np.exp(-((x / deviation) ** 2) / 2) / deviation / math.sqrt(2 * math.pi)
    ax.plot(x, gaussian, "--", color=INK, linewidth=1, label="Gaussian")
    ax.set(yscale="log", xlim=SHOWN, ylim=(one / 2, 2))
    beyond, largest = (z > SHOWN[1]).mean(), z.max()
    if beyond > 0:
        words = f"{beyond:.2%} beyond,\nup to {largest:,.0f}"
        ax.text(0.97, 0.6, words, transform=ax.transAxes, ha="right", va="top", fontsize=8.5)


def _shapes(protocol: str, result: Result) -> list[list[str]]:
    found = samples(result)
    trained = [
        [f"{m[k]:.4g}" for k in ("validation_loss", "gradient_norm")] for m in result["measured"]
    ]
    return [
        [
            protocol,
            name,
            *state,
            f"{np.median(norms):.4g}",
            str(length(norms)),
            f"{norms.max() / np.median(norms):.4g}",
            str(shape(norms)),
            diagnose(norms).tail,
        ]
        for (name, norms), state in zip(found.items(), [*trained, ["–", "–"]], strict=True)
    ]


def _estimates(protocol: str, result: Result) -> Table:
    rows = [[name, *row] for name, x in samples(result).items() for row in diagnose(x).table()]
    title = f"Protocol `{protocol}`: every estimator of the tail, {len(rows)} answers"
    return Table(title, ["sample", *COLUMNS], rows)


def _heavier(protocol: str, result: Result) -> Verdict:
    found = samples(result)
    del found[SYNTHETIC]
    tails = {name: _tail(diagnose(norms)) for name, norms in found.items()}
    lengths = {name: length(norms) for name, norms in found.items()}
    (early, *_, late), (short, *_, long) = tails.values(), lengths.values()
    heavier, longer = late.interval[1] < early.interval[0], long.low > short.high
    return Verdict(
        "As training progresses, the tail of the noise norm becomes heavier (and longer), "
        f"protocol `{protocol}`",
        f"Hill index (smaller is heavier): {_list(tails)}; 99.9 % quantile divided by the "
        "median (larger is longer): "
        f"{_list(lengths)}",
        {"heavier": heavier, "longer": longer},
        f"The tail {_becomes(heavier)} heavier and {_becomes(longer)} longer. A change counts if "
        "the 95 % intervals of the first and the last epoch do not overlap." + _too_few(lengths),
    )


def _alike(protocol: str, result: Result) -> Verdict:
    found = samples(result)
    shapes = {name: shape(norms) for name, norms in found.items()}
    early, *_, late, _ = shapes.values()
    *_, diagnosis, _ = map(diagnose, found.values())
    nearer, alike = late.low > early.high, _tail(diagnosis).interval[0] < 2
    return Verdict(
        "The tail increasingly resembles that of a synthetic α-stable distribution, "
        f"protocol `{protocol}`",
        f"shape of the tail: {_list(shapes)}; Hill index at the last epoch: {_tail(diagnosis)}",
        nearer and alike,
        "It holds if the shape grows from the first to the last epoch, with 95 % intervals that do "
        "not overlap, and if the 95 % interval of the last Hill index reaches below 2. The shape "
        "is (q99.9 − q50) / (q75 − q50), where q99.9 is the 99.9 % quantile; a Gaussian has 4.6."
        + _too_few(shapes),
    )


def _becomes(so: bool) -> str:
    return "becomes" if so else "does not become"


def _list(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _too_few(quantiles: Mapping[str, FarQuantile]) -> str:
    bounded = all(math.isfinite(far.high) for far in quantiles.values())
    return "" if bounded else " There are too few norms to bound that quantile from above."
