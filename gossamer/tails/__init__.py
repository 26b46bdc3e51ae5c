"""How heavy is gradient noise? Tail estimators, a diagnosis from them, and a probe for training.

A *law* is a distribution. Its *tail index* is the supremum of the p for which the p-th moment is
finite; if it is below 2, the variance is infinite.

Start with `diagnose`, which compares several estimators, because each of them alone misleads for
some laws. In the table, t(3) is Student's t law with 3 degrees of freedom.

| estimator | assumes | where it misleads |
|---|---|---|
| `hill` | a power tail | gives an index for light tails, too; too high for stable laws of α ≥ 1.8 |
| `pareto_fit` | nothing | wide intervals for few samples; finds a power tail in a wide lognormal |
| `log_moment` | a stable law | below 2 for t(3) and a lognormal, whose variance is finite |
| `stable_fit` | a stable law | as `log_moment`; it reads only the 5 % to 95 % quantiles |
| `max_to_sum` | nothing | does not give the index, only whether a moment seems finite |

All of them assume that the samples are independent.
"""

from gossamer.tails._diagnose import Diagnosis, diagnose
from gossamer.tails._hill import HillCurve, hill, hill_curve, hill_cutoffs
from gossamer.tails._log_moment import log_moment
from gossamer.tails._max_to_sum import max_to_sum, max_to_sum_curve
from gossamer.tails._pareto_fit import ParetoFit, pareto_fit, pareto_fit_cutoffs
from gossamer.tails._stable_fit import StableFit, stable_fit
from gossamer.tails.alternatives import PowerLawTest, power_law_test
from gossamer.tails.dependence import correlation_time
from gossamer.tails.estimate import TailEstimate, cutoffs
from gossamer.tails.figure import plot
from gossamer.tails.probe import NoiseProbe, NoiseRecord

__all__ = [
    "Diagnosis",
    "HillCurve",
    "NoiseProbe",
    "NoiseRecord",
    "ParetoFit",
    "PowerLawTest",
    "StableFit",
    "TailEstimate",
    "correlation_time",
    "cutoffs",
    "diagnose",
    "hill",
    "hill_curve",
    "hill_cutoffs",
    "log_moment",
    "max_to_sum",
    "max_to_sum_curve",
    "pareto_fit",
    "pareto_fit_cutoffs",
    "plot",
    "power_law_test",
    "stable_fit",
]
