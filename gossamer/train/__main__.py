"""`torchrun … -m gossamer.train …`: one process of a training."""

import math
import os
import shlex
import sys
import warnings
from collections.abc import Mapping, Sequence

from gossamer.distributed import Diverged, PeerFailure
from gossamer.errors import InvalidInput, first_line
from gossamer.text import wrapped
from gossamer.train.config import TrainConfig, read_arguments
from gossamer.train.refusal import leave_refusal
from gossamer.train.training import run


def closing_words(config: TrainConfig, found: Mapping[str, float]) -> list[str]:
    """What came of it, and what can be done next, in lines."""
    reached = f"Done: after {found['step']:,} steps the average model has a validation loss of "
    reached += f"{found['validation_loss']:.4g}."
    if config.checkpoints is None:
        next_step = (
            "with `--checkpoints FOLDER` the model is kept, and `gossamer watch FOLDER` shows how "
            "it learns."
        )
    else:
        next_step = f"`gossamer watch {shlex.quote(config.checkpoints)}` shows how it learned."
    return [*wrapped(reached), *wrapped(f"Next: {next_step}")]


def require_finite(config: TrainConfig, found: Mapping[str, float]) -> None:
    """Refuse to call a run done whose average model is worth nothing."""
    loss, lr = found["validation_loss"], config.hyperparameters.get("lr")
    if not math.isfinite(loss):
        reached = f"at step {found['step']:,} the average model has a validation loss of {loss}"
        lower = "use smaller hyper-parameters" if lr is None else f"lower --lr, {lr}"
        anew = ", and use another checkpoint folder" if config.checkpoints else ""
        raise Diverged(f"{reached}; {lower}{anew}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and train.

    Bad input ends in one line on stderr and exit code 2; a rank that is missing or dies, a
    stranger, a full disk, or an x or a final loss that is not finite in one line and exit code 1.
    """
    try:
        config = read_arguments(arguments)
        found = run(config)
        require_finite(config, found)
        if os.environ.get("RANK", "0") == "0":
            print("\n".join(closing_words(config, found)), flush=True)
    except InvalidInput as error:
        if not leave_refusal(str(error)):
            print(f"gossamer train: {error}", file=sys.stderr)
            sys.exit(2)
    except (OSError, PeerFailure, Diverged) as error:
        print(f"gossamer train: {in_one_line(error)}", file=sys.stderr)
        sys.exit(1)


def in_one_line(error: Exception) -> str:
    """What the error says, in words only.

    >>> in_one_line(OSError(28, "No space left on device", "runs/log.jsonl"))
    'No space left on device (runs/log.jsonl)'
    """
    if not (isinstance(error, OSError) and error.strerror):
        return first_line(error)
    return error.strerror + (f" ({error.filename})" if error.filename else "")


def in_words(message: Warning | str, *place: object, **line: object) -> str:
    r"""A warning without its place, which is a line of Python's own.

    >>> in_words("going on without rank(s) [3]", RuntimeWarning, "<frozen runpy>", 88)
    'gossamer train: going on without rank(s) [3]\n'
    """
    return f"gossamer train: {message}\n"


if __name__ == "__main__":
    warnings.formatwarning = in_words
    main()
