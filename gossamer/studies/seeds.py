"""The seeds of a study: what hyper-parameters are chosen on is never reported."""


def fresh_seeds(shift: int, count: int = 5) -> tuple[int, ...]:
    """The seeds that are reported; `shift` is the study's own seed.

    >>> fresh_seeds(0), fresh_seeds(2, 3)
    ((0, 1, 2, 3, 4), (2000, 2001, 2002))
    """
    return tuple(1000 * shift + seed for seed in range(count))


def tuning_seeds(shift: int, count: int) -> tuple[int, ...]:
    """The seeds that hyper-parameters are chosen on.

    >>> tuning_seeds(0, 3)
    (500, 501, 502)
    """
    return tuple(1000 * shift + 500 + seed for seed in range(count))
