"""The search sets, typed again from the paper's table of the synthetic experiments."""

import math

import pytest

from gossamer.studies.synthetic.grids import SYNTHETIC

ALPHA = [0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]
TAU = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 50, 100]
BETA = [0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99]

PAPER = {
    "DSGD": {"lr": ALPHA},
    "DSGD-Clip": {"lr": ALPHA, "clip": TAU},
    "GT-DSGD": {"lr": ALPHA},
    "GT-NSGDm": {"lr": ALPHA, "momentum": BETA},
    "SClip-EF": {
        "lr": [0.001, 0.01, 0.1, 1, 10, 30],
        "momentum": [0.01, 0.1, 0.5, 0.8, 0.99],
        "scale": [1, 5, 10, 20, 30, 50],
        "clip": [0.1, 1, 10, 50, 100],
    },
}


@pytest.mark.parametrize("method", PAPER)
def test_search_set_of_the_paper(method: str):
    grid = {name: values for name, values in SYNTHETIC[method][1].items() if len(values) > 1}
    assert grid == PAPER[method]


def test_sizes():
    assert (len(ALPHA), len(BETA), len(TAU)) == (13, 11, 11)
    sizes = {m: math.prod(len(v) for v in grid.values()) for m, (_, grid) in SYNTHETIC.items()}
    assert sizes == {
        "DSGD": 13,
        "GT-DSGD": 13,
        "DSGD-Clip": 143,
        "DSGD-Clip (shrinking)": 143,
        "DSGD-GClip": 143,
        "SClip-EF": 6 * 5 * 6 * 5,
        "GT-NSGDm": 143,
    }


def test_both_readings_of_the_clipping_exponent():
    grids = {method: SYNTHETIC[method][1] for method in SYNTHETIC if "DSGD-Clip" in method}
    assert grids["DSGD-Clip"]["clip_exponent"] == [0.4]
    assert grids["DSGD-Clip (shrinking)"]["clip_exponent"] == [-0.4]
    shared = [{k: v for k, v in g.items() if k != "clip_exponent"} for g in grids.values()]
    assert shared[0] == shared[1] == PAPER["DSGD-Clip"]
