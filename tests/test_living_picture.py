"""The living picture computes what the library does, and works on a phone and on a desk."""

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from browser import CHROMIUM, LISTEN, findings

import gossamer as gs
from gossamer.networks import from_text
from gossamer.noise import from_description
from gossamer.simulation.noise_stream import NoiseStream
from gossamer.simulation.stack import Stack

LIVING = Path(__file__).parent.parent / "docs" / "assets" / "living"
PAGE = Path(__file__).with_name("living_picture.html")
FRAMES = """<script>
window.requestAnimationFrame = draw => setTimeout(() => draw(performance.now()), 20);
window.cancelAnimationFrame = clearTimeout;
</script>"""
"""A browser without a screen draws frames when it likes; these come with the time."""

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

Found = dict[str, Any]
"""What the browser computed and found."""


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser")
def test_living_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One test, since the browser is started once."""
    found = browser(tmp_path)
    can_be_handled_on_a_phone_and_on_a_desk(found)
    numbers = {k: torch.tensor(v, dtype=torch.float64) for k, v in found["problem"].items()}
    problem = gs.Quadratic.from_centers(**numbers)
    assert found["optimum"] == pytest.approx(problem.optimum.tolist(), abs=1e-12)
    has_the_same_weights(found)
    assert len(found["methods"]) >= 7
    for method, told in found["methods"].items():
        assert getattr(gs, method).label == told["label"]
        algorithm = getattr(gs, method)(**told["settings"])
        for network in NETWORKS:
            takes_the_same_steps(found["paths"][f"{network} {method}"], algorithm, problem, network)
    has_the_same_noise(found, monkeypatch)
    has_even_chances(found)
    shows_python_that_runs(found)
    shows_what_the_page_says(found["examples"])


def browser(folder: Path) -> Found:
    """The page of this test, opened beside a copy of the picture."""
    living = folder / "living"
    shutil.copytree(LIVING, living)
    html = (living / "index.html").read_text(encoding="utf-8")
    html = html.replace("<head>", f"<head>{LISTEN}{FRAMES}")
    (living / "framed.html").write_text(html, encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8").replace("GIVEN", json.dumps(chance()))
    (living / PAGE.name).write_text(page, encoding="utf-8")
    found, _ = findings((living / PAGE.name).resolve().as_uri(), folder / "browser")
    return dict(found)


def chance() -> dict[str, Any]:
    """What every run of the library meets by chance, for the browser."""
    stream = NoiseStream(NOISE, [SEED], NODES, 2, torch.float64, "cpu")
    losses = {name: network.drops(LOSS).losses([SEED]) for name, network in NETWORKS.items()}
    return {
        "nodes": NODES,
        "steps": STEPS,
        "noise": [stream.at(t)[:, 0].tolist() for t in range(STEPS)],
        "arrived": {k: [z.arrive(t)[0].tolist() for t in range(STEPS)] for k, z in losses.items()},
        "uniform": UNIFORM.tolist(),
    }


def can_be_handled_on_a_phone_and_on_a_desk(found: Found) -> None:
    """Nothing is reported, nothing sticks out, and time obeys."""
    assert found["problems"] == []
    assert found["overflow"] == [0, 0]
    assert found["themes"] == ["light", "light", "dark", "dark"]
    scrubbed, restarted, stepped, played, reseeded = found["used"]["times"]
    assert (scrubbed, restarted, stepped) == (50, 0, 1)
    assert 1 < played <= reseeded
    assert not found["used"]["broken"]
    assert len(found["used"]["captions"]) > 25


def has_the_same_weights(found: Found) -> None:
    """Of every network it offers, in every size."""
    assert {call.partition("(")[0] for call, _ in found["matrices"]} == set(NETWORKS)
    for call, rounds in found["matrices"]:
        ours = torch.stack([one.weights for one in from_text(call).rounds])
        np.testing.assert_allclose(rounds, ours, rtol=0, atol=1e-15)


def takes_the_same_steps(packed: str, algorithm: Any, problem: gs.Problem, network: str) -> None:
    """200 of them, with heavy tails and lost messages, agree to 1e-9."""
    stack = Stack(algorithm, problem, NETWORKS[network].drops(LOSS), NOISE, [SEED])
    points = [stack.x]
    for _ in range(STEPS):
        stack.advance(1)
        points.append(stack.x)
    ours = torch.stack(points).flatten().numpy()
    theirs = np.frombuffer(base64.b64decode(packed))
    words = f"{algorithm} on {network}"
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-9, err_msg=words)


def has_the_same_noise(found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same uniform numbers give the same noise; normal ones are drawn by Box and Muller."""
    laws = dict(found["noises"])
    assert laws.pop("None") == [0] * 50
    u, w = UNIFORM
    normal = torch.cos(2 * torch.pi * u) * (-2 * torch.log1p(-w)).sqrt()
    assert laws.pop("gs.Gaussian(1)") == pytest.approx(normal.tolist(), rel=1e-9)
    for call, theirs in laws.items():
        noise, left = from_description({"name": call.removeprefix("gs.")}), iter(UNIFORM)
        with monkeypatch.context() as patch:
            patch.setattr(torch, "rand", lambda *_, left=left, **__: next(left))
            ours = noise.draw(50, torch.Generator())
        assert theirs == pytest.approx(ours.tolist(), rel=1e-9)


def shows_what_the_page_says(examples: dict[str, list[dict[str, float]]]) -> None:
    """What docs/living-picture.md says of its examples is true in the run that they show."""
    ours, plain = examples["heavy tails"]
    assert plain["error"] > 3 * ours["error"]
    assert plain["apart"] > 5 * examples["everybody hears everybody"][1]["apart"]
    tracked, plain = examples["Gaussian noise"]
    assert plain["error"] > 10 * tracked["error"]
    assert examples["half the messages lost"][0]["error"] < 1.5 * ours["error"]
    wrong, right = examples["normalized too early"]
    assert wrong["error"] > 5 * right["error"]
    wrong, right = examples["clipped too low"]
    assert wrong["error"] > 4 * right["error"] > 4 * examples["clipped well"][0]["error"]


def has_even_chances(found: Found) -> None:
    """4,000 numbers fill ten bins alike and do not follow each other."""
    u = np.array(found["uniforms"])
    assert np.histogram(u, 10, (0, 1))[0] == pytest.approx(np.full(10, 400), abs=80)
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.05
    assert found["lost"] == pytest.approx(found["loss"], abs=0.01)


def shows_python_that_runs(found: Found) -> None:
    """It starts at the same point and ends as far from the optimum, with other noise."""
    namespace: dict[str, Any] = {}
    exec(found["python"], namespace)
    ours = namespace["run"].metrics["error"].median(1).values
    assert float(ours[0]) == pytest.approx(found["errors"][0], abs=1e-12)
    assert float(ours[-1]) == pytest.approx(np.median(found["errors"][300:]), rel=0.5)
