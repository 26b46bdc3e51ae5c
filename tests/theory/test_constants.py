import dataclasses
import math

import pytest

import gossamer as gs
from gossamer.theory import Constants, parameters


def test_rules_see_p_only_when_it_is_known(constants: Constants):
    shared = {"num_nodes": 16, "lam": 0.5, "smoothness": 2.0, "gap": 3.0}
    assert constants.parameters(500) == parameters(500, p=1.5, **shared)
    assert constants.parameters(500, p_known=False) == parameters(500, **shared)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_nodes", 0),
        ("lam", 1.0),
        ("smoothness", 0.0),
        ("gap", math.inf),
        ("grad_norm", -1.0),
        ("stacked_grad_norm", math.nan),
        ("sigma", math.inf),
        ("p", 1.0),
    ],
)
def test_refusals(constants: Constants, name: str, value: float):
    with pytest.raises(gs.InvalidInput, match=f"^{name}: got {value}, need"):
        dataclasses.replace(constants, **{name: value})
