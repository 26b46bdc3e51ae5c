"""Dependence on the number of nodes: complete graphs of 2 to 40 nodes under α-stable noise."""

import math
import statistics
from itertools import pairwise

from gossamer.experiments.experiment import Experiment, Figures, Options, Results, Unit
from gossamer.experiments.verdict import Table, Verdict, judge
from gossamer.networks import complete
from gossamer.studies.synthetic.dependence import NAMED, STABLE, unit
from gossamer.studies.synthetic.synthetic import final_errors, median_error, spread

PRINTED = {2: 0.40, 5: 0.35, 10: 0.29, 20: 0.20, 40: 0.21}
TOLERANCE = 0.08
HALFWAY = 0.5
"""Speed of convergence: the first step at which the error is below this share of the first."""


class Nodes(Experiment):
    """The paper's figure on n."""

    name = "nodes"
    title = "Dependence on the number of nodes n"
    about = (
        "GT-NSGDm on complete graphs (λ = 0) of n = 2, 5, 10, 20 and 40 nodes under α-stable "
        f"noise, the same 1,000 samples split among them, with the same {NAMED} for all."
    )

    def units(self, options: Options) -> list[Unit]:
        """A unit per number of nodes."""
        return [unit(f"n={n}", complete(n), STABLE, options) for n in PRINTED]

    def figures(self, results: Results) -> Figures:
        """Error over steps, and the final errors beside the printed ones."""
        from gossamer.plots import OKABE_ITO, curve, panels, style

        with style():
            figure, (left, right) = panels(2, width=4.0, height=3.2)
            for colour, n in zip(OKABE_ITO, PRINTED, strict=False):
                result = results[f"n={n}"]
                curve(left, result["steps"], result["error"], f"n = {n}", colour)
            left.set(xlabel="step t", ylabel="average estimation error", yscale="log")
            left.legend()
            finals = [final_errors(results[f"n={n}"]) for n in PRINTED]
            medians = [median_error(results[f"n={n}"]) for n in PRINTED]
            low = [m - min(f) for m, f in zip(medians, finals, strict=True)]
            high = [max(f) - m for m, f in zip(medians, finals, strict=True)]
            right.errorbar(
                list(PRINTED), medians, yerr=[low, high], fmt="o-", color=OKABE_ITO[0], label="ours"
            )
            right.plot(
                list(PRINTED), list(PRINTED.values()), "s--", color=OKABE_ITO[1], label="printed"
            )
            right.set(
                xlabel="number of nodes n", ylabel="final error", xscale="log", ylim=(0, None)
            )
            right.set_xticks(list(PRINTED), labels=[str(n) for n in PRINTED])
            right.minorticks_off()
            right.legend()
        return {"nodes": figure}

    def tables(self, results: Results) -> list[Table]:
        """Printed and measured final errors."""
        rows = [
            [str(n), f"{printed:.2f}", spread(final_errors(results[f"n={n}"]))]
            for n, printed in PRINTED.items()
        ]
        title = f"Final errors with {NAMED}, median [range] over the seeds"
        return [Table(title, ["n", "printed", "ours"], rows)]

    def verdicts(self, results: Results) -> list[Verdict]:
        """The five printed numbers, faster convergence and the speed-up."""
        ours = {n: median_error(results[f"n={n}"]) for n in PRINTED}
        gaps = {n: ours[n] - PRINTED[n] for n in PRINTED}
        halfway = {n: _halfway(results, n) for n in PRINTED}
        faster = [halfway[b] < halfway[a] for a, b in pairwise(PRINTED)]
        return [
            Verdict(
                "As n increases from 2 to 40 the final errors are 0.40, 0.35, 0.29, 0.20, 0.21",
                ", ".join(f"{error:.3f}" for error in ours.values())
                + f"; largest gap {max(map(abs, gaps.values())):.3f}",
                judge(*(abs(gap) <= TOLERANCE for gap in gaps.values())),
                f"With {NAMED} for all n; within {TOLERANCE} of the printed value.",
            ),
            Verdict(
                "Convergence speed improves as n increases",
                f"steps to {HALFWAY:.0%} of the initial error: "
                + ", ".join(f"n = {n}: {t:,}" for n, t in halfway.items()),
                judge(all(faster), halfway[40] < halfway[2]),
                "The step is normalized, so the first phase is equally fast for all n; what "
                "shrinks with n is the noise that bends the path and the level it ends at.",
            ),
            Verdict(
                "Speed-up over certain n ranges (Remarks 5 and 6: factor n^(1−1/p))",
                f"error of n = 2 over error of n = 20: {ours[2] / ours[20]:.2f}",
                judge(ours[2] > ours[5] > ours[20]),
                "With p just below 1.5 the bound's noise term falls by at most "
                f"10^(1/3) = {10 ** (1 / 3):.2f} from n = 2 to 20.",
            ),
        ]


def _halfway(results: Results, n: int) -> float:
    """First recorded step at which the median error is below `HALFWAY` of the first, or ∞."""
    result = results[f"n={n}"]
    target = HALFWAY * result["error"][0][0]
    medians = [statistics.median(row) for row in result["error"]]
    below = (t for t, e in zip(result["steps"], medians, strict=True) if e < target)
    return next(below, math.inf)
