"""How heavy is gradient noise? Tail estimators, a diagnosis from them, and a probe for training.

Start with `diagnose`. It never answers with one number, because every estimator alone is wrong
somewhere:

| estimator | assumes | wrong for |
|---|---|---|
| `hill` | a power tail from 0 | light tails (always answers); stable laws with α ≥ 1.8 (too high) |
| `pareto_fit` | nothing | short samples (wide error); lognormal (finds a power tail) |
| `log_moment` | a stable law, centred vectors | t(3), lognormal (below 2 at finite variance) |
| `stable_fit` | a stable law | the same; it reads no sample beyond 5 % and 95 % |
| `max_to_sum` | nothing | says whether a moment exists, not the index |

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
