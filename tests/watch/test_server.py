"""The server of `gossamer watch`: what it answers, what it refuses, and the page in a browser."""

import re
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from browser import CHROMIUM, findings

from gossamer.errors import InvalidInput
from gossamer.train.log import LOG, append
from gossamer.watch import Server, Watched


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(Watched(tmp_path)) as running:
        thread = Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, str, Any]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), answer.headers


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/?again", "text/html"),
        ("/theme.css", "text/css"),
        ("/page.css", "text/css"),
        ("/numbers.js", "text/javascript"),
        ("/page.js", "text/javascript"),
        ("/icon.svg", "image/svg+xml"),
        ("/state.json", "application/json"),
    ],
)
def test_what_there_is(server: Server, path: str, kind: str):
    status, body, headers = ask(server, path)
    assert (status, headers["Content-Type"]) == (200, f"{kind}; charset=utf-8")
    assert headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert "//" not in re.sub(r"http://www.w3.org/2000/svg|^\s*//.*$|; //.*$", "", body, flags=re.M)


def test_no_path_leads_into_the_folder(server: Server, tmp_path: Path):
    (tmp_path / "secret.json").write_text("{}")
    for path in ("/secret.json", "/../secret.json", "//etc/passwd", "/%2e%2e/secret.json", "*"):
        assert ask(server, path)[0] == 404, path
    assert ask(server, "/", method="POST")[0] == 501


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{}", 200),
        ("localhost:{}", 200),
        ("127.0.0.1", 403),
        ("127.0.0.1:1", 403),
        ("rebound.example:{}", 403),
        ("localhost.example:{}", 403),
        ("", 403),
    ],
)
def test_a_name_that_was_led_here_is_refused(server: Server, host: str, status: int):
    found = ask(server, "/state.json", Host=host.format(server.server_port))
    assert found[0] == status
    assert ("sections" in found[1]) == (status == 200)


def test_it_listens_on_the_loopback_interface_and_a_taken_port_is_refused(server: Server):
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/"
    with pytest.raises(InvalidInput, match=rf"port: got {server.server_port}, which cannot be"):
        Server(server.watched, server.server_port)
    with pytest.raises(InvalidInput, match="port: got 70000"):
        Server(server.watched, 70000)


FRAME = """<!doctype html><title>frame</title><body><script src="/frame.js"></script>"""

GROW = """
const frames = [390, 1200].map(width => {
  const frame = document.createElement("iframe");
  frame.style.width = `${width}px`;
  frame.style.height = "900px";
  frame.src = "/";
  document.body.append(frame);
  return frame;
});
const lengths = () => frames.map(frame => {
  const curve = frame.contentDocument?.querySelector("figure > svg .curve");
  return curve ? curve.getAttribute("d").split("L").length : 0;
});
const until = (length, then) => {
  if (lengths().every(found => found === length)) then();
  else setTimeout(() => until(length, then), 100);
};
const report = () => {
  const found = frames.map(frame => {
    const page = frame.contentDocument, root = page.documentElement;
    page.querySelector(".legend button").click();
    return {
      overflow: root.scrollWidth - root.clientWidth,
      title: page.title,
      curves: page.querySelectorAll("figure > svg .curve").length,
      told: page.querySelector("section p").textContent,
      ink: frame.contentWindow.getComputedStyle(page.body).color,
      stroke: frame.contentWindow.getComputedStyle(page.querySelectorAll(".curve")[0]).stroke,
    };
  });
  document.body.setAttribute("data-findings", encodeURIComponent(JSON.stringify(found)));
};
until(2, () => fetch("/grow").then(() => until(4, report)));
"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize("dark", [False, True])
def test_a_curve_grows_in_a_browser(server: Server, tmp_path: Path, dark: bool):
    """Two records are there; two more come while the page is open, on a phone and on a desk."""
    log = tmp_path / "run" / LOG
    log.parent.mkdir()
    append(log, {"run": {"algorithm": "GT-NSGDm", "network": "ring(4)", "steps": 40}})

    def grow(*steps: int) -> bytes:
        for step in steps:
            append(log, {"step": step, "loss": 1 / step, "validation_loss": 2 / step})
        return b""

    grow(10, 20)
    server.made |= {
        "/frame": ("text/html", FRAME.encode),
        "/frame.js": ("text/javascript", GROW.encode),
        "/grow": ("text/plain", lambda: grow(30, 40)),
    }
    found, console = findings(f"{server.address}frame", tmp_path / "browser", dark, seconds=20)
    assert console == []
    for one in found:
        assert one["overflow"] <= 0
        assert one["title"] == f"{tmp_path} · Gossamer"
        assert one["curves"] == 1, "the first of two was switched off"
        assert "step 40 of 40, validation loss 0.05" in one["told"]
        assert one["ink"] == ("rgb(229, 233, 240)" if dark else "rgb(28, 35, 48)")
        assert one["stroke"] == ("rgb(71, 169, 234)" if dark else "rgb(0, 114, 178)")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    """It says where the page is, and ends well on Ctrl-C."""
    from gossamer.cli import main

    def interrupted(self: Server) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "serve_forever", interrupted)
    monkeypatch.setattr(sys, "argv", ["gossamer", "watch", str(tmp_path)])
    main()
    assert re.match(r"Open http://127\.0\.0\.1:\d+/ in a browser", capsys.readouterr().out)
    monkeypatch.setattr(sys, "argv", ["gossamer", "watch", str(tmp_path / "nowhere")])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "need an existing folder; start the run that writes it" in capsys.readouterr().err
