"""`torchrun … -m gossamer.train …`: one process of a training."""

import sys
from collections.abc import Sequence

from gossamer.distributed import Diverged
from gossamer.errors import InvalidInput
from gossamer.train.config import read_arguments
from gossamer.train.refusal import leave_refusal
from gossamer.train.training import run


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and train.

    Bad input ends in one line on stderr and exit code 2; a missing rank, a stranger or an x that is
    no longer finite in one line and exit code 1.
    """
    try:
        run(read_arguments(arguments))
    except InvalidInput as error:
        if not leave_refusal(str(error)):
            print(f"gossamer train: {error}", file=sys.stderr)
            sys.exit(2)
    except (ConnectionError, PermissionError, Diverged) as error:
        print(f"gossamer train: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
