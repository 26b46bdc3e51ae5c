"""The eight laws of the estimator study, 40 replicates of n = 10,000 each."""

from functools import cache

import numpy as np
import torch

from gossamer.noise import AlphaStable, Gaussian, Pareto, StudentT

REPLICATES, SIZE = 40, 10_000


@cache
def draw(name: str) -> np.ndarray:
    """Scalar noise of shape (40, 10,000); Pareto and lognormal carry a random sign."""
    generator = torch.Generator().manual_seed(0)
    shape = (REPLICATES, SIZE)
    laws = {
        "stable 1.5": AlphaStable(1.5),
        "stable 1.8": AlphaStable(1.8),
        "skewed stable 1.5": AlphaStable(1.5, skewness=0.5),
        "t 1.5": StudentT(1.5),
        "t 3": StudentT(3.0),
        "Gaussian": Gaussian(),
    }
    if name in laws:
        return laws[name].sample(shape, generator=generator).numpy()
    sign = 2 * torch.randint(2, shape, generator=generator) - 1
    magnitude = {
        "Pareto 1.5": lambda: Pareto(1.5).sample(shape, generator=generator) + 3,
        "lognormal": lambda: Gaussian().sample(shape, generator=generator).exp(),
    }[name]()
    return (sign * magnitude).numpy()
