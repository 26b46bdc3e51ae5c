"""One exception for bad input, and its words."""

import pytest

import gossamer as gs
from gossamer.errors import choice, refuse, require, whole


def test_the_message_is_name_value_admissible_way_out():
    with pytest.raises(gs.InvalidInput) as refusal:
        require(False, "momentum", 1.5, "a number in [0, 1)", "try 0.9")
    assert str(refusal.value) == "momentum: got 1.5, need a number in [0, 1); try 0.9"
    with pytest.raises(gs.InvalidInput, match=r"^steps: got None, need an integer$"):
        refuse("steps", None, "an integer")
    require(True, "momentum", 0.5, "a number in [0, 1)")


def test_it_is_a_value_error():
    assert issubclass(gs.InvalidInput, ValueError)


def test_whole_takes_integers_of_any_kind():
    import numpy as np

    for value in (3, np.int64(3), True + 2):
        number = whole("n", value, 1)
        assert number == 3
        assert type(number) is int


@pytest.mark.parametrize("value", [0, -1, 2.0, "3", None, [3]])
def test_whole_refuses_the_rest(value):
    with pytest.raises(gs.InvalidInput, match="need an integer of at least 1"):
        whole("n", value, 1)


def test_choice_suggests_what_was_probably_meant():
    assert choice("order", "b", ["a", "b"]) == "b"
    with pytest.raises(gs.InvalidInput, match="did you mean 'halving'"):
        choice("strategy", "halfing", ["grid", "halving"])
    with pytest.raises(gs.InvalidInput, match="did you mean 'gpt'"):  # upper case is no distance
        choice("style", "GPT", ["gpt", "pytorch"])


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ("mnist", ["digits", "blobs"]),
        ("geometric", gs.networks.NETWORKS),
        ("cuda", ["cpu"]),
        ("", ["grid", "halving"]),
    ],
)
def test_choice_does_not_guess_wildly(value: str, options):
    with pytest.raises(gs.InvalidInput) as refusal:
        choice("name", value, options)
    assert str(refusal.value) == f"name: got {value!r}, need one of {', '.join(options)}"


def test_choice_of_nothing():
    with pytest.raises(
        gs.InvalidInput, match="hyper-parameter: got 'lr', need none: there is nothing"
    ):
        choice("hyper-parameter", "lr", [])
