"""What a user types becomes an object, or an error that shows the way; nothing is executed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gossamer as gs
from gossamer.networks import NETWORKS
from gossamer.noise import NOISES
from gossamer.problems import PROBLEMS
from gossamer.spec import build, parse, usage


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("ring", ("ring", [], {})),
        (" ring ( 20 , hops = 2 ) ", ("ring", [20], {"hops": 2})),
        ("ring()", ("ring", [], {})),
        ("f(-1, 1e-3, None, True)", ("f", [-1, 1e-3, None, True], {})),
        ("f([1, 2], x=(3,), y={'a': 4})", ("f", [[1, 2]], {"x": (3,), "y": {"a": 4}})),
        ("f(word, x='word')", ("f", ["word"], {"x": "word"})),
    ],
)
def test_calls(text: str, call):
    assert parse(text) == call


@pytest.mark.parametrize(
    "text",
    ["", " ", "20", "'ring'", "ring(20", "ring)20(", "a.b(1)", "ring(20)(3)", "ring[20]",
     "ring(1 + 1)", "ring(x.y)", "ring(f())", "ring(__import__('os'))", "ring(lambda: 1)",
     "ring(*[1])", "ring(**{'n': 3})", "ring(n=1, n=2)", "ring(20); x", "ring(20)\nring(30)",
     "import os", "ring({[]: 1})", "ring({{}})", "ring(\0)", "(" * 10_000,
     "ring(" + "-" * 100_000 + "1)", "ring(" + "[" * 1_000],
    ids=lambda text: repr(text[:24]),
)  # fmt: skip
def test_what_is_not_a_call_of_literals_is_refused(text: str):
    with pytest.raises(gs.InvalidInput, match=r"cannot read .* need NAME or NAME"):
        parse(text)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str):
    try:
        name, _, _ = parse(text)
    except gs.InvalidInput:
        return
    assert name.isidentifier()


def test_the_named_things_can_be_built():
    assert build("network", "torus(4, 5)", NETWORKS).num_nodes == 20
    assert build("noise", "AlphaStable(1.5, skewness=0.5, scale=0.1)", NOISES) == gs.AlphaStable(
        1.5, skewness=0.5, scale=0.1
    )
    assert build("algorithm", "GTNSGDm(0.1, momentum=0.8)", gs.ALGORITHMS) == gs.GTNSGDm(0.1, 0.8)
    assert build("problem", "Quadratic(8, 3)", PROBLEMS).dim == 3
    lam = build("network", "ring(20, weights=laplacian)", NETWORKS).lam
    assert lam == pytest.approx(0.995106, abs=1e-6)


def test_calls_may_be_chained_and_nested():
    def pair(first, second=0):
        return [first, second]

    survivors = build("network", "complete(8).without(3).without(0)", NETWORKS)
    assert survivors == gs.complete(8).without(3).without(0)
    nested = "pair([pair(1), pair(word), x], second=pair(2, {'a': 3}))"
    built = build("thing", nested, {"pair": pair}, {"x": gs.ring})
    assert built == [[[1, 0], ["word", 0], gs.ring], [2, {"a": 3}]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ring(8).draw()", r"method of ring\(8\): got 'draw', need one of without"),
        ("ring(8).witout(3)", "did you mean 'without'"),
        ("ring(8).__class__(3)", "got '__class__', need one of without"),
        ("ring(8).without(9)", "node: got 9"),
        (
            "ring(8).without()",
            r"argument: 'node'; the arguments of without are \(node\)",
        ),
        ("ring(8).matrix.values.sum()", "cannot read"),
        ("ring(8)(9)", "cannot read"),
        ("ring(eval('8'))", "network: got 'eval', need one of"),
        ("ring(" * 60 + "8" + ")" * 60, "n: got ring"),
        ("ring(8)" + ".without(0)" * 9, "at least 2 nodes"),
        ("ring(8)" + ".without(0)" * 100_000, "cannot read"),
    ],
    ids=lambda text: text[:30],
)
def test_chains_that_cannot_be_built(text: str, words: str):
    with pytest.raises(gs.InvalidInput, match=words):
        build("network", text, NETWORKS)


def test_names_are_those_of_the_library():
    assert all(getattr(gs, name) is maker for name, maker in NETWORKS.items())
    assert all(hasattr(gs, name) for name in PROBLEMS)
    assert (gs.NETWORKS, gs.NOISES, gs.PROBLEMS) == (NETWORKS, NOISES, PROBLEMS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rnig(20)", "network: got 'rnig', need one of ring, .*; did you mean 'ring'"),
        (
            "ring",
            r"network: ring: missing .*: 'n'; the arguments of ring are \(n, hops=1",
        ),
        ("ring(20, hop=2)", "unexpected keyword argument 'hop'"),
        ("ring(n)", "n: got n, need an integer"),
        (
            "erdos_renyi(30, often)",
            r"probability: got .often., need a number in \(0, 1\]",
        ),
    ],
)
def test_what_cannot_be_built_is_refused_with_the_arguments(text: str, words: str):
    with pytest.raises(gs.InvalidInput, match=words):
        build("network", text, NETWORKS)


@pytest.mark.parametrize(
    "reason",
    [TypeError("a\nb"), ValueError("a"), RuntimeError("a"), MemoryError(), OverflowError()],
)
def test_a_constructor_that_fails_is_bad_input_in_one_line(reason: Exception):
    def maker(n):
        raise reason

    words = f"kind: maker\\(1\\): {'a' if reason.args else type(reason).__name__}; the arguments"
    with pytest.raises(gs.InvalidInput, match=words) as refusal:
        build("kind", "maker(1)", {"maker": maker})
    assert "\n" not in str(refusal.value)
    assert refusal.value.__cause__ is reason


def test_a_mistake_of_ours_is_not_hidden():
    def maker():
        raise AssertionError

    with pytest.raises(AssertionError):
        build("kind", "maker()", {"maker": maker})


def test_usage_shows_what_can_be_typed():
    assert usage(NETWORKS["torus"]) == "(rows, cols, weights=metropolis)"
    shown = usage(NETWORKS["ring"]).strip("()").replace("n,", "n=5,", 1)
    assert build("network", f"ring({shown})", NETWORKS).num_nodes == 5
