"""A server for one reader on this machine: a page, and what a folder holds as JSON.

It listens on the loopback interface only and answers a few fixed paths with what it makes itself:
no path of a request is ever looked up in a folder. A request must name this very address as its
host, or a page elsewhere could have its name resolved to this machine and read the answers.
"""

import json
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from gossamer.errors import InvalidInput
from gossamer.watch.folder import Watched

LOOPBACK = "127.0.0.1"

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; frame-ancestors 'self'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

Made = tuple[str, Callable[[], bytes]]
"""The type of an answer, and what makes it."""


class Server(ThreadingHTTPServer):
    """Serves the page of a folder; `serve_forever` does the work.

    Args:
        watched: the folder.
        port: on which to listen; 0 is one that is free.
    """

    daemon_threads = True

    def __init__(self, watched: Watched, port: int = 0) -> None:
        self.watched = watched
        self.made: dict[str, Made] = {
            "/": ("text/html", lambda: _asset("page.html")),
            "/theme.css": ("text/css", lambda: _asset("theme.css", "gossamer.report")),
            "/page.css": ("text/css", lambda: _asset("page.css")),
            "/numbers.js": ("text/javascript", lambda: _asset("numbers.js", "gossamer.report")),
            "/page.js": ("text/javascript", lambda: _asset("page.js")),
            "/icon.svg": ("image/svg+xml", lambda: _asset("icon.svg")),
            "/state.json": ("application/json", lambda: json.dumps(watched.state()).encode()),
        }
        try:
            super().__init__((LOOPBACK, port), Answer)
        except (OSError, OverflowError) as reason:
            raise InvalidInput(
                f"port: got {port}, which cannot be listened on ({reason}); "
                "choose another, or none for one that is free"
            ) from reason

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader who leaves in the middle of an answer is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    @property
    def hosts(self) -> set[str]:
        """What a request may call this server."""
        return {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}


class Answer(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    server_version, sys_version = "gossamer", ""
    timeout = 30  # seconds that a connection may say nothing

    def do_GET(self) -> None:
        """Answer what is asked for, if it is one of the few things there are."""
        made = self.server.made.get(urlsplit(self.path).path)
        if self.headers.get("Host") not in self.server.hosts:
            self._say(403, "text/plain", b"This server answers to its own address only.")
        elif made is None:
            self._say(404, "text/plain", b"There is no such page.")
        else:
            self._say(200, made[0], made[1]())

    def _say(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *words: object) -> None:
        """Requests are nobody's concern."""


def _asset(name: str, package: str = "gossamer.watch") -> bytes:
    return files(package).joinpath(name).read_bytes()
