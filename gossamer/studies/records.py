"""How often the runs of a study are recorded."""


def hundredth(steps: int) -> int:
    """The interval that makes about 100 records.

    >>> hundredth(8000), hundredth(50)
    (80, 1)
    """
    return max(1, steps // 100)
