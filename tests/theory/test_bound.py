import dataclasses
import math

import pytest

import gossamer as gs
from gossamer.theory import FORMULAS, Bound, Constants, Term, bound

LR, MOMENTUM, STEPS = 0.01, 0.9, 1000


def split(constants: Constants, **changes: float) -> Bound:
    arguments = {"steps": STEPS, "lr": LR, "momentum": MOMENTUM}
    inner = {k: v for k, v in changes.items() if k not in arguments}
    arguments |= {k: v for k, v in changes.items() if k in arguments}
    return bound(dataclasses.replace(constants, **inner), **arguments)  # type: ignore[arg-type]


def test_every_term_by_hand(constants: Constants):
    terms = split(constants)
    root2, third = math.sqrt(2), 1 / 3
    assert terms["initial gap"] == pytest.approx(3 / (0.01 * 1000), rel=1e-12)
    assert terms["initial gradient"] == pytest.approx(2 * 0.7 / (0.1 * 1000), rel=1e-12)
    assert terms["averaged noise"] == pytest.approx(4 * root2 * 1.3 * (0.1 / 16) ** third)
    assert terms["momentum lag"] == pytest.approx(4 * 2 * 0.01 / (0.5 * 0.1), rel=1e-12)
    assert terms["consensus"] == pytest.approx((3 * 2 / 0.5 + 2 / 2) * 0.01, rel=1e-12)
    forget = 1 / 0.9 - 1
    assert terms["tracking noise"] == pytest.approx(
        2 * root2 * 1.3 / 0.5 ** (2 / 3) * 4 * forget, rel=1e-12
    )
    assert terms["heterogeneity"] == pytest.approx(5 / 0.5 * forget / 4, rel=1e-12)
    assert terms["estimator noise"] == pytest.approx(
        2 * root2 * 1.3 / 0.5 * 4 * forget * 0.1**third, rel=1e-12
    )
    assert terms["tracker lag"] == pytest.approx(2 * 2 / 0.5**2 * 4 * 0.01, rel=1e-12)
    assert terms.total == pytest.approx(sum(terms[name] for name in FORMULAS), rel=1e-12)


def test_without_noise_no_term_of_noise(constants: Constants):
    quiet = split(constants, sigma=0.0)
    assert [t.name for t in quiet.terms if t.value == 0] == [
        "averaged noise",
        "tracking noise",
        "estimator noise",
    ]


def test_p_two_averages_like_variances(constants: Constants):
    ratio = split(constants, p=2.0)["averaged noise"]
    ratio /= split(constants, p=2.0, num_nodes=64)["averaged noise"]
    assert ratio == pytest.approx(2, rel=1e-12)


def test_p_near_one_averages_nothing(constants: Constants):
    close = 1 + 1e-9
    one, many = (split(constants, p=close, num_nodes=n)["averaged noise"] for n in (1, 1000))
    assert many == pytest.approx(one, rel=1e-6) == pytest.approx(4 * math.sqrt(2) * 1.3, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "rising", "falling"),
    [
        ({"steps": 2000}, [], ["initial gap", "initial gradient"]),
        ({"lam": 0.6}, [*list(FORMULAS)[3:]], []),
        (
            {"num_nodes": 17},
            ["tracking noise", "estimator noise", "tracker lag"],
            ["averaged noise", "heterogeneity"],
        ),
        ({"lr": 0.02}, ["momentum lag", "consensus", "tracker lag"], ["initial gap"]),
        (
            {"momentum": 0.95},
            ["initial gradient", "momentum lag"],
            ["averaged noise", "tracking noise", "heterogeneity", "estimator noise"],
        ),
        ({"sigma": 2.0}, ["averaged noise", "tracking noise", "estimator noise"], []),
        ({"smoothness": 3.0}, ["momentum lag", "consensus", "tracker lag"], []),
        ({"gap": 4.0}, ["initial gap"], []),
        ({"grad_norm": 1.0}, ["initial gradient"], []),
        ({"stacked_grad_norm": 6.0}, ["heterogeneity"], []),
    ],
)
def test_which_terms_move(
    constants: Constants, change: dict[str, float], rising: list[str], falling: list[str]
):
    before, after = split(constants), split(constants, **change)
    assert [name for name in FORMULAS if after[name] > before[name]] == rising
    assert [name for name in FORMULAS if after[name] < before[name]] == falling


def test_table_and_dominant(constants: Constants):
    terms = split(constants, sigma=1000.0, momentum=0.99)
    rows = terms.table()
    assert rows[0][0] == terms.dominant.name == "averaged noise"
    assert [row[2] for row in rows] == sorted((t.value for t in terms.terms), reverse=True)
    assert sum(row[3] for row in rows) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [("momentum", 0.0), ("momentum", 1.0), ("lr", 0.0), ("steps", 0), ("lr", math.nan)],
)
def test_refusals(constants: Constants, name: str, value: float):
    with pytest.raises(gs.InvalidInput, match=f"^{name}: got {value}, need"):
        split(constants, **{name: value})


def test_unknown_term(constants: Constants):
    with pytest.raises(gs.InvalidInput, match="name: got 'noise', need one of initial gap"):
        split(constants)["noise"]


@pytest.mark.parametrize("sign", [-1, 1])
def test_rounding_does_not_order_equal_terms(sign: int):
    values = {"a": 1.0, "b": 2.0, "c": 2.0 + sign * 1e-15, "d": 2.1}
    split = Bound([Term(name, "", value) for name, value in values.items()])
    assert [name for name, *_ in split.table()] == ["d", "b", "c", "a"]
