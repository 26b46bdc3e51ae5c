"""The lemmas of the analysis on recorded paths, and measured gradient norms under the bound."""

from functools import partial
from typing import Any

import torch

from gossamer.algorithms import GTNSGDm
from gossamer.experiments.experiment import Experiment, Figures, Options, Result, Results, Unit
from gossamer.experiments.verdict import Table, Verdict, judge
from gossamer.networks import StaticNetwork, complete, exponential, from_matrix, ring
from gossamer.noise import Noise
from gossamer.problems import Quadratic
from gossamer.studies.synthetic.synthetic import NODES, NOISES, problem
from gossamer.theory import admissible_p, measure_rule, plan
from gossamer.theory.lemmas import (
    consensus_bounds,
    consensus_errors,
    descent_slack,
    estimator_change_gap,
    mean_steps,
    record_path,
    tracker_expansion_gap,
    tracker_mean_gap,
)

LR, MOMENTUM, PATH_STEPS = 0.01, 0.8, 500
NETWORKS: dict[str, StaticNetwork] = {
    "ring": ring(NODES, hops=2),
    "exponential": exponential(NODES),
    "complete": complete(NODES),
}
ROUNDING = 1e-11
"""Largest gap of an identity, relative to the largest gradient met."""


class Opposed(Quadratic):
    """Two nodes whose gradients are +1 and −1 everywhere, which drives them apart."""

    def __init__(self) -> None:
        super().__init__(2, 1, condition=1.0, spread=0.0)

    def local_grad(self, x: torch.Tensor) -> torch.Tensor:
        """+1 at node 0, −1 at node 1."""
        return torch.tensor([1.0, -1.0]).to(x)[:, None, None].expand_as(x)


def horizon(options: Options) -> int:
    """T of the runs measured against the bound."""
    return 4096 if options.full else 1024


def seeds(options: Options) -> list[int]:
    """Their seeds."""
    return [1000 * options.seed + seed for seed in range(16 if options.full else 8)]


def _compute(network: StaticNetwork, noise: Noise, options: Options) -> Result:
    return {**_pathwise(network, noise, options), **_against_bound(network, noise, options)}


def _pathwise(network: StaticNetwork, noise: Noise, options: Options) -> Result:
    algorithm = GTNSGDm(LR, MOMENTUM)
    path = record_path(algorithm, problem(options), network, noise, PATH_STEPS, options.seed)
    scale = 1 + float(path.grad.norm(dim=-1).max())
    moved = mean_steps(path)
    return {
        "tracker_mean": tracker_mean_gap(path) / scale,
        "tracker_expansion": tracker_expansion_gap(path) / scale,
        "estimator_change": estimator_change_gap(path),
        "mean_step": [float(moved.min()) / LR, float(moved.max()) / LR],
        "consensus": consensus_errors(path).tolist(),
        "consensus_bound": consensus_bounds(path).tolist(),
        "descent_slack": float(descent_slack(path).min()) / scale,
    }


def _against_bound(network: StaticNetwork, noise: Noise, options: Options) -> Result:
    task, T = problem(options), horizon(options)
    planned = plan(task, network, T, noise=noise)
    ratios = {}
    for rule, p in {"p known": admissible_p(noise), "p unknown": None}.items():
        average = measure_rule(task, network, noise, [T], seeds(options), p=p).mean()
        ratios[rule] = [float(average), planned.bounds[rule].total]
    return {"bound": ratios}


def _tightness() -> Result:
    """Two opposed nodes: the consensus error and its bound."""
    network = from_matrix([[0.75, 0.25], [0.25, 0.75]])
    path = record_path(GTNSGDm(0.1, 0.5), Opposed(), network, None, 20)
    return {
        "consensus": consensus_errors(path).tolist(),
        "consensus_bound": consensus_bounds(path).tolist(),
    }


class Lemmas(Experiment):
    """Every lemma pathwise, and the final bound, on three networks under three noises."""

    name = "lemmas"
    title = "The analysis, checked numerically"
    about = (
        f"GT-NSGDm on the synthetic task, {NODES} nodes on three networks under three noises. Each "
        f"lemma of the analysis is evaluated at each of {PATH_STEPS} recorded steps (α = {LR}, "
        f"β = {MOMENTUM}), and the time-averaged gradient norm under the parameters of both "
        "theorems is compared with the explicit bound of the final proof."
    )

    def units(self, options: Options) -> list[Unit]:
        """A unit per network and noise, and the case in which the consensus bound is attained."""
        shared: dict[str, Any] = {
            "lr": LR,
            "momentum": MOMENTUM,
            "path_steps": PATH_STEPS,
            "horizon": horizon(options),
            "seeds": seeds(options),
            "seed": options.seed,
        }
        units = [
            Unit(
                f"{where}, {what}",
                {"network": network.name, "noise": repr(noise), **shared},
                partial(_compute, network, noise, options),
            )
            for where, network in NETWORKS.items()
            for what, noise in NOISES.items()
        ]
        return [*units, Unit("two opposed nodes", {"weight": 0.75, "steps": 20}, _tightness)]

    def figures(self, results: Results) -> Figures:
        """Consensus errors against their bound, and averages against the final bound."""
        from gossamer.plots import OKABE_ITO, panels, style

        with style():
            figure, (left, right) = panels(2, width=4.2, height=3.4)
            shown = [f"ring, {noise}" for noise in NOISES]
            for colour, name in zip(OKABE_ITO, shown, strict=False):
                left.plot(results[name]["consensus"], color=colour, label=name)
            bound = results[shown[0]]["consensus_bound"]
            left.plot(bound, "k--", label="αλ(1−λᵗ)/(1−λ)")
            left.set(xlabel="step t", ylabel="consensus error", ylim=(0, None))
            left.legend(loc="upper right", bbox_to_anchor=(1.0, 0.95))
            cells = _cells(results)
            for colour, rule in zip(OKABE_ITO, ("p known", "p unknown"), strict=False):
                pairs = [result["bound"][rule] for result in cells.values()]
                right.plot(
                    [b for _, b in pairs], [a for a, _ in pairs], "o", color=colour, label=rule
                )
            ends = [0.1, 1.3 * max(b for r in cells.values() for _, b in r["bound"].values())]
            right.plot(ends, ends, "k--", label="measured = bound")
            right.set(xscale="log", yscale="log", xlabel="bound", ylabel="averaged gradient norm")
            right.legend()
        return {"lemmas": figure}

    def tables(self, results: Results) -> list[Table]:
        """The worst of every lemma, per network and noise."""
        rows = [
            [
                name,
                f"{r['tracker_mean']:.0e}",
                f"{r['tracker_expansion']:.0e}",
                f"{r['estimator_change']:.0e}",
                f"{r['mean_step'][0]:.3f} – {r['mean_step'][1]:.3f}",
                f"{_consensus_share(r):.2f}",
                f"{r['descent_slack']:.1e}",
                *(f"{a:.2f} / {b:.1f}" for a, b in r["bound"].values()),
            ]
            for name, r in _cells(results).items()
        ]
        columns = ["case", "ȳ − v̄", "y − 1ȳ − Σ", "v − v⁻ − …", "‖x̄⁺ − x̄‖/α", "consensus/bound"]
        columns += ["least descent slack", "average / bound, p known", "p unknown"]
        return [Table("Lemmas, worst over all steps", columns, rows)]

    def verdicts(self, results: Results) -> list[Verdict]:
        """Identities, inequalities, tightness and the final bound."""
        return [
            _identities(results),
            _mean_step(results),
            _consensus(results),
            _descent(results),
            _bound(results),
        ]


def _identities(results: Results) -> Verdict:
    names = ("tracker_mean", "tracker_expansion", "estimator_change")
    gap = max(r[name] for r in _cells(results).values() for name in names)
    return Verdict(
        "ȳ = v̄; y − 1ȳ = Σ (W−J)^(t−k+1)(vᵏ − vᵏ⁻¹); v − v⁻ = (1/β−1)(g − v)",
        f"largest relative gap {gap:.1e}",
        judge(gap <= ROUNDING),
        "Printed, the sum has vᵗ − vᵗ⁻¹ where vᵏ − vᵏ⁻¹ is meant.",
    )


def _mean_step(results: Results) -> Verdict:
    longest = max(r["mean_step"][1] for r in _cells(results).values())
    shortest = {
        n: min(results[f"{n}, {noise}"]["mean_step"][0] for noise in NOISES) for n in NETWORKS
    }
    return Verdict(
        "‖x̄⁺ − x̄‖ = α",
        f"largest {longest:.6f} α; smallest "
        + ", ".join(f"{name} {value:.3f} α" for name, value in shortest.items()),
        "partly" if longest <= 1 + ROUNDING else "no",
        "≤ α always, which is all the proof needs; equality on the complete graph, where "
        "all trackers agree.",
    )


def _consensus(results: Results) -> Verdict:
    share = max(map(_consensus_share, _cells(results).values()))
    attained = min(a / b for a, b in _after_start(results["two opposed nodes"]))
    return Verdict(
        "Consensus: (1/n) Σ ‖x_i − x̄‖ ≤ αλ/(1−λ)",
        f"largest share of αλ(1−λᵗ)/(1−λ): {share:.3f}; two opposed nodes: {attained:.12f}",
        judge(share <= 1 + ROUNDING, attained >= 1 - ROUNDING),
        "Two nodes with gradients +1 and −1 attain the bound at every step.",
    )


def _descent(results: Results) -> Verdict:
    slack = min(r["descent_slack"] for r in _cells(results).values())
    return Verdict(
        "Descent lemma of the network average, at every step",
        f"least slack {slack:.1e}, relative to the largest gradient met",
        judge(slack >= -ROUNDING),
    )


def _bound(results: Results) -> Verdict:
    ratio = max(a / b for r in _cells(results).values() for a, b in r["bound"].values())
    return Verdict(
        "The averaged gradient norm is below the explicit bound",
        f"largest ratio of measured to bound {ratio:.3f}",
        judge(ratio <= 1),
        "A worst case: the bound is several times what is measured.",
    )


def _cells(results: Results) -> dict[str, Result]:
    return {name: result for name, result in results.items() if "bound" in result}


def _after_start(result: Result) -> list[tuple[float, float]]:
    """Pairs of consensus error and bound from step 1 on."""
    return list(zip(result["consensus"][1:], result["consensus_bound"][1:], strict=True))


def _consensus_share(result: Result) -> float:
    """Largest consensus error in units of its bound; 0 where both are, on complete graphs."""
    return max((a / b for a, b in _after_start(result) if b > 0), default=0.0)
