"""The max-to-sum ratio: does one sample carry the whole moment?"""

import numpy as np

from gossamer.errors import require
from gossamer.interval import POSITIVE, within
from gossamer.tails.samples import Array, Samples, as_array


def max_to_sum(samples: Samples, p: float = 2.0) -> float:
    r"""The share of the largest sample in the p-th moment, \(R_p = \max |x_i|^p / \sum |x_i|^p\).

    With ever more samples it tends to 0 if and only if \(E|X|^p\) is finite, whatever the law. At
    n = 10,000 and p = 2 it is about 0.4 for a 1.5-stable law (one sample makes up 40 % of the sum
    of squares), 0.035 for t(3) and 0.002 for a Gaussian.

    >>> round(max_to_sum([1.0, -1.0, 2.0], p=2), 3)
    0.667

    Reference: P. Embrechts, C. Klüppelberg and T. Mikosch, "Modelling Extremal Events" (1997),
    Section 6.2.6.
    """
    return float(max_to_sum_curve(samples, p)[-1])


def max_to_sum_curve(samples: Samples, p: float = 2.0) -> Array:
    r"""\(R_p\) of the first 1, 2, …, n samples, in the order in which they were drawn.

    If the moment is finite, the curve decays to 0; if it is infinite, the curve keeps jumping up.

    >>> max_to_sum_curve([1.0, -1.0, 2.0], p=1)
    array([1. , 0.5, 0.5])
    """
    within("p", p, POSITIVE, "p = 2 asks for the variance")
    magnitudes = np.abs(as_array(samples))
    require(magnitudes.ndim == 1, "samples", f"shape {magnitudes.shape}", "norms of shape (m,)")
    require(bool(magnitudes.any()), "samples", "only zeros", "noise that is not zero")
    powers = (magnitudes / magnitudes.max()) ** p
    total = np.cumsum(powers)
    return np.maximum.accumulate(powers) / np.where(total > 0, total, 1)
