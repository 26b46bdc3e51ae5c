"""The living picture computes what the library does, and works on a phone and on a desk."""

import base64
import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
from report.browser import CHROMIUM, LISTEN, findings

import gossamer as gs
from gossamer.networks import from_text
from gossamer.noise import from_description
from gossamer.simulation.noise_stream import NoiseStream
from gossamer.simulation.stack import Stack

LIVING = Path(__file__).parent.parent / "docs" / "assets" / "living"
NETWORKS = {
    "ring": gs.ring(8),
    "line": gs.line(8),
    "star": gs.star(8),
    "torus": gs.torus(2, 4),
    "exponential": gs.exponential(8),
    "one_peer_exponential": gs.one_peer_exponential(8),
    "complete": gs.complete(8),
}
NODES, STEPS, SEED, LOSS = 8, 200, 3, 0.2
NOISE = gs.StudentT(1.5, scale=0.5)
UNIFORM = torch.rand(2, 50, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs a browser")

FRAMES = """<script>
window.requestAnimationFrame = draw => setTimeout(() => draw(performance.now()), 20);
window.cancelAnimationFrame = clearTimeout;
</script>"""
"""A browser without a screen draws frames when it likes; these come with the time."""

PAGE = """<!doctype html><body>
<iframe src="phone.html" style="width:390px; height:900px"></iframe>
<iframe src="phone.html" style="width:1280px; height:900px"></iframe>
<script>
const given = %s;
const frames = [...document.querySelectorAll("iframe")].map(frame => frame.contentWindow);
const pause = () => new Promise(done => setTimeout(done, 50));
const packed = path => {
  const bytes = new Uint8Array(Float64Array.from(path.flat(2)).buffer);
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
};

// Every method on every network, with the noise and the losses that the library met.
function paths(living) {
  const found = {};
  for (const [name, arrived] of Object.entries(given.arrived)) for (const method in living.methods) {
    const network = living.network(name, given.nodes), problem = living.problem(given.nodes);
    const { settings } = living.methods[method];
    found[`${name} ${method}`] = packed(living.run({ ...given, problem, network, method, settings, arrived }));
  }
  return found;
}

function facts(living) {
  const { scales, networks, noises } = living, uniform = living.uniforms(1, 7);
  const scene = living.scene(living.choices());
  const sizes = Object.keys(networks).flatMap(name => scales.n.map(n => living.network(name, n)));
  const draws = ({ draw }) => given.uniform[0].map((u, k) => draw(u, given.uniform[1][k]));
  return {
    settings: Object.fromEntries(Object.entries(living.methods).map(([name, m]) => [name, m.settings])),
    labels: Object.fromEntries(Object.entries(living.methods).map(([name, m]) => [name, m.label])),
    problem: living.problem(given.nodes),
    optimum: living.average(living.problem(given.nodes)).optimum,
    matrices: sizes.map(({ call, rounds }) => [call, rounds]),
    noises: Object.values(noises).map(noise => [noise.call(1), draws(noise)]),
    uniforms: Array.from({ length: 4000 }, uniform),
    python: living.python(scene), errors: scene.runs[0].errors, loss: scene.choices.loss,
    arrived: scene.arrived.flat(),
  };
}

// Choose everything there is, once, and let time pass.
async function handled(picture) {
  const get = id => picture.shadowRoot.getElementById(id), captions = new Set();
  const say = (control, value, event) => {
    control.value = value;
    control.dispatchEvent(new Event(event));
    captions.add(get("caption").textContent);
  };
  picture.play(false);
  picture.goTo(0);
  picture.choices.steps = 12;
  for (const select of picture.shadowRoot.querySelectorAll("select"))
    for (const option of select.options) say(select, option.value, "change");
  for (const slider of picture.shadowRoot.querySelectorAll("input"))
    for (const end of [slider.min || 0, slider.max]) say(slider, end, "input");
  get("reseed").click();
  get("restart").click();
  const times = [picture.time];
  get("step").click();
  for (let k = 0; k < 20; k++) await pause();
  times.push(picture.time);
  get("play").click();
  for (let k = 0; k < 20; k++) await pause();
  return { captions: [...captions], times: [...times, picture.time], nan: picture.shadowRoot.innerHTML.includes("NaN") };
}

async function look() {
  const pictures = frames.map(window => window.document.querySelector("living-picture"));
  while (!pictures.every(picture => picture.dataset.theme)) await pause();
  const light = pictures.map(picture => picture.dataset.theme);
  const used = await handled(pictures[0]);
  for (const window of frames) window.document.body.style.background = "#111";
  await pause();
  return {
    ...facts(frames[1].living), paths: paths(frames[1].living), used,
    themes: [...light, ...pictures.map(picture => picture.dataset.theme)],
    overflow: frames.map(({ document: { documentElement: root } }) => root.scrollWidth - root.clientWidth),
    problems: frames.flatMap(window => window.problems),
  };
}
window.addEventListener("load", () => look().catch(reason => ({ problems: [String(reason)] })).then(found =>
  document.body.setAttribute("data-findings", encodeURIComponent(JSON.stringify(found)))));
</script></body>"""


@cache
def browser() -> dict[str, Any]:
    """What the browser found and computed; it is started once."""
    with TemporaryDirectory() as folder:
        living = Path(folder) / "living"
        shutil.copytree(LIVING, living)
        html = (living / "index.html").read_text(encoding="utf-8")
        (living / "phone.html").write_text(
            html.replace("<head>", f"<head>{LISTEN}{FRAMES}"), "utf-8"
        )
        page = living / "test.html"
        page.write_text(PAGE % json.dumps(given()), encoding="utf-8")
        return findings(page, Path(folder) / "browser")


def given() -> dict[str, Any]:
    """What the library meets by chance in every run, for the browser."""
    stream = NoiseStream(NOISE, [SEED], NODES, 2, torch.float64, "cpu")
    noise = [stream.at(t)[:, 0].tolist() for t in range(STEPS)]
    losses = {name: network.drops(LOSS).losses([SEED]) for name, network in NETWORKS.items()}
    arrived = {
        name: [one.arrive(t)[0].tolist() for t in range(STEPS)] for name, one in losses.items()
    }
    chance = {"noise": noise, "arrived": arrived, "uniform": UNIFORM.tolist()}
    return {"nodes": NODES, "steps": STEPS, **chance}


def rows() -> Iterator[tuple[str, str]]:
    return ((network, method) for network in NETWORKS for method in browser()["settings"])


def test_every_method_on_every_network_is_the_librarys():
    """200 steps with heavy tails and lost messages agree to 1e-9."""
    numbers = {k: torch.tensor(v, dtype=torch.float64) for k, v in browser()["problem"].items()}
    problem = gs.Quadratic.from_centers(**numbers)
    assert len(list(rows())) >= 49
    for network, method in rows():
        theirs = np.frombuffer(base64.b64decode(browser()["paths"][f"{network} {method}"]))
        algorithm = getattr(gs, method)(**browser()["settings"][method])
        ours = path(algorithm, problem, NETWORKS[network].drops(LOSS))
        off = np.abs(theirs.reshape(ours.shape) - ours).max()
        assert off <= 1e-9, (network, method, off)


def path(algorithm: Any, problem: gs.Quadratic, network: Any) -> np.ndarray:
    """x of every step, `(steps + 1, nodes, 2)`."""
    stack = Stack(algorithm, problem, network, NOISE, [SEED])
    points = [stack.x]
    for _ in range(STEPS):
        stack.advance(1)
        points.append(stack.x)
    return torch.stack(points)[:, :, 0].numpy()


def test_the_problem_and_the_methods_are_the_librarys():
    numbers = {k: torch.tensor(v, dtype=torch.float64) for k, v in browser()["problem"].items()}
    optimum = gs.Quadratic.from_centers(**numbers).optimum.tolist()
    assert browser()["optimum"] == pytest.approx(optimum, abs=1e-12)
    for method, label in browser()["labels"].items():
        assert getattr(gs, method).label == label


def test_the_weights_are_the_librarys():
    assert {call.partition("(")[0] for call, _ in browser()["matrices"]} == set(NETWORKS)
    for call, rounds in browser()["matrices"]:
        ours = [one.weights for one in from_text(call).rounds]
        theirs = torch.tensor(rounds, dtype=torch.float64)
        torch.testing.assert_close(theirs, torch.stack(ours), rtol=0, atol=1e-15)


def test_the_laws_of_the_noise_are_the_librarys(monkeypatch: pytest.MonkeyPatch):
    """The same uniform numbers give the same noise; a normal number is drawn by Box and Muller."""
    calls = dict(browser()["noises"])
    assert calls.pop("None") == [0] * 50
    for call, theirs in calls.items():
        assert theirs == pytest.approx(drawn(from_description({"name": call[3:]}), monkeypatch))


def drawn(noise: gs.Noise, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the law makes of UNIFORM."""
    if isinstance(noise, gs.Gaussian):
        return (
            torch.cos(2 * torch.pi * UNIFORM[0]) * (-2 * torch.log1p(-UNIFORM[1])).sqrt()
        ).tolist()
    left = iter(UNIFORM)
    monkeypatch.setattr(torch, "rand", lambda *_, **__: next(left))
    samples = noise.draw(50, torch.Generator())
    monkeypatch.undo()
    return samples.tolist()


def test_chance_is_even():
    u = np.array(browser()["uniforms"])
    assert ((u >= 0) & (u < 1)).all()
    assert abs(u.mean() - 0.5) < 0.02
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.05
    assert np.histogram(u, 10, (0, 1))[0].min() > 320  # of 400 expected
    assert abs(1 - np.mean(browser()["arrived"]) - browser()["loss"]) < 0.01


def test_the_python_beside_the_picture_runs():
    namespace: dict[str, Any] = {}
    exec(browser()["python"], namespace)
    ours = namespace["run"].metrics["error"]
    assert float(ours[0, 0]) == pytest.approx(browser()["errors"][0], abs=1e-12)
    assert float(ours[-1].median()) == pytest.approx(np.median(browser()["errors"][300:]), rel=0.5)


def test_it_can_be_handled_on_a_phone_and_on_a_desk():
    assert browser()["problems"] == []
    assert browser()["overflow"] == [0, 0]
    assert browser()["themes"] == ["light", "light", "dark", "dark"]
    used = browser()["used"]
    assert used["times"][:2] == [0, 1]
    assert used["times"][2] > 1
    assert not used["nan"]
    assert len(used["captions"]) > 15
