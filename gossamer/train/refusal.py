"""How the processes of a training tell their launcher, once, that the input cannot be used.

To a launcher a process that ends with an error has crashed: it starts all of them again, and in the
end reports a crash. Bad input is none. So the processes leave the launcher a message and end well,
and the launcher refuses the input in their place, once.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from gossamer.errors import InvalidInput

VARIABLE = "GOSSAMER_REFUSAL"
"""The environment variable with the file that the message goes into."""


@contextmanager
def raising_refusals() -> Iterator[dict[str, str]]:
    """For a launcher: the variables its processes need. Raises in the end what they refused."""
    with TemporaryDirectory(prefix="gossamer-") as folder:
        message = Path(folder) / "message"
        yield {VARIABLE: str(message)}
        if message.exists():
            raise InvalidInput(message.read_text(encoding="utf-8"))


def leave_refusal(message: str) -> bool:
    """For a process: leave the launcher the message, if there is one that asks for it.

    The first process to leave one is heard.
    """
    if VARIABLE not in os.environ:
        return False
    with suppress(FileExistsError), open(os.environ[VARIABLE], "x", encoding="utf-8") as file:
        file.write(message)
    return True
