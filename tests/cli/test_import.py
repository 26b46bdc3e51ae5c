"""`--import`: what a user's file defines is known by name, and what is wrong with it is said."""

import csv
import pickle
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from processes import context

import gossamer as gs
from gossamer.user_file import load_user_file

MINE = '''
from dataclasses import dataclass
from functools import partial

import torch

import gossamer as gs
from gossamer.algorithms import Positive, Stateless
from helpers import CURVATURE


@dataclass(frozen=True)
class SignDSGD(gs.Algorithm):
    """x ← W (x − α sign g)."""

    lr: Positive

    def init(self, x):
        return Stateless()

    def step(self, t, x, grad, state, mix):
        return mix.pull(x - self.lr * grad.sign()), state


class Bowl(gs.Quadratic):
    """Curved by this much."""

    def __init__(self, num_nodes, curvature=CURVATURE):
        super().__init__(num_nodes, 3, seed=int(curvature))


def loss(x, centre):
    return (x - centre).square().sum()


def chain(n):
    return gs.line(n)


def noisy(scale) -> gs.Noise:
    return gs.Gaussian(scale)


def largest(stack):
    return stack.x.abs().amax(dim=(0, 2))


@gs.metric(needs=["state.y"])
def tracker_size(stack):
    return stack.state.y.norm(dim=-1).mean(0)


wide_ring = partial(gs.ring, hops=2)
star6 = gs.star(6)
careful = gs.DSGD(0.01)
loud = gs.Gaussian(2.0)
centres = gs.FunctionProblem(loss, torch.arange(6.0)[:, None], dim=1)
'''


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "helpers.py").write_text("CURVATURE = 2")


def final(tmp_path: Path, column: str) -> list[float]:
    with (tmp_path / "compare.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    end = [row for row in rows if row["step"] == rows[-1]["step"] and row["metric"] == column]
    return [float(row["value"]) for row in end]


def test_methods_problems_networks_noises_and_metrics_by_name(gossamer, tmp_path: Path):
    what = "-p 'Bowl(6, curvature=3)' -n 'chain(6)' --noise 'noisy(0.5)' --metric largest"
    line = f"compare --import mine.py -a 'SignDSGD(lr=0.1)' {what} --steps 9 --seeds 2"
    code, out, err = gossamer(line)
    assert (code, err) == (0, "")
    assert "Quadratic on line(6), noise noisy(0.5), 9 steps." in out
    mine = sys.modules["mine"]
    task, noise = gs.Quadratic(6, 3, seed=3), gs.Gaussian(0.5)
    method = mine.SignDSGD(0.1)
    run = gs.simulate(method, task, gs.line(6), noise=noise, steps=9, seeds=range(2))
    largest = run.x.abs().amax(dim=(0, 2)).tolist()
    assert final(tmp_path, "largest") == pytest.approx(largest, rel=1e-12)


def test_objects_by_name_and_a_class_that_is_tuned(gossamer):
    what = "-p centres -n 'star6.drops(0.1)' --noise loud"
    line = (
        f"compare --import mine.py -a careful -a SignDSGD -a 'PushSum(SignDSGD)' {what} --steps 5"
    )
    code, out, err = gossamer(line)
    assert (code, err) == (0, "")
    assert "FunctionProblem on star(6).drops(0.1), noise loud, 5 steps." in out
    assert re.search(r"^DSGD +lr = 0.01 ", out, re.MULTILINE)
    assert out.count("(tuned)") == 2


def test_a_metric_with_needs(gossamer, refused):
    code, out, _ = gossamer(
        "compare --import mine.py -a 'GTDSGD(0.1)' --metric tracker_size --steps 2"
    )
    assert code == 0
    assert "final tracker_size" in out
    line = "compare --import mine.py -a careful --metric tracker_size"
    assert "'tracker_size', which needs state.y" in refused(line)


def test_network_and_plan(gossamer):
    code, out, err = gossamer("network --import mine.py 'wide_ring(8)'")
    assert (code, err) == (0, "")
    assert "ring(8, hops=2)" in out
    code, out, err = gossamer("plan --import mine.py -p 'Bowl(6)' -n star6 --noise loud")
    assert (code, err) == (0, "")


EXPERIMENT = """
from dataclasses import dataclass

from gossamer.experiments import Experiment, Unit


@dataclass(frozen=True)
class Sum(Unit):
    terms: int

    def run(self, device):
        return {"sum": sum(range(self.terms))}


class Sums(Experiment):
    name, title, about, study = "sums", "Sums of numbers", "They grow.", "arithmetic"
    sizes = {"test": 3, "quick": 4, "full": 5}

    def units(self, size, seed):
        return [Sum(f"{size} terms", size)]

    def figures(self, results):
        return {}

    def verdicts(self, results):
        return []
"""


def test_an_experiment(gossamer, tmp_path: Path):
    (tmp_path / "other.py").write_text(EXPERIMENT)
    code, out, err = gossamer("run --import other.py arithmetic")
    assert (code, err) == (0, "")
    assert "Sums of numbers" in out
    assert gossamer("run --import other.py sums").out.count("stored already") == 1
    assert "arithmetic" in gossamer("list --import other.py").out


@pytest.mark.parametrize("command", ["list", "report", "run sums"])
@pytest.mark.parametrize(
    ("given", "without", "words"),
    [
        ("name, title, about, study", "name, title, about, _", "Sums without study, need one"),
        ("name, title, about, study", "name, _, about, _", "Sums without title and study, need"),
        ("sizes = ", "_ = ", "Sums without sizes, need one that states name, title, about, study"),
        ('"quick": 4', '"slow": 4', "size of sums: got 'quick', need one of test, slow, full"),
    ],
)
def test_an_experiment_that_is_not_complete_is_refused(
    refused, tmp_path: Path, command: str, given: str, without: str, words: str
):
    """It used to end in a traceback."""
    (tmp_path / "other.py").write_text(EXPERIMENT.replace(given, without))
    assert words in refused(f"{command} --import other.py")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("x = 1\ndef f(:\n", "broken.py cannot be read: line 2: "),
        ("x = 1\n\ny = 1 / 0\n", "broken.py fails: line 3: ZeroDivisionError: division by zero"),
        ("import nowhere_at_all", "line 1: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        (
            "import gossamer as gs\n\nnet = gs.ring(0)",
            "broken.py fails: line 3: InvalidInput: n: got 0",
        ),
        (
            "import gossamer as gs\nclass DSGD(gs.DSGD): pass",
            "broken.py defines DSGD, which is the name of gossamer.algorithms.dsgd.DSGD; rename",
        ),
        ("def ring(n): pass", "defines ring, which is the name of gossamer.networks.graphs.ring"),
        ("def error(stack): pass", "defines error, which is the name of gossamer.simulation"),
    ],
)
def test_files_that_are_refused(refused, tmp_path: Path, content: str, words: str):
    (tmp_path / "broken.py").write_text(content)
    assert words in refused("compare --import broken.py -a DSGD")
    assert "broken" not in sys.modules or "defines" in words


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--import nowhere.py", "import: got nowhere.py, need a file that exists"),
        ("--import notes.txt", "import: got notes.txt, need a Python file"),
        ("--import random.py", "random.py, whose name is that of the module random"),
        ("--import mine.py -a SignDGSD", "did you mean 'SignDSGD'?"),
        ("--import mine.py -a 'SignDSGD(lr=-1)'", "lr: got -1"),
        ("--import mine.py -a DSGD -p centers", "did you mean 'centres'?"),
        ("--import mine.py -a DSGD -p 'centres(3)'", "the arguments of centres are ()"),
        ("--import mine.py -a DSGD -n 'chian(5)'", "did you mean 'chain'?"),
        ("--import mine.py -a DSGD --noise 'nosy(5)'", "did you mean 'noisy'?"),
        (
            "--import mine.py -a DSGD -p 'chain(20)'",
            "problem: got chain, which makes a StaticNetwork, need what makes a gs.Problem",
        ),
        ("--import mine.py -a DSGD --metric lagest", "need names among"),
    ],
)
def test_refusals(refused, tmp_path: Path, arguments: str, words: str):
    (tmp_path / "random.py").write_text("")
    (tmp_path / "notes.txt").write_text("")
    assert words in refused(f"compare {arguments} -a DSGD")


def test_a_file_of_the_same_name_elsewhere_is_refused(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "other.py").write_text("")
    (tmp_path / "other.py").write_text("")
    module = load_user_file(tmp_path / "other.py")
    assert load_user_file(str(tmp_path / "other.py")) is module
    with pytest.raises(gs.InvalidInput, match="whose name is that of the module other"):
        load_user_file(tmp_path / "sub" / "other.py")


def test_a_file_is_run_once_and_its_imports_from_here_are_not_its_own(gossamer, tmp_path: Path):
    other = "from gossamer import *\nfrom gossamer import GTNSGDm as Old, ring\nprint('hello')"
    (tmp_path / "other.py").write_text(other)
    out = gossamer("network --import other.py --import ./other.py 'ring(4)'").out
    assert out.count("hello") == 1
    assert "Old" not in gs.ALGORITHMS


def used_elsewhere(file: Path, things: bytes) -> list[Any]:
    load_user_file(file)
    method, problem, metric = pickle.loads(things)
    losses = problem.local_loss(problem.start.expand(6, 1, 1)).flatten()
    return [repr(method), losses.tolist(), metric.__name__]


def test_its_objects_travel_to_a_process_that_loads_the_file(tmp_path: Path):
    file = tmp_path / "mine.py"
    module = load_user_file(file)
    things = pickle.dumps([module.SignDSGD(0.5), module.centres, module.largest])
    with ProcessPoolExecutor(1, context) as pool:
        told = pool.submit(used_elsewhere, file, things).result()
    assert told == ["SignDSGD(lr=0.5)", [0.0, 1.0, 4.0, 9.0, 16.0, 25.0], "largest"]


def test_train_knows_own_methods(tmp_path: Path):
    from gossamer.train.config import make_algorithm, make_network, read_arguments

    file = str(tmp_path / "mine.py")
    line = ["--import", file, "--algorithm", "SignDSGD", "--lr", "0.3", "--network", "chain"]
    config = read_arguments([*line, "--data", "blobs"])
    assert repr(make_algorithm(config)) == "SignDSGD(lr=0.3)"
    assert make_network(config.network, 4).name == "line(4)"
