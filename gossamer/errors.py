"""One exception for bad input, whose message is the way out."""


class InvalidInput(ValueError):
    """Input that cannot be used: the message gives name, value, admissible set and a way out."""


def require(ok: bool, name: str, value: object, admissible: str, way_out: str = "") -> None:
    """Raise `InvalidInput` unless `ok`.

    >>> require(0.5 < 1, "momentum", 0.5, "a number in [0, 1)")
    >>> require(1.5 < 1, "momentum", 1.5, "a number in [0, 1)", "try 0.9")
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: momentum: got 1.5, need a number in [0, 1); try 0.9
    """
    if not ok:
        raise InvalidInput(
            f"{name}: got {value}, need {admissible}" + (f"; {way_out}" if way_out else "")
        )
