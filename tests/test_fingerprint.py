"""Equal content, equal fingerprint; anything else, another one."""

import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import functools
import importlib
import operator
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.stats
import torch
from scripts import printed
from torch import nn

import gossamer as gs
from gossamer.fingerprint import fingerprint
from gossamer.libraries import _of_files, is_library_module

SCALE = 1.0


def scaled(x: float) -> float:
    return SCALE * x


def closure(factor: float):
    return lambda x: factor * x


class Holds:
    def __init__(self, content: object) -> None:
        self.content = content

    @functools.cached_property
    def computed(self) -> int:
        return 1


def linear(weight: float) -> nn.Module:
    layer = nn.Linear(2, 1)
    nn.init.constant_(layer.weight, weight)
    nn.init.zeros_(layer.bias)
    return layer


class Slots:
    __slots__ = "content"

    def __init__(self, content: object) -> None:
        self.content = content


class PrivateSlots:
    __slots__ = ("__content",)

    def __init__(self, content: object) -> None:
        self.__content = content


class Items(list):
    pass


class Names(dict):
    pass


class Number(float):
    pass


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


def with_attribute(value: object) -> object:
    value.extra = 1
    return value


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def wrapper(factor: float):
    @functools.wraps(scaled)
    def wrapped(x: float) -> float:
        return factor * scaled(x)

    return wrapped


def made_class(content: object, base: type = object) -> type:
    return type("Made", (base,), {"content": content})


def masked(mask: list[bool]) -> np.ndarray:
    return np.ma.masked_array([1.0, 2.0], mask)


ON_ONE_LINE = (lambda x: x + 1, lambda x: x + 2)

DIFFERENT = [
    (1, 2),
    (1, 1.0),
    ("a", b"a"),
    ([1, 2], [2, 1]),
    ([1], (1,)),
    ({"a": 1}, {"a": 2}),
    ({1, 2}, {1, 3}),
    (torch.zeros(2), torch.zeros(2, 1)),
    (torch.zeros(2), torch.zeros(2).double()),
    (torch.zeros(2), torch.tensor([0.0, 1.0])),
    (torch.tensor(1.0), torch.tensor(2.0)),
    (torch.eye(2).to_sparse(), (2 * torch.eye(2)).to_sparse()),
    (np.zeros(2), np.ones(2)),
    (closure(1.0), closure(2.0)),
    (functools.partial(scaled, 1), functools.partial(scaled, 2)),
    (Holds(1), Holds(2)),
    (Holds(1).__init__, Holds(2).__init__),
    (linear(1.0), linear(2.0)),
    (gs.Quadratic(3, 2, seed=0), gs.Quadratic(3, 2, seed=1)),
    (gs.ring(5), gs.ring(5).drops(0.1)),
    (gs.from_graph(nx.path_graph(4)), gs.from_graph(nx.star_graph(3))),
    (gs.StudentT(1.5), gs.StudentT(1.5, scale=2.0)),
    (gs.DSGD, gs.GTDSGD),
    (torch.float32, torch.float64),
    (torch.finfo(torch.float32), torch.finfo(torch.float64)),
    (np.float32(1), np.float32(2)),
    (np.float32(1), np.float64(1)),
    (np.int64(1), np.int64(2)),
    (np.bool_(True), np.bool_(False)),
    (np.array([1, "a"], dtype=object), np.array([1, "b"], dtype=object)),
    (masked([True, False]), masked([False, True])),
    (collections.deque([1]), collections.deque([2])),
    (collections.deque([1]), collections.deque([1], maxlen=3)),
    (collections.defaultdict(int, a=1), collections.defaultdict(int, a=2)),
    (collections.Counter("a"), collections.Counter("b")),
    (decimal.Decimal(1), decimal.Decimal(2)),
    (bytearray(b"a"), bytearray(b"b")),
    (slice(1), slice(2)),
    (datetime.timedelta(1), datetime.timedelta(2)),
    (operator.itemgetter(1), operator.itemgetter(2)),
    (re.compile("a"), re.compile("b")),
    (Path("a"), Path("b")),
    (random.Random(1), random.Random(2)),
    (generator(1), generator(2)),
    (np.random.default_rng(1), np.random.default_rng(2)),
    (np.random.default_rng(1).normal, np.random.default_rng(2).normal),
    ([].append, [1].append),
    ({1: 2}.keys(), {2: 2}.keys()),
    (Slots(1), Slots(2)),
    (PrivateSlots(1), PrivateSlots(2)),
    (Items([1]), Items([2])),
    (Items([1]), with_attribute(Items([1]))),
    (Names(a=1), Names(a=2)),
    (Names(a=1), with_attribute(Names(a=1))),
    (Number(1), Number(2)),
    (Number(1), with_attribute(Number(1))),
    (Level.LOW, Level.HIGH),
    (torch.Tensor.sin, torch.Tensor.cos),
    (torch.sin, torch.cos),
    (np.sin, np.cos),
    (np.mean, np.sum),
    (torch.strided, torch.sparse_coo),
    (torch.tensor(1.0, dtype=torch.bfloat16), torch.tensor(2.0, dtype=torch.bfloat16)),
    (torch.tensor(1j), torch.tensor(1j).conj()),
    (nn.LSTM(1, 1), nn.LSTM(1, 1)),
    ON_ONE_LINE,
    (wrapper(1.0), wrapper(2.0)),
    (wrapper(1.0), scaled),
    (torch.no_grad()(closure(1.0)), torch.no_grad()(closure(2.0))),
    (functools.lru_cache(closure(1.0)), functools.lru_cache(closure(2.0))),
    (made_class(1), made_class(2)),
    (made_class(1), made_class(1, Holds)),
    (made_class(closure(1.0)), made_class(closure(2.0))),
    (made_class(staticmethod(closure(1.0))), made_class(staticmethod(closure(2.0)))),
    (made_class(classmethod(closure(1.0))), made_class(classmethod(closure(2.0)))),
    (made_class(property(closure(1.0))), made_class(property(closure(2.0)))),
    (made_class(property(len, closure(1.0))), made_class(property(len, closure(2.0)))),
    (
        made_class(functools.cached_property(closure(1.0))),
        made_class(functools.cached_property(closure(2.0))),
    ),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_has_another_fingerprint(one, other):
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one) == fingerprint(one)


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"a": [1, (2.0, "x")], "b": {3}},
        lambda: torch.arange(6.0).view(2, 3),
        lambda: np.arange(4),
        lambda: linear(1.0),
        lambda: closure(2.0),
        lambda: Holds([torch.ones(2)]),
        lambda: gs.Quadratic(3, 2),
        lambda: gs.ring(5).drops(0.1).compressed(gs.TopK(0.1)),
        lambda: np.float32(1),
        lambda: np.array([1, "a", (2.0,)], dtype=object),
        lambda: collections.deque([1, [2]]),
        lambda: generator(3),
        lambda: np.random.default_rng(3),
        lambda: wrapper(1.0),
        lambda: made_class(closure(1.0)),
        lambda: Slots(PrivateSlots(Items([Names(a=1)]))),
        lambda: {Level.LOW, (scaled, 1), frozenset({"a", "b"})},
        lambda: torch.tensor(1.0, dtype=torch.bfloat16),
        lambda: object(),
    ],
)
def test_equal_content_has_the_same(make):
    assert fingerprint(make()) == fingerprint(make())


def test_a_global_that_a_function_reads_is_part_of_it(monkeypatch: pytest.MonkeyPatch):
    before = fingerprint(scaled)
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert fingerprint(scaled) != before


def test_what_is_remembered_of_a_computation_is_not():
    holds = Holds(1)
    before = fingerprint(holds)
    assert holds.computed == 1
    assert fingerprint(holds) == before


def test_annotations_that_python_3_14_keeps_once_they_were_read_are_not():
    before, kept = made_class(1), made_class(1)
    kept.__annotations_cache__ = {"content": int}
    assert fingerprint(kept) == fingerprint(before)


def test_what_holds_itself_ends():
    holds = Holds([])
    holds.content.append(holds)
    assert fingerprint(holds) == fingerprint(holds)


@pytest.mark.parametrize(
    "problem",
    [
        gs.RobustRegression(4),
        gs.Quadratic(4, 3),
        gs.LogisticRegression(gs.data.load("breast_cancer").split(4)),
        gs.FunctionProblem(lambda x, d: ((x - d) ** 2).sum(), torch.ones(4, 3), dim=3),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_problems_are_the_same_after_they_were_run(problem: gs.Problem):
    before = fingerprint(problem)
    gs.simulate(gs.DSGD(0.01), problem, gs.ring(4), steps=4)
    assert fingerprint(problem) == before


def test_a_copy_with_other_aliases_is_the_same():
    part, cycle = [1, torch.ones(2)], [1]
    cycle.append(cycle)
    assert fingerprint([part, part]) == fingerprint([part, copy.deepcopy(part)])
    assert fingerprint([cycle, [cycle]]) == fingerprint([cycle, [copy.deepcopy(cycle)]])


def test_what_refuses_to_be_pickled_counts_by_its_attributes():
    normed = nn.utils.parametrizations.weight_norm(linear(1.0))
    before = fingerprint(normed)
    assert fingerprint(normed) == before
    nn.init.constant_(normed.bias, 1.0)
    assert fingerprint(normed) != before


@pytest.mark.parametrize(
    "value",
    [
        threading.Lock(),
        socket.socket(),
        (n for n in range(3)),
        np.frompyfunc(scaled, 1, 1),
        memoryview(b"a"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_seen_is_refused(value):
    name = type(value).__qualname__
    with pytest.raises(gs.InvalidInput, match=f"{name}: .* class with attributes"):
        fingerprint(Holds([value]))


USER = """
import functools
import {name}_helpers as helpers

FACTOR = 1.0

class Base:
    rate = 2.0

class Loss(Base):
    shift = 3.0
    @staticmethod
    def fixed(x):
        return x - 4.0
    @classmethod
    def made(cls, x):
        return x - 5.0
    @property
    def shown(self):
        return 6.0
    @functools.cached_property
    def kept(self):
        return 7.0
    def __call__(self, x):
        return (lambda y: FACTOR * y)(x) + helpers.f(x) + helpers.SHIFT
    def late(self, x):
        from {name}_late import f
        return f(x)

def loss(x):
    return Loss()(x) + sum(y for y in {{1.5, 2.5, "a", "b"}} if y in ("a", 2.5))

def dynamic(x):
    return getattr(helpers, "g")(x)
"""
HELPERS = """
SHIFT = 8.0
TABLE = {"a": 9.0}
def f(x):
    return TABLE["a"] * x
def g(x):
    return 10.0 * x
"""
LATE = "def f(x):\n    return 11.0 * x\n"


def write(folder: Path, name: str, old: str = "", new: str = "") -> None:
    """The user's files, with one word changed."""
    files = {name: USER.format(name=name), f"{name}_helpers": HELPERS, f"{name}_late": LATE}
    for module, text in files.items():
        (folder / f"{module}.py").write_text(text.replace(old, new) if old else text)


def load(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    """The user's module, read anew."""
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for module in [module for module in sys.modules if module.startswith(name)]:
        del sys.modules[module]
    importlib.invalidate_caches()
    return importlib.import_module(name)


@pytest.mark.parametrize(
    "old",
    ["FACTOR = 1.0", "2.0", "3.0", "4.0", "5.0", "6.0", "7.0", "SHIFT = 8.0", "9.0", "11.0", "1.5"],
)
def test_any_edit_of_the_users_files_is_noticed(tmp_path: Path, monkeypatch, old: str):
    write(tmp_path, "user_code")
    user = load(tmp_path, "user_code", monkeypatch)
    before = fingerprint(user.loss)
    write(tmp_path, "user_code", old, old.replace(".", "1."))
    assert fingerprint(user.loss) == before, "what runs is what was loaded"
    assert fingerprint(load(tmp_path, "user_code", monkeypatch).loss) != before
    write(tmp_path, "user_code")
    assert fingerprint(load(tmp_path, "user_code", monkeypatch).loss) == before


def test_a_module_that_is_used_whole_counts_whole(tmp_path: Path, monkeypatch):
    write(tmp_path, "user_code")
    before = load(tmp_path, "user_code", monkeypatch)
    write(tmp_path, "user_code", "10.0", "20.0")
    after = load(tmp_path, "user_code", monkeypatch)
    assert fingerprint(before.dynamic) != fingerprint(after.dynamic)
    assert fingerprint(before.helpers) != fingerprint(after.helpers)
    assert fingerprint(before.loss) == fingerprint(after.loss)


@pytest.mark.parametrize("held", ["{'w': 1.0}", "[1.0]", "torch.tensor(1.0)", "Namespace(w=1.0)"])
@pytest.mark.parametrize("hold", [lambda m: lambda: m.held, lambda m: types.SimpleNamespace(m=m)])
def test_all_that_a_module_holds_counts_where_it_is_held(tmp_path: Path, monkeypatch, held, hold):
    text = "import torch\nfrom types import SimpleNamespace as Namespace\n"

    def found(value: str) -> str:
        (tmp_path / "held_whole.py").write_text(f"{text}held = {value}\n")
        return fingerprint(hold(load(tmp_path, "held_whole", monkeypatch)))

    assert found(held) == found(held) != found(held.replace("1.0", "2.0"))


@pytest.mark.parametrize("old", ["abs(x)", "x + 1", "A.b"])
def test_code_without_a_file_counts_by_what_it_does(old: str):
    new = {"abs(x)": "bool(x)", "x + 1": "x - 1", "A.b": "A.c"}[old]
    text = "class A:\n    b = 1\n    c = 2\ndef f(x):\n    return abs(x), x + 1, A.b\n"
    one, same, other = {}, {}, {}
    exec(text, one)
    exec(text, same)
    exec(text.replace(old, new), other)
    assert fingerprint(one["f"]) == fingerprint(same["f"]) != fingerprint(other["f"])
    exec(text.replace("b = 1", "b = 3"), same)
    assert fingerprint(one["A"]) != fingerprint(same["A"])


def test_other_processes_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One whose sets are in another order, since strings have other hashes there."""
    write(tmp_path, "user_code")
    script = tmp_path / "script.py"
    script.write_text(
        "import user_code, torch\nfrom gossamer.fingerprint import fingerprint\n"
        "sets = {'a', 'b', ('c', 1), user_code.loss, user_code.Loss, frozenset('xyz')}\n"
        "print(fingerprint([user_code.loss, user_code.Loss(), user_code, sets, torch.ones(2)]))\n"
    )
    paths = os.pathsep.join([str(Path(gs.__file__).parents[1]), str(tmp_path)])
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": paths}
    theirs = subprocess.check_output([sys.executable, str(script)], env=environment, text=True)
    load(tmp_path, "user_code", monkeypatch)
    assert theirs == printed(script, tmp_path)


def test_a_problem_takes_milliseconds():
    problem = gs.LogisticRegression(gs.data.load("breast_cancer").split(4))
    fingerprint(problem)
    start = time.process_time()
    fingerprint(problem)
    assert time.process_time() - start < 0.1


STEP = """
class Net(nn.Linear):
    def forward(self, x):
        return FACTOR * super().forward(x)

def init(self, x):
    return gs.algorithms.Stateless()

def step(self, t, x, grad, state, mix):
    return mix.pull(x - FACTOR * self.lr * grad), state

@gs.metric()
def size(stack):
    return FACTOR * stack.x.norm(dim=-1).mean(0)

def twice(stack):
    return 2 * size(stack)
"""


def written(factor: float) -> dict[str, object]:
    """The names of a script that makes its classes by calls."""
    names = {"gs": gs, "nn": nn, "FACTOR": factor, "__name__": "__main__"}
    exec(STEP, names)
    return names


def by_call(names: dict[str, object], make) -> type:
    """A method of the script, made by a call."""
    return make("Mine", (gs.algorithms.Algorithm,), {k: names[k] for k in ("init", "step")})


def parametrized(names: dict[str, object]) -> nn.Module:
    layer = names["Net"](2, 1)
    nn.init.ones_(layer.weight)
    nn.init.zeros_(layer.bias)
    nn.utils.parametrize.register_parametrization(layer, "bias", nn.Identity())
    return layer


def pushed(names: dict[str, object]) -> type:
    kind = by_call(names, type)
    kind.__module__ = "__main__"
    return gs.PushSum(kind)


MADE = {
    "type": lambda names: by_call(names, type),
    "new_class": lambda names: by_call(
        names, lambda name, bases, body: types.new_class(name, bases, {}, lambda d: d.update(body))
    ),
    "make_dataclass": lambda names: by_call(
        names,
        lambda name, bases, body: dataclasses.make_dataclass(
            name, [("lr", gs.algorithms.Positive)], bases=bases, namespace=body, frozen=True
        ),
    ),
    "PushSum": pushed,
    "parametrized": parametrized,
    "metric": lambda names: names["size"],
    "metric in a function": lambda names: names["twice"],
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE.keys())
def test_the_code_counts_whatever_module_a_class_or_metric_calls_its_own(make):
    """Classes that are made by calls say that they are of the module that made them."""
    once, changed, again = (make(written(factor)) for factor in (1.0, 2.0, 1.0))
    assert fingerprint(once) == fingerprint(again) != fingerprint(changed)


def test_a_metric_bound_to_its_name_counts_by_its_code(monkeypatch: pytest.MonkeyPatch):
    digests = []
    for factor in (1.0, 2.0):
        size = written(factor)["size"]
        monkeypatch.setattr(sys.modules["__main__"], "size", size, raising=False)
        digests.append(fingerprint(size))
    assert digests[0] != digests[1]


@pytest.mark.parametrize(
    "kind", [nn.Linear, nn.attention.SDPBackend, collections.OrderedDict, gs.DSGD]
)
def test_a_class_that_a_library_has_counts_by_name(kind: type, monkeypatch: pytest.MonkeyPatch):
    before = fingerprint(kind)
    if kind is not collections.OrderedDict:  # one in C
        monkeypatch.setattr(kind, "extra", 1, raising=False)
    assert fingerprint(kind) == before


def test_an_object_that_a_library_has_counts_by_name():
    """Not by its state, which is another in each process."""
    before = fingerprint(scipy.stats.norm)
    assert fingerprint(scipy.stats.cauchy) != before
    scipy.stats.norm.rvs()
    assert fingerprint(scipy.stats.norm) == before


USES = """
import own_installed.inner

def by_attribute(x):
    return own_installed.f(x)

def by_import(x):
    from own_installed import f

    return f(x)
"""


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("own_installed.py", "own_installed"),
        ("own_installed/__init__.py", "own_installed"),
        ("own_installed/inner.py", "own_installed.inner"),
    ],
)
def test_an_installed_package_counts_by_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, module: str
):
    """Whatever its version says: one's own package may be installed again without a new one."""
    folder = tmp_path / "site-packages"
    path = folder / file
    path.parent.mkdir(parents=True)
    digests = []
    for factor in (1.0, 2.0, 1.0):
        path.write_text(f"def f(x):\n    return {factor} * x\n\nclass Mine:\n    rate = {factor}\n")
        load(folder, "own_installed", monkeypatch)
        assert is_library_module(module), "wherever the folder is"
        own, user = importlib.import_module(module), {"__name__": "__main__"}
        exec(USES.replace("own_installed.inner", module), user)
        _of_files.cache_clear()
        parts = (own, own.f, own.Mine, own.Mine(), user["by_attribute"], user["by_import"])
        digests.append([fingerprint(part) for part in parts])
    assert digests[0] == digests[2]
    assert not set(digests[0]) & set(digests[1])


def test_hooks_count_by_what_they_do_and_not_by_how_many_there_were_before():
    def modules(*hooks: Callable[..., None]) -> list[nn.Module]:
        made = [nn.ReLU() for _ in hooks]
        for module, hook in zip(made, hooks, strict=True):
            module.register_forward_hook(hook)
        return made

    def other(*_: object) -> None:
        return print("other")

    def silent(*_: object) -> None:
        return None

    first, same, another = map(fingerprint, modules(silent, silent, other))
    assert first == same
    assert len({first, another, fingerprint(nn.ReLU())}) == 3
