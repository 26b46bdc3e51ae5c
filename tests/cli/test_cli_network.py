"""`gossamer network`: the numbers of the paper, every family, and what cannot be built."""

from pathlib import Path

import pytest


def table(out: str) -> dict[str, str]:
    return {line[:22].strip(): line[22:] for line in out.splitlines()}


@pytest.mark.parametrize(
    ("text", "nodes", "lam", "degree"),
    [
        ("ring(20, hops=2)", 20, "0.904029", "4"),
        ("ring(20, weights=laplacian)", 20, "0.995106", "2"),
        ("exponential(20)", 20, "0.714286", "5"),
        ("exponential(20, directed=False)", 20, "0.600000", "8"),
        ("complete(8)", 8, "0.000000", "7"),
        ("torus(4, 5)", 20, "0.723607", "4"),
        ("hypercube(3)", 8, "0.500000", "3"),
        ("one_peer_exponential(16)", 16, "0.000000", "1"),
        ("star(6)", 6, None, "1 to 5"),
        ("line(5)", 5, None, "1 to 2"),
        ("erdos_renyi(30, 0.2, seed=7)", 30, None, "3 to 10"),
        ("random_regular(10, degree=3)", 10, None, "3"),
        ("complete(1)", 1, "0.000000", "0"),
        ("ring(8).without(3)", 7, None, "1 to 2"),
    ],
)
def test_families(gossamer, text: str, nodes: int, lam: str | None, degree: str):
    code, out, err = gossamer(f"network '{text}'")
    assert (code, err) == (0, "")
    shown = table(out)
    assert shown["nodes"] == f"{nodes}"
    assert shown["neighbours per node"] == degree
    assert lam in (None, shown["λ"])
    assert "rounds until disagreement falls to 0.1 %" in shown["mixing time"]
    assert ("period" in shown) == text.startswith("one_peer")


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_drawing(gossamer, tmp_path: Path, suffix: str):
    code, out, _ = gossamer(f"network 'one_peer_exponential(8)' --figure net.{suffix}")
    assert code == 0
    assert table(out)["figure"] == f"net.{suffix}"
    assert (tmp_path / f"net.{suffix}").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("'rnig(20)'", "did you mean 'ring'?"),
        ("ring", "missing a required argument: 'n'; its arguments are (n, hops=1,"),
        ("ring 20 hops=2", "got ring 20 hops=2, need one call in quotes; write 'ring(20, hops=2)'"),
        ("ring 20", "need one call in quotes; write 'ring(20)'"),
        ("ring 20 --hops 2", "No such option"),
        ("ring --draw net.png", "No such option"),
        ("'ring(20, hopps=2)'", "unexpected keyword argument 'hopps'"),
        ("'ring(20, 2, 3, 4)'", "too many positional arguments"),
        ("'random_regular(20, 3)'", "its arguments are (n, degree=..., seed=0"),
        ("'ring(20'", "cannot read 'ring(20', need NAME or NAME(value, name=value)"),
        ("\"ring(__import__('os'))\"", "network: got '__import__', need one of ring"),
        ("'ring({[]:1})'", "cannot read"),
        ("'ring(-3)'", "n: got -3, need an integer of at least 1"),
        ("'ring(2.5)'", "n: got 2.5"),
        ("'ring(abc)'", "n: got abc"),
        ("'ring(1e999)'", "n: got inf"),
        ("'ring(None)'", "n: got None"),
        ("'ring(20, hops=99)'", "use gs.complete(20)"),
        ("'ring(20, weights=laplacain)'", "did you mean 'laplacian'?"),
        ("'torus(4)'", "missing a required argument: 'cols'"),
        ("'ring(10000000)'", "got 10,000,000 nodes that each hear 2, need at most 1,000,000 nodes"),
        ("'ring(1000000, hops=1000)'", "1,000,000 nodes that each hear 2,000, need at most"),
        ("'exponential(10000000)'", "10,000,000 nodes that each hear 24, need at most"),
        ("'complete(100000000)'", "100,000,000 nodes that each hear 99,999,999, need at most"),
        ("'star(10000000)'", "10,000,000 nodes that each hear 2, need at most"),
        ("'line(10000000)'", "10,000,000 nodes that each hear 2, need at most"),
        ("'torus(10000, 10000)'", "100,000,000 nodes that each hear 4, need at most"),
        ("'hypercube(60)'", "1,152,921,504,606,846,976 nodes that each hear 60, need at most"),
        ("'hypercube(999999999)'", "need at most 1,000,000 nodes"),
        ("'erdos_renyi(1000000, 0.5)'", "1,000,000 nodes that each hear 500,000, need at most"),
        ("'random_regular(1000000, degree=1000)'", "1,000,000 nodes that each hear 1,000, need at"),
        ("'one_peer_exponential(10000000)'", "10,000,000 nodes that each hear 24, need at most"),
        ("'erdos_renyi(30, x)'", "network: erdos_renyi(30, x): "),
        ("'erdos_renyi(30, 0.0001)'", "raise probability"),
        ("'random_regular(9, degree=3)'", "need an even n · degree"),
        ("'ring(20)' --figure net", "need a file name that ends in one of .png, .svg, .pdf"),
        ("'ring(20)' --figure no/such/net.png", "cannot read or write no/such/net.png"),
    ],
)
def test_refusals(refused, arguments: str, words: str):
    assert words in refused(f"network {arguments}")


@pytest.mark.parametrize("arguments", ["'ring(20)' --figure net.gif", "'geometric(20)'"])
def test_what_is_unknown_is_not_guessed(refused, arguments: str):
    """`.gif` is no misspelt `.svg`, and a geometric graph is not an exponential one."""
    answer = refused(f"network {arguments}")
    assert "need" in answer
    assert "did you mean" not in answer
