"""`gossamer network`: the numbers of the paper, every family, and what cannot be built."""

from pathlib import Path

import pytest

import gossamer as gs


def table(out: str) -> dict[str, str]:
    """Label → value, whose lines are joined."""
    shown: dict[str, str] = {}
    label = ""
    for line in out.splitlines():
        label = line[:22].strip() or label
        shown[label] = f"{shown[label]} {line[22:]}" if label in shown else line[22:]
    return shown


@pytest.mark.parametrize(
    ("text", "nodes", "lam", "degree"),
    [
        ("ring(20, hops=2)", 20, "0.904029", "4"),
        ("ring(20, weights=laplacian)", 20, "0.995106", "2"),
        ("exponential(20)", 20, "0.714286", "5"),
        ("exponential(20, directed=False)", 20, "0.6", "8"),
        ("complete(8)", 8, "0", "7"),
        ("torus(4, 5)", 20, "0.723607", "4"),
        ("hypercube(3)", 8, "0.5", "3"),
        ("one_peer_exponential(16)", 16, "0", "1"),
        ("star(6)", 6, None, "1 to 5"),
        ("line(5)", 5, None, "1 to 2"),
        ("erdos_renyi(30, 0.2, seed=7)", 30, None, "3 to 10"),
        ("random_regular(10, degree=3)", 10, None, "3"),
        ("complete(1)", 1, "0", "0"),
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
    steps = "1 step until" if lam == "0" and "period" not in shown else "steps until"
    assert f"{steps} disagreement falls to 0.1 %" in shown["mixing time"]
    one_way = "exponential" in text and "directed=False" not in text
    assert ("one-way and balanced" in shown.get("links", "")) == one_way
    assert ("period" in shown) == text.startswith("one_peer")
    assert shown["methods"] == "all" + (" except EXTRA and ExactDiffusion" if one_way else "")
    assert shown["kept exactly"] == "averages of opinions, and totals"
    assert shown["theorems"].startswith("do not apply" if "period" in shown else "hold")


TRACKING = ", ".join(name for name, method in gs.ALGORITHMS.items() if method.tracker)
NOT_BALANCED = {
    "links": "one-way and not balanced",
    "kept exactly": "totals; averages of opinions drift",
    "λ": "none: its weights are not doubly stochastic",
    "methods": f"({TRACKING}); any other but EXTRA or ExactDiffusion as PushSum(…)",
    "theorems": "do not apply, because its one-way links are not balanced. Measure",
}
LATE = "totals, with what waits on the links; averages of opinions drift slightly at random"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "random_digraph(20, degree=3)",
            NOT_BALANCED
            | {
                "neighbours per node": "hears 1 to 6 and sends to 3",
                "messages": "60 per mix in all",
            },
        ),
        ("from_digraph([(0,1),(1,2),(2,0),(0,2)])", NOT_BALANCED | {"nodes": "3"}),
        (
            "random_digraph(20, degree=3).drops(0.1).compressed(TopK(0.1))",
            {
                "methods": f"those that track ({TRACKING}), but not as PushSum(…)",
                "γ": "0.2, by default",
                "kept exactly": "totals, with what waits on the links; averages of opinions drift "
                "towards nodes that are heard by many and slightly at random",
                "theorems": "are not balanced and messages are lost and compressed.",
            },
        ),
        (
            "ring(20).drops(0.1)",
            {
                "lost": "each message with probability 0.1, each way by itself; an opinion is",
                "kept exactly": LATE,
                "λ": "none: when a message is lost, the weights of that round are not doubly",
                "methods": "all",
                "messages": "40 per mix in all",
                "theorems": "because messages are lost. Plan with ring(20) and measure what this "
                "network changes, e.g. by `gossamer compare`",
            },
        ),
        (
            "ring(20).drops(0.1, both_ways=True, burst=3)",
            {
                "lost": "each link with probability 0.1, both ways at once, in bursts of 3 rounds",
                "kept exactly": "averages of opinions, and totals",
                "λ": "in mean square, bursts left out of account",
                "messages": "36 per mix in all, on average",
            },
        ),
        (
            "ring(20).drops(0.1).compressed(TopK(0.1))",
            {
                "compressed": "the 10 % of the coordinates that changed most; what a message "
                "leaves out follows in later ones. A message about 1,000,000 numbers in float32 "
                "takes 525,000 bytes",
                "lost": "A compressed message that was lost is sent again, together with the next",
                "messages": "44.4444 per mix in all, on average, including those sent again",
                "methods": "all except EXTRA, ExactDiffusion and PushSum(…)",
                "kept exactly": LATE,
                "λ": "none: the speed of averaging with compressed",
                "theorems": "because messages are lost and compressed.",
            },
        ),
        (
            "ring(20).compressed(RandK(0.05))",
            {"compressed": "5 % of the coordinates, chosen at random"},
        ),
        (
            "ring(20).compressed(QSGD(3))",
            {"compressed": "changes, stochastically rounded to 3 bits"},
        ),
        ("ring(20).compressed(Sign())", {"compressed": "the signs of the changes"}),
        ("ring(20).compressed(Cast(bfloat16), 0.5)", {"compressed": "in bfloat16", "γ": "0.5, as"}),
        (
            "ring(20).every(5)",
            {
                "talks": "in every 5th step, with local steps between",
                "λ": "0.993387",
                "messages": "40 per mix in all, in every 5th step",
                "theorems": "because nodes talk in every 5th step only.",
            },
        ),
        (
            "ring(20).accelerated(3)",
            {
                "accelerated": "3 exchanges in every mix",
                "messages": "3 × 40 per mix in all",
                "theorems": "hold for GT-NSGDm",
            },
        ),
        (
            "random_matching(10).every(3)",
            {"neighbours per node": "one random partner per round"},
        ),
        (
            "random_matching(21)",
            {
                "neighbours per node": "one random partner per round",
                "λ": "in mean square",
                "messages": "20 per mix in all",
                "theorems": "because links are drawn anew in every round.",
            },
        ),
        (
            "erdos_renyi_each_round(20, 0.1)",
            {"λ": "estimated by 2000 draws", "messages": "38 per mix in all, on average"},
        ),
    ],
)
def test_bad_networks_explain_themselves(gossamer, text: str, rows: dict[str, str]):
    code, out, err = gossamer(f"network '{text}'")
    assert (code, err) == (0, "")
    shown = table(out)
    for label, words in rows.items():
        assert words in shown[label]
    assert max(map(len, out.splitlines())) <= 88


def test_without_losses_nothing_is_left_to_chance(gossamer):
    _, out, _ = gossamer("network 'ring(20).drops(0)'")
    shown = table(out)
    assert (shown["lost"], shown["λ"]) == ("nothing", "0.967371")
    assert shown["kept exactly"] == "averages of opinions, and totals"


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
        ("ring", "missing a required argument: 'n'; the arguments of ring are (n, hops=1,"),
        ("ring 20 hops=2", "got ring 20 hops=2, need one text in quotes; write 'ring(20, hops=2)'"),
        ("ring 20", "need one text in quotes; write 'ring(20)'"),
        ("'ring(20)' '.drops(0.1)'", "need one text in quotes; write 'ring(20).drops(0.1)'"),
        ("ring 20 --hops 2", "No such option"),
        ("ring --draw net.png", "No such option"),
        ("'ring(20, hopps=2)'", "unexpected keyword argument 'hopps'"),
        ("'ring(20, 2, 3, 4)'", "too many positional arguments"),
        ("'random_regular(20, 3)'", "arguments of random_regular are (n, degree=..., seed=0"),
        ("'ring(20'", "cannot read 'ring(20', need NAME or NAME(value, name=value)"),
        (
            "\"ring(__import__('os'))\"",
            "network: got '__import__', need one of ring",
        ),
        ("'ring({[]:1})'", "cannot read"),
        ("'ring(-3)'", "n: got -3, need an integer of at least 1"),
        ("'ring(2.5)'", "n: got 2.5"),
        ("'ring(abc)'", "n: got abc"),
        ("'ring(1e999)'", "n: got inf"),
        ("'ring(None)'", "n: got None"),
        ("'ring(20, hops=99)'", "use complete(20)"),
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
        ("'erdos_renyi(30, x)'", "probability: got 'x', need a number in (0, 1]"),
        ("'erdos_renyi(30, 0.0001)'", "raise probability"),
        ("'random_regular(9, degree=3)'", "need an even n · degree"),
        ("'ring(20).drop(0.1)'", "method of ring(20): got 'drop', need one of without, every, "),
        ("'ring(20).drop(0.1)'", "did you mean 'drops'?"),
        ("'ring(20).drops(2)'", "probability: got 2, need a number in [0, 1); 0.1 loses one"),
        ("'ring(20).drops(x)'", "probability: got 'x', need a number in [0, 1); 0.1 loses one"),
        ("'ring(20).compressed(TopK(x))'", "share: got 'x', need a number in (0, 1]"),
        (
            "'ring(20).compressed(Median(3))'",
            "argument of compressed: got 'Median', need one of TopK, RandK, QSGD, Sign, Cast\n",
        ),
        (
            "'ring.drops(0.1)'",
            "ring needs its arguments (n, hops=1, weights=metropolis), as in 'ring(4).drops(0.1)'",
        ),
        ("'exponential(8).drops(0.1, both_ways=True)'", "e.g. exponential(8, directed=False)"),
        (
            "'ring(20).drops(0.1).accelerated(2)'",
            "or compression; leave out .drops(…)",
        ),
        (
            "'ring(20).drops(0.1).compressed(Sign()).accelerated(2)'",
            "leave out .drops(…) and .compressed(…)",
        ),
        ("'ring(20).drops(0.1, bothways=True)'", "are (probability, both_ways=False, burst=None)"),
        ("'ring(20).drops'", "or 'ring(20).drops(0.1)'"),
        ("'ring(20).drops(0.1).drops(0.2)'", "need at most one .drops(…)"),
        ("'ring(20).every(0)'", "k: got 0, need an integer of at least 1"),
        ("'ring(20).compressed(TopK)'", "compressor: got TopK, need a compressor with its param"),
        (
            "'ring(20).compressed(0.1)'",
            "compressor: got 0.1, need a compressor with its parameters",
        ),
        ("'ring(20).compressed(Topk(0.1))'", "did you mean 'TopK'?"),
        ("'ring(20).compressed(TopK())'", "the arguments of TopK are (share)"),
        (
            "'ring(20).compressed(TopK(10))'",
            "share: got 10, need a number in (0, 1]; 0.1 sends a tenth",
        ),
        (
            "'ring(20).compressed(gs.TopK(0.1))'",
            "no module is named here; write TopK instead of gs",
        ),
        ("'gs.ring(20)'", "no module is named here; write ring instead of gs.ring"),
        ("'TopK(0.1)'", "network: got 'TopK', need one of ring"),
        ("'random_matching(20).compressed(TopK(0.1))'", "need the same links in every round"),
        ("'random_digraph(20, degree=3).accelerated(2)'", "need the same W = Wᵀ in every exchange"),
        ("'from_digraph([(0,1),(1,2)])'", "need a strongly connected digraph"),
        ("'from_digraph([0,1])'", "graph: got [0, 1], need a networkx DiGraph or pairs"),
        ("'from_digraph(5)'", "graph: got 5, need a networkx DiGraph or pairs"),
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
