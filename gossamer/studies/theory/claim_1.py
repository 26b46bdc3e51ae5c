"""Claim 1: vanilla normalization can stay arbitrarily far from the optimum, for any step size."""

from functools import partial

import torch

from gossamer.algorithms import GTNSGDm, NormalizedDSGD
from gossamer.experiments.experiment import Experiment, Figures, Options, Result, Results, Unit
from gossamer.experiments.verdict import Verdict, judge
from gossamer.networks import complete
from gossamer.problems import Quadratic
from gossamer.simulation import simulate

NODES = 4
STEP_SIZES = [1e-3, 1e-2, 0.1, 1.0, 10.0]
BARRIERS = [1, 5, 50]
LR, MOMENTUM = 0.05, 0.5


def claim_problem(barrier: float) -> Quadratic:
    """f_i = ½(x − a_i)², half the nodes at a = 0 and half at b = 2B + 1.5; x⁰ = 0.5.

    The gap to the optimum, b/2 − 0.5, exceeds `barrier` = B.
    """
    centers = torch.zeros(NODES, 1)
    centers[NODES // 2 :] = 2 * barrier + 1.5
    return Quadratic.from_centers(centers, start=torch.tensor([0.5]))


def _compute(barrier: int, steps: int) -> Result:
    problem, network = claim_problem(barrier), complete(NODES)
    stuck = {}
    for lr in STEP_SIZES:
        run = simulate(NormalizedDSGD(lr), problem, network, steps=steps, metrics=["error"])
        stuck[f"{lr:g}"] = {
            "moved": float((run.x - 0.5).abs().max()),
            "error": run.final().item(),
        }
    tracked = simulate(GTNSGDm(LR, MOMENTUM), problem, network, steps=steps, metrics=["error"])
    still = simulate(NormalizedDSGD(LR), problem, network, steps=steps, metrics=["error"])
    return {
        "stuck": stuck,
        "steps": tracked.steps.tolist(),
        "gt_nsgdm": tracked.metrics["error"].tolist(),
        "normalized": still.metrics["error"].tolist(),
    }


class Claim1(Experiment):
    """Vanilla normalization against GT-NSGDm on the construction of the proof."""

    name = "claim-1"
    title = "Claim 1: vanilla normalization is stuck, GT-NSGDm is not"
    about = (
        "Four nodes hold f_i(x) = ½(x − a_i)², two with a_i = 0 and two with a_i = 2B + 1.5, on a "
        "complete graph, without noise, from x⁰ = 0.5. Normalized gradients cancel exactly, so "
        "NormalizedDSGD never moves; GT-NSGDm normalizes after averaging and reaches the optimum."
    )

    def units(self, options: Options) -> list[Unit]:
        """One unit per barrier B; enough steps of size LR to cross twice the gap."""
        return [
            Unit(
                f"B={barrier}",
                {
                    "barrier": barrier,
                    "steps": _steps(barrier),
                    "step_sizes": STEP_SIZES,
                    "lr": LR,
                    "momentum": MOMENTUM,
                },
                partial(_compute, barrier, _steps(barrier)),
            )
            for barrier in BARRIERS
        ]

    def figures(self, results: Results) -> Figures:
        """Distance to the optimum over steps, one panel per barrier."""
        from gossamer.plots import OKABE_ITO, curve, panels, style

        with style():
            figure, axes = panels(len(BARRIERS), width=3.2, height=2.8)
            for ax, barrier in zip(axes, BARRIERS, strict=True):
                result = results[f"B={barrier}"]
                curve(ax, result["steps"], result["normalized"], "NormalizedDSGD", OKABE_ITO[1])
                curve(ax, result["steps"], result["gt_nsgdm"], "GT-NSGDm", OKABE_ITO[0])
                ax.axhline(barrier, color="0.5", linewidth=1, linestyle=":", label="barrier B")
                ax.set(title=f"B = {barrier}", xlabel="step t", ylim=(0, None))
            axes[0].set_ylabel("distance to the optimum")
            axes[0].legend()
        return {"claim-1": figure}

    def verdicts(self, results: Results) -> list[Verdict]:
        """Stuck for every B and step size; GT-NSGDm within 3α."""
        moved = [s["moved"] for r in results.values() for s in r["stuck"].values()]
        far = [s["error"] >= b for b in BARRIERS for s in results[f"B={b}"]["stuck"].values()]
        reached = max(r["gt_nsgdm"][-1][0] for r in results.values())
        gaps = ", ".join(f"B = {b}: {results[f'B={b}']['normalized'][-1][0]:.2f}" for b in BARRIERS)
        tried = f"{len(STEP_SIZES)} step sizes × {len(BARRIERS)} values of B"
        return [
            Verdict(
                "For any α, vanilla normalization keeps (1/nT) Σ‖∇f(x_i)‖ ≥ B (Claim 1)",
                f"largest move over {tried}: {max(moved):g}; gap {gaps}",
                judge(*far),
                "The optimality gap equals the gradient norm here, f'' = 1. Printed, f_* grows "
                "with B: subtracting constants from the f_i makes it independent, as claimed.",
            ),
            Verdict(
                "GT-NSGDm breaks this limitation",
                f"largest final error {reached:.3g} with α = {LR}: {reached / LR:.2f} α",
                "yes" if reached <= 3 * LR else "no",
            ),
        ]


def _steps(barrier: int) -> int:
    return int(2 * (barrier + 0.25) / LR) + 200
