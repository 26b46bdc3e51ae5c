"""Hyper-parameters: what is admissible, what is refused and in which words."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from algorithms.table import TABLE, Row

import gossamer as gs
from gossamer.algorithms import admissible_sets

POSITIVE, FRACTION = "a number in (0, ∞)", "a number in [0, 1)"
REAL, STEP_SIZE = "a number in (-∞, ∞)", "a number in [0, ∞)"
ORDER = "one of 'adapt-then-combine', 'combine-then-adapt'"
CLIPPED = "one of 'gradient', 'tracker'"

ADMISSIBLE = {
    "DSGD": {"lr": STEP_SIZE},
    "NormalizedDSGD": {"lr": STEP_SIZE},
    "DSGDGClip": {"lr": STEP_SIZE, "clip": POSITIVE, "order": ORDER},
    "DSGDCClip": {"lr": STEP_SIZE, "clip": POSITIVE, "order": ORDER},
    "DSGDClip": {"lr": STEP_SIZE, "clip": POSITIVE, "clip_exponent": REAL, "order": ORDER},
    "GTDSGD": {"lr": STEP_SIZE},
    "GTAdam": {
        "lr": STEP_SIZE,
        "beta1": FRACTION,
        "beta2": FRACTION,
        "cap": POSITIVE,
        "eps": POSITIVE,
    },
    "DSGDm": {"lr": STEP_SIZE, "momentum": FRACTION},
    "DSGDBiClip": {"lr": STEP_SIZE, "clip": POSITIVE, "floor": POSITIVE},
    "GTClip": {"lr": STEP_SIZE, "clip": POSITIVE, "clipped": CLIPPED},
    "MomentumTracking": {"lr": STEP_SIZE, "momentum": FRACTION},
    "GTNSTORM": {"lr": STEP_SIZE, "momentum": FRACTION},
    "QGDSGDm": {"lr": POSITIVE, "momentum": FRACTION, "quasi_momentum": FRACTION},
    "SClipEF": {"lr": STEP_SIZE, "momentum": FRACTION, "scale": POSITIVE, "clip": POSITIVE},
    "GTNSGDm": {"lr": STEP_SIZE, "momentum": FRACTION, "order": ORDER},
    "GTLayerNSGDm": {"lr": STEP_SIZE, "momentum": FRACTION, "order": ORDER},
    "GTSignSGDm": {"lr": STEP_SIZE, "momentum": FRACTION, "order": ORDER},
    "DeMuon": {"lr": STEP_SIZE, "momentum": FRACTION, "order": ORDER},
    "EXTRA": {"lr": STEP_SIZE},
    "ExactDiffusion": {"lr": STEP_SIZE, "correction": POSITIVE},
    "DIGing": {"lr": STEP_SIZE},
    "ATCTracking": {"lr": STEP_SIZE},
    "MoTEF": {"lr": STEP_SIZE, "momentum": FRACTION},
}
ALLOWED = {
    POSITIVE: [1e-300, 1, 1e300, np.float64(0.1), np.float32(0.1), torch.tensor([[0.1], [2.0]])],
    STEP_SIZE: [0, 0.0, 1e-300, 1e300, torch.tensor([[0.1], [0.0]])],
    FRACTION: [0, 0.0, math.nextafter(1, 0), torch.tensor(0.5)],
    REAL: [-0.4, 0, 3, -1e300],
    ORDER: ["adapt-then-combine", "combine-then-adapt"],
    CLIPPED: ["gradient", "tracker"],
}
REFUSED = {
    POSITIVE: [0, -1.0, math.inf, math.nan, None, "0.1", [0.1], torch.tensor([[0.1], [0.0]])],
    STEP_SIZE: [-1.0, math.inf, math.nan, None, "0.1", torch.tensor([[0.1], [-0.1]])],
    FRACTION: [-0.1, 1, 1.0, 1.5, math.nan, "0.9", torch.tensor([0.5, 1.0])],
    REAL: [math.inf, -math.inf, math.nan, "0.4"],
    ORDER: ["combine", "", None, 0.5],
    CLIPPED: ["grad", "", None, 0.5],
}


def examples(values: dict[str, list[object]]):
    """(row, hyper-parameter, value) for every hyper-parameter of every method."""
    rows = {row.name: row for row in TABLE}
    return [
        pytest.param(rows[method], name, value, id=f"{method}-{name}-{value}")
        for method, sets in ADMISSIBLE.items()
        for name, admissible in sets.items()
        for value in values[admissible]
    ]


def test_every_hyperparameter_has_its_admissible_set():
    stated = {
        name: {k: str(v) for k, v in admissible_sets(algorithm).items()}
        for name, algorithm in gs.ALGORITHMS.items()
    }
    assert stated == ADMISSIBLE


@pytest.mark.parametrize(("row", "name", "value"), examples(ALLOWED))
def test_admissible_values_are_taken(row: Row, name: str, value: object):
    assert getattr(dataclasses.replace(row.algorithm, **{name: value}), name) is value


@pytest.mark.parametrize(("row", "name", "value"), examples(REFUSED))
def test_refusals_give_name_value_and_admissible_set(row: Row, name: str, value: object):
    with pytest.raises(gs.InvalidInput) as refusal:
        dataclasses.replace(row.algorithm, **{name: value})
    found = repr(value) if isinstance(value, str) else value
    assert str(refusal.value) == f"{name}: got {found}, need {ADMISSIBLE[row.name][name]}"


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_methods_are_frozen_and_equal_by_value(row: Row):
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.algorithm.lr = 1.0
    assert row.algorithm == type(row.algorithm)(**row.algorithm.hyperparameters)


def test_select_takes_the_runs_of_stacked_hyperparameters():
    lr = torch.tensor([[0.1], [0.2], [0.3]])
    method = gs.GTNSGDm(lr=lr, momentum=torch.tensor(0.5))
    chosen = method.select(torch.tensor([2, 0]))
    assert torch.equal(chosen.lr, lr[[2, 0]])
    assert chosen.momentum == 0.5
    assert method.select(torch.tensor([], dtype=torch.long)).lr.shape == (0, 1)
    assert gs.DSGD(lr=0.1).select(torch.tensor([0, 1])) == gs.DSGD(lr=0.1)


def test_tensors_are_cast_and_those_that_do_not_fit_the_runs_refused():
    lr = torch.tensor([[0.1], [0.2], [0.3]], dtype=torch.float64)
    method = gs.GTNSGDm(lr=lr, momentum=torch.tensor(0.5))
    cast = method.to(dtype=torch.float32, device="cpu")
    assert cast.lr.dtype == cast.momentum.dtype == torch.float32
    method.require_runs(3)
    for bad in (lr[:2], lr[:, 0], lr[None]):
        with pytest.raises(
            gs.InvalidInput, match=r"lr: got shape .*, need a number, or .* per run"
        ):
            gs.DSGD(lr=bad).require_runs(3)


def test_defaults_are_the_readings_of_the_paper():
    assert gs.GTAdam(lr=0.1).hyperparameters == {
        "lr": 0.1,
        "beta1": 0.9,
        "beta2": 0.999,
        "cap": 1.0,
        "eps": 1e-8,
    }
    assert gs.QGDSGDm(lr=0.1) == gs.QGDSGDm(lr=0.1, momentum=0.9, quasi_momentum=0.9)
    assert gs.DSGDClip(lr=0.1, clip=1.0).clip_exponent == 0.4
    assert gs.DSGDGClip(lr=0.1, clip=1.0).order == "adapt-then-combine"


def test_a_hyperparameter_without_an_admissible_set_is_explained():
    @dataclasses.dataclass(frozen=True)
    class Plain(gs.DSGD):
        rate: float = 0.1

    with pytest.raises(
        gs.InvalidInput, match=r"rate: got the annotation .*float.* e\.g\. Positive"
    ):
        Plain(0.1)


def test_fractions_are_floats():
    method = gs.DSGD(Fraction(1, 10))
    assert repr(method) == "DSGD(lr=0.1)"
    assert repr(gs.DSGD(gs.Linear(Fraction(1, 10), 4))) == "DSGD(lr=Linear(0.1, 4))"
    run = gs.simulate(method, gs.Quadratic(4, 2), gs.ring(4), steps=2)
    assert run.hyperparameters == {"lr": 0.1}
