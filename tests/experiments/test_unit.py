"""A unit's fields are its configuration."""

import dataclasses
from dataclasses import dataclass

import pytest
import torch

import gossamer as gs
from gossamer.experiments import Unit, describe


@dataclass(frozen=True)
class Everything(Unit):
    method: gs.GTNSGDm
    algorithm: type
    network: gs.Network
    noise: gs.Noise
    dtype: torch.dtype
    seeds: tuple[int, ...]
    grid: dict[str, list[float]]

    def run(self, device: str) -> dict[str, float]:
        return {}


UNIT = Everything(
    "all",
    gs.GTNSGDm(0.1, 0.9),
    gs.DSGD,
    gs.ring(5),
    gs.StudentT(1.5),
    torch.float32,
    (0, 1),
    {"lr": [0.1]},
)


def test_fields_are_the_configuration():
    assert UNIT.config == {
        "name": "all",
        "method": {"type": "GTNSGDm", "lr": 0.1, "momentum": 0.9},
        "algorithm": "DSGD",
        "network": gs.ring(5).describe(),
        "noise": {"type": "StudentT", "df": 1.5, "scale": 1.0},
        "dtype": "float32",
        "seeds": [0, 1],
        "grid": {"lr": [0.1]},
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "other"),
        ("method", gs.GTNSGDm(0.1, 0.8)),
        ("algorithm", gs.GTDSGD),
        ("network", gs.ring(6)),
        ("noise", gs.StudentT(1.5, 2.0)),
        ("dtype", torch.float64),
        ("seeds", (0,)),
        ("grid", {"lr": [0.1, 0.2]}),
    ],
)
def test_every_field_changes_the_configuration(field: str, value: object):
    assert dataclasses.replace(UNIT, **{field: value}).config != UNIT.config


def test_what_json_cannot_say_is_refused():
    with pytest.raises(gs.InvalidInput, match="got a field of type Generator"):
        describe({"random": torch.Generator()})
