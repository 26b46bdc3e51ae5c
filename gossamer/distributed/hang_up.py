"""Connections that are closed, and of which forked processes have copies."""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def hanging_up() -> Iterator[None]:
    """Let the other ends hear of all connections that are closed within.

    A process that was forked, e.g. of a `DataLoader`, has a copy of each. As long as one of the
    copies is open, the other end hears nothing of the others, unless the connection is shut down.

    >>> here, there = socket.socketpair()
    >>> copy = here.dup()
    >>> with hanging_up():
    ...     here.close()
    >>> there.recv(1)
    b''
    >>> copy.close(), there.close()
    (None, None)
    """
    connections = [number for number in map(int, os.listdir("/dev/fd")) if _is_connected(number)]
    copies = {}
    with suppress(OSError):  # no more can be open: the others are merely closed
        for number in connections:
            copies[number] = socket.socket(fileno=os.dup(number))
    try:
        yield
    finally:
        for number, copy in copies.items():
            with copy, suppress(OSError):  # the other end has hung up before
                if not _is_open(number, copy):
                    copy.shutdown(socket.SHUT_RDWR)


def _is_connected(number: int) -> bool:
    """Whether it is that of a connection; a socket that listens is none, and gloo would crash."""
    try:
        if not stat.S_ISSOCK(os.fstat(number).st_mode):
            return False
        with socket.socket(fileno=os.dup(number)) as copy:
            copy.getpeername()
    except OSError:
        return False
    return True


def _is_open(number: int, copy: socket.socket) -> bool:
    try:
        return os.path.samestat(os.fstat(number), os.fstat(copy.fileno()))
    except OSError:
        return False
