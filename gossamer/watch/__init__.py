"""A folder of results in a browser, while it grows; `gossamer watch --help` says how."""

from gossamer.watch.folder import Watched
from gossamer.watch.server import Server

__all__ = ["Server", "Watched"]
