"""A browser page that follows a folder of results; `gossamer watch --help` says how."""

from gossamer.watch.folder import Watched
from gossamer.watch.server import Server

__all__ = ["Server", "Watched"]
