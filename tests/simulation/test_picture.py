"""Pictures of runs: where the lines lie, and what the axes say."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gossamer as gs
from gossamer.colours import LOOKS
from gossamer.simulation.picture import draw_runs

PROBLEM, NETWORK = gs.Quadratic(6, 4), gs.ring(6).drops(0.3, both_ways=True)
CLOCK = gs.Clock(latency=0.001, bandwidth=1e6, gradient=0.02, stragglers=1.0)


@pytest.fixture(scope="module")
def run() -> gs.Run:
    return simulated(gs.GTDSGD(0.05))


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def simulated(method: gs.Algorithm[Any], **changes: Any) -> gs.Run:
    given = {"noise": gs.Gaussian(0.1), "steps": 30, "seeds": range(3), "clock": CLOCK}
    return gs.simulate(method, PROBLEM, NETWORK, **(given | changes))


@pytest.mark.parametrize(
    ("x", "label"),
    [
        ("steps", "steps"),
        ("gradients", "gradients per node"),
        ("messages", "messages sent per node"),
        ("bytes", "sent per node"),
        ("seconds", "seconds"),
    ],
)
def test_a_metric_against_what_it_costs(run: gs.Run, x: Any, label: str):
    ax = run.plot(x=x)
    (line,) = ax.lines
    middle = run.steps if x == "steps" else run.metrics[x].median(dim=1).values
    np.testing.assert_allclose(line.get_xdata(), middle.numpy(), rtol=1e-15)
    np.testing.assert_allclose(
        line.get_ydata(), run.metrics["error"].median(dim=1).values.numpy(), rtol=1e-15
    )
    said = (label, "error: distance to the optimum", "log")
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_yscale()) == said
    assert line.get_label() == "GT-DSGD (lr = 0.05)"


def test_the_center_and_the_band(run: gs.Run):
    errors = run.metrics["error"].numpy()
    for center, middle in (("median", np.median(errors, 1)), ("mean", errors.mean(1))):
        ax = run.plot(center=center, band=(0.25, 0.75))
        np.testing.assert_allclose(ax.lines[0].get_ydata(), middle, rtol=1e-12)
        (path,) = ax.collections[0].get_paths()
        drawn = sorted({tuple(point) for point in path.vertices if point[0] == 30})
        quartiles = np.quantile(errors[-1], [0.25, 0.75])
        np.testing.assert_allclose([y for _, y in drawn], quartiles, rtol=1e-12)


def test_bytes_are_told_with_their_unit(run: gs.Run):
    ax = run.plot(x="bytes")
    ax.figure.canvas.draw()
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert any(tick.endswith(" kB") for tick in ticks)
    assert all(len(tick) < 8 for tick in ticks)


@pytest.mark.parametrize("steps", [410, 820, 999])
def test_numbers_of_bytes_do_not_touch_each_other(steps: int):
    run = gs.simulate(gs.DSGD(0.1), gs.Quadratic(6, 64), gs.ring(6), steps=steps)
    ax = run.plot(x="bytes")
    ax.figure.canvas.draw()
    low, high = ax.get_xlim()
    labels = [t for t in ax.get_xticklabels() if low <= t.get_position()[0] <= high]
    boxes = [label.get_window_extent() for label in labels]
    assert len(boxes) >= 4
    letter = boxes[0].width / len(labels[0].get_text())
    assert all(b.x0 - a.x1 > letter for a, b in itertools.pairwise(boxes))


def test_runs_drawn_beside_each_other_have_their_own_colours_and_labels(run: gs.Run):
    ax = run.plot("consensus_error", label="lossy")
    simulated(gs.DSGD(0.05)).plot("consensus_error", x="steps", ax=ax)
    assert [line.get_label() for line in ax.lines] == ["lossy", "DSGD (lr = 0.05)"]
    assert [line.get_color() for line in ax.lines] == [
        LOOKS["GT-DSGD"].colour,
        LOOKS["DSGD"].colour,
    ]
    assert ax.get_ylabel() == "consensus error: distance to the nodes' average"


def test_a_comparison_draws_all_its_methods():
    methods = [gs.DSGD(0.1), gs.DSGD(0.1), gs.GTDSGD(0.1)]
    found = gs.compare(methods, PROBLEM, NETWORK, steps=10, metrics=["error", "loss"])
    ax = found.plot("loss", x="bytes")
    assert len(ax.lines) == 3
    at_the_end = [float(line.get_xdata()[-1]) for line in ax.lines]
    assert at_the_end[0] == at_the_end[1] == at_the_end[2] / 2
    assert ax.get_ylabel() == "loss: f at the nodes' average"
    same, again, other = ((line.get_color(), line.get_linestyle()) for line in ax.lines)
    assert same[0] == again[0] != other[0]
    assert same[1] != again[1]
    names = ["DSGD (lr = 0.1)", "DSGD (lr = 0.1) #2", "GT-DSGD"]
    assert [line.get_label() for line in ax.lines] == names


def test_the_title_says_what_is_drawn(run: gs.Run):
    ax = run.plot()
    assert ax.get_title() == (
        "Quadratic on ring(6).drops(0.3, both_ways=True)\nGaussian(std=0.1)\n"
        "median and range of 3 seeds"
    )
    elsewhere = gs.simulate(gs.DSGD(0.1), PROBLEM, gs.ring(6), steps=3)
    assert draw_runs([("a", run), ("b", elsewhere)], "error").get_title() == (
        "Quadratic\nmedian and range of 3 seeds"
    )
    assert elsewhere.plot(band=(0.1, 0.9)).get_title() == "Quadratic on ring(6)\none seed"
    ax.set_title("mine")
    assert run.plot(ax=ax).get_title() == "mine"


def test_a_run_is_drawn_until_it_diverges():
    run = simulated(gs.DSGD(1e30), noise=None, seeds=0)
    finite = run.metrics["error"][:, 0].isfinite()
    assert 2 < int(finite.sum()) < len(finite)
    (line,) = run.plot(x="bytes").lines
    np.testing.assert_allclose(line.get_xdata(), run.metrics["bytes"][finite, 0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"x": "byte"},
            "x: got 'byte', need one of steps, .*bytes, seconds; did you mean 'bytes'?",
        ),
        ({"x": "seconds"}, "'seconds', which DSGD has no record of, need .* clock=gs.Clock"),
        ({"center": "median", "band": (0.9, 0.1)}, "band: got .*need two shares that rise"),
        ({"center": "median", "band": "std"}, "band: got 'std', need two shares that rise"),
        ({"center": "median", "band": 0.9}, "band: got 0.9, need two shares that rise"),
        ({"center": "median", "band": (10, 90)}, "band: got .10, 90., need two shares that rise"),
        ({"center": "middle"}, "center: got 'middle', need one of median, mean"),
        ({"metric": "eror"}, "metric: got 'eror', need one of error, .*did you mean 'error'"),
    ],
)
def test_what_was_not_recorded_cannot_be_drawn(arguments: Any, words: str):
    run = simulated(gs.DSGD(0.1), clock=None, steps=2)
    with pytest.raises(gs.InvalidInput, match=words.replace("?", r"\?")):
        run.plot(**arguments)
