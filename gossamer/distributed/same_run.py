"""Do checkpoints belong to the run that wants to go on from them? If not, what is to be done?"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, NoReturn

from gossamer.distributed.agreement import who_says_what
from gossamer.errors import InvalidInput, refuse
from gossamer.user_line import warn_user

Parameters = Sequence[tuple[str, list[int]]]
"""Name and shape of each, in their order."""


class Otherwise(NamedTuple):
    """A step that could be resumed if the run was started otherwise."""

    step: int
    how: str
    """What was different when it was saved, e.g. "with 4 nodes"."""
    way_out: str


class Saved(NamedTuple):
    """A step as one save wrote it: a step that is taken again after a restart is another one."""

    step: int
    save: str
    """The name of that save."""


class Offer(NamedTuple):
    """What a rank says that it can resume from."""

    folder: str
    saved: list[Saved]
    problems: list[str]
    """Why not from its other files."""

    otherwise: list[Otherwise]
    complete: bool
    """Whether it knows that all ranks had saved some step."""

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Offer":
        """What another rank has sent as JSON."""
        saved = [Saved(*one) for one in said["saved"]]
        otherwise = [Otherwise(*one) for one in said["otherwise"]]
        return cls(**{**said, "saved": saved, "otherwise": otherwise})


def newest_of_all(offers: Sequence[Offer]) -> int | None:
    """The newest step that all ranks can read, each as the same save wrote it.

    >>> first = Offer("", [Saved(20, "a"), Saved(40, "b")], [], [], True)
    >>> newest_of_all([first, first._replace(saved=[Saved(20, "a"), Saved(40, "c")])])
    20
    """
    common = set.intersection(*(set(offer.saved) for offer in offers))
    return max(common).step if common else None


def first_difference(saved: Parameters, now: Parameters) -> tuple[str, str] | None:
    """The first parameter, as it was saved and as it is now, on which they differ.

    >>> first_difference([("a", [2]), ("b", [2])], [("a", [2]), ("c", [2])])
    ('b of shape [2]', 'c of shape [2]')
    """
    for theirs, ours in zip_longest(saved, now):
        if theirs != ours:
            return _in_words(theirs), _in_words(ours)
    return None


def _in_words(parameter: tuple[str, list[int]] | None) -> str:
    return f"{parameter[0]} of shape {parameter[1]}" if parameter else "no more parameters"


def require_nothing_lost(offers: Sequence[Offer]) -> None:
    """Refuse to begin anew, where no step is common to all, if there is something to lose."""
    problems = {rank: offer.problems[-1] for rank, offer in enumerate(offers) if offer.problems}
    if problems:
        told = "; ".join(f"rank {rank}: {problem}" for rank, problem in problems.items())
        newest = max((one for offer in offers for one in offer.otherwise), default=None)
        way_out = newest.way_out if newest else "mend or delete these files"
        _refuse_files(told, f"{way_out}, or save to another folder")
    if any(offer.complete for offer in offers):
        way_out = "restore its folder, or use another folder to start anew"
        _refuse_files(who_has_what(offers), way_out)


def _refuse_files(told: str, way_out: str) -> NoReturn:
    raise InvalidInput(f"checkpoint: no step that all ranks can resume; {told}; {way_out}")


def who_has_what(offers: Sequence[Offer]) -> str:
    """The newest step of each rank, in words."""
    told = [
        f"step {offer.saved[-1].step}" if offer.saved else f"no checkpoint in {offer.folder}"
        for offer in offers
    ]
    return who_says_what(told) or f"all have {told[0]}, but from different saves"


def require_newest(step: int, offers: Sequence[Offer]) -> None:
    """Refuse to go back to `step` where the run has gone on from it in another form."""
    newer = [one for offer in offers for one in offer.otherwise if one.step > step]
    if newer:
        newest = max(newer)
        need = f"no newer step than {step}, the last that can be resumed as this run was started"
        way_out = f"{newest.way_out}, or move its folder away to go back"
        refuse("checkpoint", f"step {newest.step} {newest.how}", need, way_out)


def warn_of_replaced(
    asked: Mapping[str, Any], before: Mapping[str, Any], held: Mapping[str, Any]
) -> None:
    """Warn of hyper-parameters that are now others, be they the script's or the checkpoint's.

    A checkpoint replaces numbers that the script asks for, but no schedule. What a scheduler has
    changed since is no reason: it is compared what the script asks for now with what it asked for
    when the checkpoint was written.

    Args:
        asked: by name, what the script asks for.
        before: what it asked for when the checkpoint was written; nothing if that is not known.
        held: what the checkpoint brings, in place of the numbers.
    """
    followed = [
        f"{name}: {value} is followed from here; the checkpoint's run had {before[name]}"
        for name, value in asked.items()
        if name not in held and before.get(name, value) != value
    ]
    replaced = [
        f"{name}: {value} was asked for; the checkpoint's {held[name]} is used"
        for name, value in asked.items()
        if before and name in held and before.get(name) != value != held[name]
    ]
    if followed:
        warn_user("; ".join(followed))
    if replaced:
        warn_user(f"{'; '.join(replaced)}; set param_groups after resume() to change it")
