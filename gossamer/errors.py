"""The exception for bad input, whose message says what to do, and the checks that raise it."""

import operator
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn, SupportsIndex


class InvalidInput(ValueError):
    """Raised for input that cannot be used.

    The message says which input it is, what was given, what is admissible, and often what to do.
    """


def require(ok: bool, name: str, value: object, admissible: str, way_out: str = "") -> None:
    """Raise `InvalidInput` unless `ok`; the other arguments form its message.

    >>> require(0.5 < 1, "momentum", 0.5, "a number in [0, 1)")
    >>> require(1.5 < 1, "momentum", 1.5, "a number in [0, 1)", "try 0.9")
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: momentum: got 1.5, need a number in [0, 1); try 0.9
    """
    if not ok:
        refuse(name, value, admissible, way_out)


def refuse(name: str, value: object, admissible: str, way_out: str = "") -> NoReturn:
    """Raise `InvalidInput`; the arguments form its message.

    >>> refuse("steps", None, "how many this rank will take")
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: steps: got None, need how many this rank will take
    """
    told = f"{name}: got {value}, need {admissible}"
    raise InvalidInput(f"{told}; {way_out}" if way_out else told)


def whole(name: str, value: SupportsIndex, least: int) -> int:
    """Returns `value` as an int; refuses it unless it is an integer and not below `least`.

    >>> whole("n", 2.5, 1)
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: n: got 2.5, need an integer of at least 1
    """
    admissible = f"an integer of at least {least}"
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidInput(f"{name}: got {value}, need {admissible}") from None
    require(number >= least, name, number, admissible)
    return number


def choice(name: str, value: str, options: Iterable[str], way_out: str = "") -> str:
    """Returns `value` if it is one of `options`; otherwise refuses it.

    The error suggests a similar option or, if there is none, `way_out`.

    >>> choice("weights", "metroplis", ["laplacian", "metropolis"])
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: weights: got 'metroplis', need one of laplacian, metropolis;
    did you mean 'metropolis'?
    >>> choice("data", "mnist", ["digits", "blobs"])
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: data: got 'mnist', need one of digits, blobs
    """
    known = list(options)
    spelt = {option.lower(): option for option in known}
    near = get_close_matches(str(value).lower(), spelt, n=1)
    way_out = f"did you mean {spelt[near[0]]!r}?" if near else way_out
    admissible = f"one of {', '.join(known)}" if known else "none: there is nothing to choose from"
    require(value in known, name, repr(value), admissible, way_out)
    return value


def first_line(reason: BaseException) -> str:
    r"""What an exception says, without its details; its type if it says nothing.

    >>> first_line(ValueError("no such file\nwhile reading")), first_line(RuntimeError())
    ('no such file', 'RuntimeError')
    """
    return (str(reason).strip() or type(reason).__name__).splitlines()[0]
