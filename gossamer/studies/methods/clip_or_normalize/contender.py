"""A method in one situation: tuned, with what theory says of its second parameter, and mistuned."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gossamer.experiments import Result
from gossamer.problems import Quadratic
from gossamer.simulation import Tuned, sweep
from gossamer.simulation.search_sets import SearchSet
from gossamer.studies.methods.clip_or_normalize.apart import Apart, dissimilarity
from gossamer.studies.searched import Searched
from gossamer.theory import Parameters, admissible_p, parameters


@dataclass(frozen=True, kw_only=True)
class Contender(Searched):
    """A method with a step size and a second parameter, `clip` or `momentum`.

    *Tuned* searches both. *By rule* the second one is the theory's, and the step size is searched.
    *By theorem*, which only GT-NSGDm has, both are the theory's. *Mistuned* are the four settings
    that miss the tuned one by the factor `off` in one parameter: of a momentum, in 1 − β.
    """

    nodes: Apart
    extensions: int
    off: float = 4.0
    search_dtype: torch.dtype = torch.float32

    def problem(self) -> Quadratic:
        """That of the nodes."""
        return self.nodes.problem()

    def run(self, device: str) -> Result:
        """Hyper-parameters and final errors of every way to choose them, and what was computed."""
        problem = self.problem()
        level, untuned = self.by_theory(problem)
        tuned = self._tuned(device, self.grid)
        ruled = self._tuned(device, {**self.grid, **level})
        others = neighbours(tuned.hyperparameters, self.off) | untuned
        at = sweep(self.algorithm, list(others.values()), problem, **self.task(device))
        errors = dict(zip(others, map(finite, at.metrics["error"][-1]), strict=True))
        return {
            "initial": float(at.metrics["error"][0, 0, 0]),
            "tuned": _report(tuned),
            "by rule": _report(ruled),
            "by theorem": {
                name: {"hyperparameters": others[name], "errors": errors.pop(name)}
                for name in untuned
            },
            "mistuned": errors,
            "run steps": sum(found.search.run_steps for found in (tuned, ruled))
            + (len(others) + 2) * len(self.fresh_seeds) * self.steps,
        }

    def by_theory(
        self, problem: Quadratic
    ) -> tuple[dict[str, list[float]], dict[str, dict[str, float]]]:
        """The second parameter as a search set of one value, and settings that need no search."""
        p, gap = admissible_p(self.noise), problem.loss(problem.start[None]) - problem.minimum
        known: dict[str, Any] = {
            "num_nodes": problem.num_nodes,
            "lam": self.network.lam,
            "smoothness": problem.smoothness,
            "gap": float(gap),
            "p": p,
        }
        if "clip" in self.grid:
            return {"clip": [clip_rule(self.steps, **known, alike=dissimilarity(problem))]}, {}
        rule: Parameters = parameters(self.steps, **known)
        both = {"lr": rule.lr, "momentum": rule.momentum}
        return {"momentum": [rule.momentum]}, {"Theorem 1": both}

    def _tuned(self, device: str, grid: SearchSet) -> Tuned:
        how = {"extensions": self.extensions, "search_dtype": self.search_dtype}
        return self.tuned(device, grid=grid, **how)


def clip_rule(
    steps: int,
    *,
    num_nodes: int,
    lam: float,
    smoothness: float,
    gap: float,
    p: float,
    alike: tuple[float, float],
) -> float:
    """The clipping level of clipped DSGD's rate, where ‖∇f_i‖² ≤ A² + B²‖∇f‖².

        γ = max( 2A + 4B √(LΔ0) + 2λL√n/(1−λ), (nT)^(1/(3p−2)) )

    T = `steps`, n = `num_nodes`, λ = `lam`, L = `smoothness`, Δ0 = `gap`, (A, B) = `alike`.

    >>> known = {"num_nodes": 10, "lam": 0.0, "smoothness": 1.0, "gap": 1.0, "alike": (1.0, 2.0)}
    >>> clip_rule(1000, p=2.0, **known), round(clip_rule(1000, p=1.25, **known), 6)
    (10.0, 193.069773)

    Reference: Armacki, Cai and Sayed, arXiv 2610.10527 (2026).
    """
    offset, growth = alike
    drift = 2 * lam * smoothness * math.sqrt(num_nodes) / (1 - lam)
    largest = 2 * offset + 4 * growth * math.sqrt(smoothness * gap) + drift
    return max(largest, float(num_nodes * steps) ** (1 / (3 * p - 2)))


def neighbours(chosen: Mapping[str, Any], off: float) -> dict[str, dict[str, Any]]:
    """The settings that miss `chosen` by a factor in one parameter, by what was done to it.

    >>> list(neighbours({"lr": 0.1, "momentum": 0.9}, 4.0))
    ['lr ÷ 4', 'lr × 4', '1 − momentum ÷ 4', '1 − momentum × 4']
    >>> neighbours({"lr": 0.1, "momentum": 0.9}, 4.0)["1 − momentum × 4"]
    {'lr': 0.1, 'momentum': 0.6}
    """
    found: dict[str, dict[str, Any]] = {}
    for name in (name for name in ("lr", "clip", "momentum") if name in chosen):
        for sign, factor in (("÷", 1 / off), ("×", off)):
            value = chosen[name] * factor
            if name == "momentum":  # β = 0 has no larger 1 − β
                value = round(max(0.0, 1 - (1 - chosen[name]) * factor), 12)
            words = f"{'1 − ' * (name == 'momentum')}{name} {sign} {off:g}"
            found[words] = {**chosen, name: value}
    return found


def finite(errors: Tensor) -> list[float]:
    """The errors of the seeds, ∞ where a run diverged."""
    return errors.nan_to_num(nan=math.inf, posinf=math.inf).tolist()


def _report(found: Tuned) -> Result:
    return {
        "hyperparameters": found.hyperparameters,
        "errors": finite(found.run.final()),
        "edges": dict(found.edges),
        "extended": {name: list(values) for name, values in found.extended.items()},
    }
