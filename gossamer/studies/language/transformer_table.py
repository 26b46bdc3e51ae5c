"""The paper's table: nine methods train a GPT on three networks, under two protocols."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gossamer.colours import LOOKS
from gossamer.experiments import (
    Experiment,
    Figures,
    Printed,
    Result,
    Results,
    Table,
    Unit,
    Verdict,
)
from gossamer.plots import curve, panels, style
from gossamer.simulation.words import show_hyperparameters
from gossamer.studies.language.grids import TRANSFORMER
from gossamer.studies.language.task import (
    NETWORKS,
    SIZES,
    Size,
    Task,
    corpus_facts,
    final_losses,
    mean_loss,
)
from gossamer.studies.language.tuned import OnOneNode, TunedPerNetwork, rungs_for
from gossamer.studies.seeds import fresh_seeds, tuning_seeds
from gossamer.studies.wording import listed, mean_and_deviation

TASKS = {
    "paper": Task("paper", stride=5, epochs=12),
    "causal": Task("causal", stride=5, epochs=12),
}

PRINTED = {
    "DSGD": ((5.633, 0.008), (5.632, 0.007), (5.635, 0.007)),
    "DSGD-GClip": ((0.253, 0.007), (0.249, 0.010), (0.267, 0.010)),
    "DSGD-CClip": ((2.725, 3.179), (5.058, 2.388), (8.225, 1.695)),
    "GT-DSGD": ((5.362, 0.002), (5.632, 0.002), (5.631, 0.002)),
    "GT-Adam": ((0.520, 0.038), (0.587, 0.096), (0.524, 0.045)),
    "QG-DSGDm": ((0.394, 0.007), (0.388, 0.013), (0.353, 0.011)),
    "SClip-EF": ((5.653, 0.012), (5.632, 0.003), (5.636, 0.004)),
    "DSGD-Clip": ((5.633, 0.004), (5.659, 0.013), (5.661, 0.006)),
    "GT-NSGDm": ((0.258, 0.007), (0.261, 0.007), (0.282, 0.009)),
}
"""Validation loss, mean and deviation of five runs, on the ring, the directed exponential and the
complete network. The 5.362 is likely 5.632 with two digits exchanged."""

PRINTED_LAMBDA = {"ring": 0.804, "directed exponential": 0.6, "complete": 0.0}
PLATEAU = ("DSGD", "GT-DSGD", "DSGD-Clip", "SClip-EF")
TOLERANCE = 0.05
GPU_HOURS_OF_THE_PAPER = 100
MINUTES = 30


@dataclass(frozen=True)
class CorpusFacts(Unit):
    """The sizes of the corpus and of the model."""

    task: Task

    def run(self, device: str) -> Result:
        """Sizes, and the validation loss of a model that knows the frequencies of words."""
        return corpus_facts(self.task, device)


class TransformerTable(Experiment[Size]):
    """Nine methods × three networks × five seeds, tuned on the paper's search sets."""

    name = "transformer-table"
    title = "Nine methods train a Transformer on three networks"
    study = "language"
    about = (
        "A GPT of 3,018,240 parameters on Multi30k, eight nodes with batches of 64 windows of 64 "
        "tokens, 12 epochs of windows five tokens apart (1,764 steps). Every method is tuned on "
        "the paper's search set with a tuning seed: all settings on one node by halving, then the "
        "best three on every network. What is best on a network is then trained there with five "
        "fresh seeds, which set the order of the batches. Losses are of the average model on the "
        "validation captions. Two protocols: `causal` is language modelling, "
        "tokens in order and attention to the past. `paper` shuffles the training tokens and lets "
        "attention see both directions, the token to be predicted included: what is learnt is to "
        "copy it, and a method that does not learn to copy stays at the entropy of single words. "
        "Losses below 1, as printed, come from this: 0.25 nats per token is out of reach of a "
        "model that does not see what it predicts."
    )

    sizes = SIZES

    def units(self, size: Size, seed: int) -> list[Unit]:
        """The corpus, then a unit per protocol and method."""
        facts = CorpusFacts("corpus", size.task(TASKS["paper"], seed))
        return [facts, *(_unit(p, m, size, seed) for p in TASKS for m in PRINTED)]

    def readable(self, results: Results, units: Sequence[Unit]) -> bool:
        """When the paper's table is complete; the causal one may be shown method by method."""
        return all(u.name in results for u in units if not u.name.startswith("causal"))

    def finding(self, results: Results) -> str:
        """How much of the table is seen again, and where its low losses come from."""
        near = _near(results)
        plateau = sum(near[cell] for cell in near if _on_printed_plateau(*cell))
        return (
            f"Of the {len(near)} printed losses {sum(near.values())} are within {TOLERANCE} of "
            f"ours, {plateau} of them on the plateau of methods that learn word frequencies and "
            f"nothing else.{_leak(results)}"
        )

    def printed(self, results: Results) -> list[Printed]:
        """The cells of the table."""
        return [
            Printed(f"validation loss, {n}", method, mean, mean_loss(curve), final_losses(curve))
            for method, row in PRINTED.items()
            for n, (mean, _) in zip(NETWORKS, row, strict=True)
            for curve in [results[f"paper {method}"]["networks"][n]]
        ]

    def figures(self, results: Results) -> Figures:
        """Validation loss over steps on the ring, a panel per protocol."""
        with style():
            figure, axes = panels(len(TASKS), width=5.0, height=3.6)
            for ax, protocol in zip(axes, TASKS, strict=True):
                for method in methods(results, protocol):
                    ring = results[f"{protocol} {method}"]["networks"]["ring"]
                    curve(ax, ring["steps"], ring["validation_loss"], method, *LOOKS[method])
                ax.set(title=f"protocol “{protocol}”, ring", xlabel="step t", ylim=(0, None))
            axes[0].set_ylabel("validation loss [nats per token]")
            handles, labels = axes[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=5)
        return {"transformer-table": figure}

    def tables(self, results: Results) -> list[Table]:
        """The printed table beside ours, the causal table, and what the search chose."""
        networks = [name.replace("directed exponential", "exponential") for name in NETWORKS]
        columns = ["method", *(f"{n}, {w}" for n in networks for w in ("printed", "ours"))]
        return [
            Table(
                "Protocol `paper`: validation loss, mean ± standard deviation of five runs",
                columns,
                [_row(results, method) for method in PRINTED],
            ),
            Table(
                "Protocol `causal`: validation loss, mean ± standard deviation of five runs",
                ["method", *NETWORKS],
                [
                    [m, *(_ours(results, "causal", m, n) for n in NETWORKS)]
                    for m in methods(results, "causal")
                ],
            ),
            Table(
                "What the search chose, and the share of a full grid's run-steps that it took",
                ["protocol", "method", "settings", "on one node", "on networks", "chosen"],
                [[p, m, *_choice(results[f"{p} {m}"])] for p in TASKS for m in methods(results, p)],
            ),
        ]

    def verdicts(self, results: Results) -> list[Verdict]:
        """The paper's sentences about its table, and our goals."""
        orderings = [_near_best(results), _above_guaranteed(results)]
        causal = [_causal_order(results)] if "causal GT-NSGDm" in results else []
        if results["corpus"]["corpus"] != "multi30k":
            return orderings + causal  # no printed number is about the artificial text
        printed = [_lambda(), _plateau(results), _gt_nsgdm(results)]
        goal = [_causal_goal(results)] if causal else []
        return [*printed, *orderings, _all_cells(results), *goal, *causal, _cost(results)]


def methods(results: Results, protocol: str) -> list[str]:
    """The methods that there are results of."""
    return [method for method in PRINTED if f"{protocol} {method}" in results]


def _unit(protocol: str, method: str, size: Size, seed: int) -> Unit:
    algorithm, all_settings = TRANSFORMER[method]
    settings = size.searched(all_settings)
    return TunedPerNetwork(
        f"{protocol} {method}",
        algorithm=algorithm,
        settings=settings,
        task=size.task(TASKS[protocol], seed),
        networks=NETWORKS,
        search=OnOneNode(rungs_for(settings)),
        tuning_seeds=tuning_seeds(seed, 1),
        fresh_seeds=fresh_seeds(seed, size.fresh_seeds),
    )


def _ours(results: Results, protocol: str, method: str, network: str) -> str:
    curve = results[f"{protocol} {method}"]["networks"][network]
    return mean_and_deviation(final_losses(curve))


def _loss(results: Results, protocol: str, method: str, network: str) -> float:
    return mean_loss(results[f"{protocol} {method}"]["networks"][network])


def _losses(results: Results, protocol: str) -> dict[str, dict[str, float]]:
    """Network → method → its mean loss there."""
    known = methods(results, protocol)
    return {n: {m: _loss(results, protocol, m, n) for m in known} for n in NETWORKS}


def _name_best(best: dict[str, str], losses: dict[str, dict[str, float]]) -> str:
    return ", ".join(f"{n}: {m} {losses[n][m]:.3f}" for n, m in best.items())


def on_plateau(loss: float) -> bool:
    """Whether a method has learnt the frequencies of words and nothing else."""
    return abs(loss - 5.63) <= TOLERANCE


def meets_goal(loss: float, printed: float) -> bool:
    """What we ask of GT-NSGDm under the `paper` protocol."""
    return loss <= 0.30 and abs(loss - printed) <= TOLERANCE


def _row(results: Results, method: str) -> list[str]:
    cells = [method]
    for network, (mean, deviation) in zip(NETWORKS, PRINTED[method], strict=True):
        cells += [f"{mean:.3f} ± {deviation:.3f}", _ours(results, "paper", method, network)]
    return cells


def _choice(result: Result) -> list[str]:
    search = result["search"]
    whole = search["settings"] * result["steps"]
    shares = [search[stage] / whole for stage in ("run_steps_on_one_node", "run_steps")]
    return [str(search["settings"]), *(f"{s:.0%}" for s in shares), _chosen(search["chosen"])]


def _chosen(of: Mapping[str, Result]) -> str:
    """The hyper-parameters, with the networks for which they were chosen where these differ."""
    networks: dict[str, list[str]] = {}
    for network, chosen in of.items():
        networks.setdefault(show_hyperparameters(chosen), []).append(network)
    if len(networks) == 1:
        return next(iter(networks))
    return "; ".join(f"{chosen} ({', '.join(names)})" for chosen, names in networks.items())


def _compare(results: Results, protocol: str, methods: tuple[str, ...]) -> str:
    """Means on the three networks, a line per method."""
    return "\n".join(
        f"{m}: " + ", ".join(f"{_loss(results, protocol, m, n):.3f}" for n in NETWORKS)
        for m in methods
    )


def _lambda() -> Verdict:
    ours = {name: network.lam for name, network in NETWORKS.items()}
    agree = {name: abs(ours[name] - printed) < 1e-3 for name, printed in PRINTED_LAMBDA.items()}
    found = ", ".join(f"{lam:.3f}" for lam in ours.values())
    statement = f"λ = 0.804, 0.6, 0 on eight nodes ({', '.join(NETWORKS)})"
    return Verdict(statement, found, agree, source="setting")


def _plateau(results: Results) -> Verdict:
    near = {m: [on_plateau(_loss(results, "paper", m, n)) for n in NETWORKS] for m in PLATEAU}
    cells = [cell for row in near.values() for cell in row]
    unigram = results["corpus"]["unigram_loss"]
    return Verdict(
        "DSGD, GT-DSGD, DSGD-Clip and SClip-EF end at 5.63",
        _compare(results, "paper", PLATEAU),
        {m: all(row) for m, row in near.items()},
        f"{sum(cells)} of {len(cells)} losses are within {TOLERANCE} of 5.63. A model that knows "
        f"only the frequency of every word has a loss of {unigram:.3f}.",
    )


def _gt_nsgdm(results: Results) -> Verdict:
    ours = {n: _loss(results, "paper", "GT-NSGDm", n) for n in NETWORKS}
    printed = dict(zip(NETWORKS, (mean for mean, _ in PRINTED["GT-NSGDm"]), strict=True))
    return Verdict(
        f"GT-NSGDm ends at losses of 0.258, 0.261 and 0.282 ({', '.join(NETWORKS)})",
        ", ".join(f"{loss:.3f}" for loss in ours.values()),
        {n: meets_goal(ours[n], printed[n]) for n in NETWORKS},
        f"It holds on a network if our loss is at most 0.30 and within {TOLERANCE} of the printed "
        "mean. The paper does not print its number of steps.",
    )


def _near_best(results: Results) -> Verdict:
    ours, printed_best = "GT-NSGDm", "DSGD-GClip"
    losses = _losses(results, "paper")
    best = {n: min((m for m in of if m != ours), key=of.__getitem__) for n, of in losses.items()}
    return Verdict(
        f"{ours} nearly matches the best baseline, {printed_best}",
        _compare(results, "paper", (ours, printed_best)),
        {n: of[ours] - of[best[n]] <= TOLERANCE for n, of in losses.items()},
        f"It holds on a network if GT-NSGDm ends at most {TOLERANCE} above the baseline that is "
        f"best there in our runs ({_name_best(best, losses)}).",
    )


def _above_guaranteed(results: Results) -> Verdict:
    ours, *others = methods = ("GT-NSGDm", "DSGD-Clip", "SClip-EF")
    losses = _losses(results, "paper")
    return Verdict(
        "GT-NSGDm significantly outperforms the other methods with guarantees",
        _compare(results, "paper", methods),
        {m: all(of[ours] < of[m] - 1 for of in losses.values()) for m in others},
        "It holds if GT-NSGDm ends lower by more than 1 nat per token on every network.",
    )


def _leak(results: Results) -> str:
    """Where losses below 1 come from, if no causal loss is as low."""
    losses = [loss for of in _losses(results, "causal").values() for loss in of.values()]
    lowest = min((loss for loss in losses if math.isfinite(loss)), default=0.0)
    if lowest < 1:
        return ""
    return (
        " Losses below 1 mean that attention sees the token to be predicted: trained causally, "
        f"no method ends below {lowest:.2f}."
    )


def _near(results: Results) -> dict[tuple[str, str], bool]:
    """Method and network → whether our mean is that of the print."""
    return {
        (method, network): abs(_loss(results, "paper", method, network) - mean) <= TOLERANCE
        for method, row in PRINTED.items()
        for network, (mean, _) in zip(NETWORKS, row, strict=True)
    }


def _all_cells(results: Results) -> Verdict:
    near = _near(results)
    plateau = {cell: is_near for cell, is_near in near.items() if _on_printed_plateau(*cell)}
    learnt = {cell: is_near for cell, is_near in near.items() if cell not in plateau}
    parts = {"on the plateau at 5.63": plateau, "where something is learnt": learnt}
    return Verdict(
        "The 27 losses of the paper's Transformer table",
        f"within {TOLERANCE} of the printed mean: "
        + "; ".join(f"{sum(c.values())} of {len(c)} {part}" for part, c in parts.items()),
        all(near.values()),
        "Methods on the plateau have learnt word frequencies and nothing else.",
    )


def _on_printed_plateau(method: str, network: str) -> bool:
    return on_plateau(PRINTED[method][list(NETWORKS).index(network)][0])


def _causal_goal(results: Results) -> Verdict:
    losses = [_loss(results, "causal", "GT-NSGDm", n) for n in NETWORKS]
    return Verdict(
        "Our goal: GT-NSGDm ends below a loss of 3.8 under the `causal` protocol",
        ", ".join(f"{loss:.3f}" for loss in losses),
        {n: loss < 3.8 for n, loss in zip(NETWORKS, losses, strict=True)},
        f"The lowest losses during training are {_lowest_on_the_way(results)}.",
        source="ours",
    )


def _lowest_on_the_way(results: Results) -> str:
    """The lowest mean of GT-NSGDm's losses on each network, and when that was."""
    result, found = results["causal GT-NSGDm"], []
    for of_network in result["networks"].values():
        means = map(statistics.fmean, of_network["validation_loss"])
        loss, step = min(zip(means, of_network["steps"], strict=True))
        found.append(f"{loss:.3f} (step {step:,})")
    return f"{', '.join(found)} of {result['steps']:,} steps"


def _causal_order(results: Results) -> Verdict:
    means = _losses(results, "causal")
    best = {n: min(of, key=of.__getitem__) for n, of in means.items()}
    gaps = {n: of["GT-NSGDm"] - of[best[n]] for n, of in means.items()}
    return Verdict(
        "Beyond the paper: under the `causal` protocol the loss of GT-NSGDm is at most 0.05 above "
        "the lowest",
        f"lowest loss: {_name_best(best, means)}",
        {n: gap <= TOLERANCE for n, gap in gaps.items()},
        f"The loss of GT-NSGDm minus the lowest of {len(methods(results, 'causal'))} methods: "
        f"{listed(gaps)}.",
        source="ours",
    )


def _cost(results: Results) -> Verdict:
    minutes = {
        p: sum(results[f"{p} {m}"]["seconds"] for m in methods(results, p)) / 60 for p in TASKS
    }
    machine = results["paper GT-NSGDm"]["machine"]
    return Verdict(
        f"The paper's search and training took about {GPU_HOURS_OF_THE_PAPER} H100-hours; "
        f"our goal: at most {MINUTES} minutes on one GPU",
        ", ".join(f"{p}: {m:.1f} minutes" for p, m in minutes.items()) + f" on {machine}",
        minutes["paper"] <= MINUTES,
        source="ours",
    )
