"""Memory of one process that others on its host read: what is written there need not be sent."""

import contextlib
import fcntl
import mmap
import os
import secrets
import sys
import warnings
import weakref
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

VARIABLE = "GOSSAMER_SHARED_MEMORY"
"""Of the environment: 0 says that no memory is shared."""

HEAD = 64
"""Bytes before the content, which begin with the mark."""


class Address(NamedTuple):
    """Where a board is: file `file` of process `process`, if that begins with `mark`."""

    process: int
    file: int
    size: int
    mark: int

    @classmethod
    def of(cls, message: Tensor) -> "Address":
        """What a peer has sent."""
        return cls(*message.view(torch.int64).tolist())

    @property
    def message(self) -> Tensor:
        """To be sent."""
        return torch.tensor(self).view(torch.uint8)


NOWHERE = Address(0, 0, 0, 0)
ADDRESS = NOWHERE.message.nbytes
"""Bytes of an address."""


class Board:
    """`size` bytes of this process that other processes of its user on its host can read.

    It is a file without a name in any folder, so that nothing is left behind, however the process
    ends. Readers open it by its number in this process. A random mark shows that it is this one,
    and not that of another process with that number in another container. Its size is sealed, so
    that nobody reads beyond its end.
    """

    def __init__(self, size: int) -> None:
        file = os.memfd_create("gossamer", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        weakref.finalize(self, os.close, file)
        os.ftruncate(file, HEAD + size)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, _seals())
        memory = torch.frombuffer(mmap.mmap(file, HEAD + size), dtype=torch.uint8)
        self.address = Address(os.getpid(), file, size, secrets.randbits(63))
        memory[:8].view(torch.int64)[0] = self.address.mark
        self.content = memory[HEAD:]

    def holds(self, z: Tensor) -> bool:
        """Whether z is written at its beginning."""
        return z.data_ptr() == self.content.data_ptr()


def can_share() -> bool:
    """Whether boards can be made here: on Linux, unless the environment says otherwise."""
    return os.environ.get(VARIABLE, "1") != "0" and _system_can_share()


@cache
def _system_can_share() -> bool:
    """Found by trying: a sandbox may refuse what Linux offers."""
    if sys.platform != "linux":
        return False
    try:
        Board(0)
    except OSError:
        return False
    return True


def content_at(address: Address) -> Tensor | None:
    """What is written on a board, to be read only; None if there is none on this host."""
    if address == NOWHERE or not can_share():
        return None
    with contextlib.suppress(OSError):
        memory = _mapped(address)
        if int(memory[:8].view(torch.int64)) == address.mark:
            return memory[HEAD:]
    return None


def _mapped(address: Address) -> Tensor:
    path = f"/proc/{address.process}/fd/{address.file}"
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        sealed = fcntl.fcntl(file, fcntl.F_GET_SEALS) & _seals() == _seals()  # else it is no board
        if not sealed or os.fstat(file).st_size != HEAD + address.size:
            raise OSError(f"{path} is another file")
        memory = mmap.mmap(file, HEAD + address.size, prot=mmap.PROT_READ)
    finally:
        os.close(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch warns of memory that is read only
        return torch.frombuffer(memory, dtype=torch.uint8)


def _seals() -> int:
    return fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
