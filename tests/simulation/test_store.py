"""A store computes what is missing, and nothing is lost or different."""

import csv
import random
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from algorithms.table import TABLE, Row
from processes import context

import gossamer as gs
from gossamer.simulation import stored_runs
from gossamer.simulation.simulation import LANES, Simulation
from gossamer.simulation.step import numeric
from gossamer.watch import stores

PROBLEM, NOISE = gs.Quadratic(6, 5, seed=3), gs.StudentT(1.5)
NETWORKS = {
    "ring": gs.ring(6),
    "lost and compressed": gs.ring(6).drops(0.2).compressed(gs.TopK(0.4)),
    "random matching": gs.random_matching(6),
}
SMALL = {"lr": [0.01, 0.05, 0.1, 1e308], "clip": [0.1, 1.0, 5.0, 1e300]}  # the last one diverges
LARGE = {"lr": [0.01, 0.02, 0.05, 0.1, 0.2, 1e308], "clip": [0.1, 0.5, 1.0, 2.0, 5.0, 1e300]}


def sweep(grid, steps: int, seeds: int, network: gs.Network = NETWORKS["ring"], **how) -> gs.Sweep:
    task = {"noise": NOISE, "steps": steps, "seeds": range(seeds)}
    return gs.sweep(gs.DSGDGClip, grid, PROBLEM, network, **task, **how)


def assert_same(one: gs.Sweep | gs.Run, other: gs.Sweep | gs.Run) -> None:
    assert one.metrics.keys() == other.metrics.keys()
    for name, values in one.metrics.items():
        assert torch.equal(values, other.metrics[name]), name
    assert torch.equal(one.x.nan_to_num(), other.x.nan_to_num())
    assert torch.equal(one.diverged_at, other.diverged_at)
    assert torch.equal(one.steps_taken, other.steps_taken)


@pytest.mark.parametrize("strategy", ["grid", "halving"])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())
def test_seeds_settings_and_steps_that_are_added_are_computed_and_nothing_else(
    tmp_path: Path, network: gs.Network, strategy
):
    store = gs.Store(tmp_path / "grown", seconds=0.01)
    how = {"network": network, "strategy": strategy, "store": store}
    sizes = [(SMALL, 50, 2), (SMALL, 50, 4), (LARGE, 50, 4), (LARGE, 100, 4)]
    steps = [sweep(*size, **how).run_steps for size in sizes]
    one_go = gs.Store(tmp_path / "one go")
    whole = sweep(LARGE, 100, 4, network=network, strategy=strategy, store=one_go)
    assert (whole.diverged_at >= 0).any()
    before = store.computed
    assert_same(sweep(*sizes[-1], **how), whole)
    assert store.computed == before, "nothing was missing"
    assert one_go.computed == whole.run_steps == steps[-1]
    if strategy == "grid":  # a halving of fewer settings may follow some that it would not of more
        assert store.computed == whole.run_steps


def test_a_shorter_run_and_some_of_the_seeds_are_there_too(tmp_path: Path):
    store = gs.Store(tmp_path)
    sweep(SMALL, 100, 3, store=store)
    sweep(SMALL, 400, 3, store=store)
    before = store.computed
    assert_same(sweep(SMALL, 100, 2, store=store), sweep(SMALL, 100, 2, store=tmp_path / "new"))
    assert store.computed == before
    method = gs.DSGDGClip(lr=0.05, clip=1.0)
    run = gs.simulate(
        method,
        PROBLEM,
        NETWORKS["ring"],
        noise=NOISE,
        steps=400,
        seeds=range(3),
        metrics=["error"],
        store=store,
    )
    assert store.computed == before, "a sweep has the runs of one setting"
    assert run.final().isfinite().all()


def test_what_was_not_recorded_is_computed_again(tmp_path: Path):
    store = gs.Store(tmp_path)
    task = (gs.DSGD(0.1), PROBLEM, NETWORKS["ring"])
    gs.simulate(*task, steps=400, metrics=["error"], store=store)
    gs.simulate(*task, steps=400, metrics=["error", "loss"], store=store)
    assert store.computed == 800
    gs.simulate(*task, steps=400, metrics=["loss"], store=store)
    assert store.computed == 800
    gs.simulate(*task, steps=400, metrics=["loss"], record_every=3, store=store)
    assert store.computed == 1200


def test_a_run_is_known_by_what_it_is_of(tmp_path: Path):
    store = gs.Store(tmp_path)
    tasks = [
        {},
        {"network": gs.complete(6)},
        {"noise": gs.StudentT(1.5, scale=2.0)},
        {"problem": gs.Quadratic(6, 5, seed=4)},
        {"dtype": torch.float32},
        {"algorithm": gs.DSGD(0.2)},
        {"seeds": [1]},
    ]
    usual = {"algorithm": gs.DSGD(0.1), "problem": PROBLEM, "network": NETWORKS["ring"]}
    for number, other in enumerate(tasks, start=1):
        gs.simulate(**(usual | {"noise": NOISE, "steps": 20} | other), store=store)
        assert store.computed == 20 * number


def test_own_code_that_changes_is_other_code(tmp_path: Path):
    store, factor = gs.Store(tmp_path), 1.0

    class Mine(gs.DSGD):
        def step(self, t, x, grad, state, mix):
            return super().step(t, x, factor * grad, state, mix)

    def run() -> torch.Tensor:
        return gs.simulate(Mine(0.1), PROBLEM, NETWORKS["ring"], steps=20, store=store).final()

    first = run()
    assert torch.equal(run(), first)
    assert store.computed == 20
    factor = 2.0
    assert not torch.equal(run(), first)
    assert store.computed == 40


def test_comments_and_what_stands_beside_a_function_do_not_count(tmp_path: Path):
    store, ways = gs.Store(tmp_path), []
    ways.append((lambda t: 0.1 / (t + 1), lambda x, c: (x - c).square().sum()))
    ways.append((lambda t: 0.1 / (t + 1), lambda x, c: (x - c).square().sum(), "more"))  # beside
    for lr, loss, *_ in ways:
        problem = gs.FunctionProblem(loss, [torch.ones(2)] * 6, dim=2)
        gs.simulate(gs.DSGD(lr), problem, NETWORKS["ring"], steps=20, store=store)
    assert store.computed == 20


FACTOR = 1.0


class Mine(gs.DSGD):
    def step(self, t, x, grad, state, mix):
        return super().step(t, x, FACTOR * grad, state, mix)


@gs.metric()
def size(stack: gs.Stack) -> torch.Tensor:
    return FACTOR * stack.x.norm(dim=-1).mean(0)


@pytest.mark.parametrize(
    ("method", "metric"),
    [(gs.PushSum(Mine(0.1)), "error"), (gs.DSGD(0.1), size)],
    ids=["push-sum", "metric"],
)
def test_own_code_that_hides_behind_a_name_is_seen(tmp_path: Path, monkeypatch, method, metric):
    store = gs.Store(tmp_path)

    def final() -> torch.Tensor:
        how = {"steps": 20, "metrics": [metric], "store": store}
        return gs.simulate(method, PROBLEM, NETWORKS["ring"], **how).final()

    first = final()
    assert torch.equal(final(), first)
    assert store.computed == 20
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert not torch.equal(final(), first)
    assert store.computed == 40


BENT = torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def samples(nodes: int, dim: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    sizes = [9 + node % 2 for node in range(nodes)]
    return [(torch.randn(m, dim, generator=generator), torch.arange(m) % 2 * 1.0) for m in sizes]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize(
    "problem",
    [
        gs.LogisticRegression(samples(4, 7)),
        gs.LogisticRegression(samples(4, 5), batch_size=3, penalty=gs.NonconvexPenalty(0.1)),
        gs.LeastSquares(samples(4, 13)),
        gs.RobustRegression(4, dim=9, num_samples=80),
    ],
    ids=str,
)
def test_odd_dimensions_are_the_same_bits_too(problem: gs.Problem, dtype: torch.dtype, tmp_path):
    task = (gs.GTNSGDm(0.1, 0.5), problem, gs.ring(4))
    how = {"noise": NOISE, "steps": 60, "dtype": dtype}
    alone = gs.simulate(*task, **how, seeds=[1], store=tmp_path / "alone")
    stacked = gs.simulate(*task, **how, seeds=[0, 1, 2], store=tmp_path / "stacked")
    assert torch.equal(alone.x[:, 0], stacked.x[:, 1])
    for name, values in alone.metrics.items():
        assert torch.equal(values[:, 0], stacked.metrics[name][:, 1]), name


def test_schedules_are_stored_one_by_one(tmp_path: Path):
    store = gs.Store(tmp_path)
    step_sizes = [0.1, gs.Cosine(0.1, 40), gs.Cosine(0.2, 40), gs.WarmUp(0.1, 10), lambda t: 0.3]
    where = {"problem": PROBLEM, "network": NETWORKS["ring"], "noise": NOISE, "steps": 40}
    first = gs.sweep(gs.DSGD, {"lr": step_sizes[:3]}, store=store, **where)
    assert store.computed == 3 * 40
    more = gs.sweep(gs.DSGD, {"lr": step_sizes}, store=store, **where)
    assert store.computed == 5 * 40
    assert torch.equal(more.x[:, :3], first.x)
    alone = gs.simulate(gs.DSGD(gs.Cosine(0.2, 40)), store=store, metrics=["error"], **where)
    assert store.computed == 5 * 40
    assert torch.equal(alone.x[:, 0], first.x[:, 2, 0])
    gs.simulate(gs.DSGD(lambda t: 0.4), store=store, metrics=["error"], **where)
    assert store.computed == 6 * 40


@pytest.mark.parametrize("dim", [5, 40])
def test_a_run_is_the_same_bits_whatever_is_stacked(tmp_path: Path, dim: int):
    """Few numbers: stacked with copies of itself; many: alone."""
    problem, seeds = gs.Quadratic(60, dim), 7
    lanes = LANES if dim == 5 else 1
    task = (gs.GTNSGDm(0.01, 0.9), problem, gs.ring(60))
    where = {"noise": NOISE, "steps": 40, "metrics": ["error", "loss"]}
    stacked = gs.simulate(*task, **where, seeds=range(seeds), store=tmp_path / "stacked")
    for seed in range(seeds):
        alone = gs.simulate(*task, **where, seeds=seed, store=tmp_path / "alone")
        assert torch.equal(alone.x[:, 0], stacked.x[:, seed])
        assert torch.equal(alone.metrics["loss"][:, 0], stacked.metrics["loss"][:, seed])
    assert lanes * 60 * dim * 8 <= 3 * 2**19


def test_on_a_gpu_stored_runs_are_stacked_as_others_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    task = {"problem": PROBLEM, "network": NETWORKS["ring"], "steps": 1, "device": "cuda"}
    stored, others = (Simulation(**task, alike=alike) for alike in (True, False))
    assert stored.stack_width == others.stack_width > LANES


VARIED = [(row, name) for row in TABLE for name in numeric(type(row.algorithm))]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize(("row", "name"), VARIED, ids=str)
def test_a_run_is_the_same_bits_beside_other_settings(row: Row, name: str, dtype, tmp_path: Path):
    """A number that all runs of a stack share, and one of many: the same roundings."""
    problem = gs.FunctionProblem(lambda x, a: (8 * (a @ x)).tanh().square().sum(), BENT, dim=5)
    h, task = row.algorithm.hyperparameters, (problem, gs.ring(4))
    how = {"noise": NOISE, "steps": 25, "seeds": [3], "dtype": dtype, "metrics": ["loss"]}
    grid = {**{k: [v] for k, v in h.items()}, name: [h[name], 0.77 * h[name]]}
    alone = gs.simulate(row.algorithm, *task, store=tmp_path / "alone", **how)
    swept = gs.sweep(type(row.algorithm), grid, *task, store=tmp_path / "swept", **how)
    assert torch.equal(alone.x[:, 0], swept.runs(0).x[:, 0])


SCHEDULES = [
    gs.InversePower(0.3, 0.4),
    gs.Linear(0.3, 17.0, 0.07),
    gs.Cosine(0.3, 19.0, 0.07),
    gs.WarmUp(gs.InversePower(0.3, 0.7), 7.0),
]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_a_schedule_is_the_same_bits_beside_others(schedule: gs.Schedule, dtype, tmp_path: Path):
    how = {"noise": NOISE, "steps": 25, "seeds": [3], "dtype": dtype, "metrics": ["loss"]}
    others = [gs.InversePower(0.2), gs.Linear(0.2, 9), gs.Cosine(0.1, 5), gs.WarmUp(0.1, 3)]
    grid = {"lr": [schedule, *others], "clip": [schedule, 0.3]}
    task = (gs.Quadratic(4, 5), gs.ring(4))
    alone = gs.simulate(gs.DSGDGClip(schedule, schedule), *task, store=tmp_path / "alone", **how)
    swept = gs.sweep(gs.DSGDGClip, grid, *task, store=tmp_path / "swept", **how)
    assert torch.equal(alone.x[:, 0], swept.runs(0).x[:, 0])


def halve(folder: Path) -> None:
    sweep(LARGE, 4000, 4, store=gs.Store(folder, seconds=0.005), strategy="halving")


def kill_one_who_has_stored(folder: Path, chance: random.Random) -> None:
    before = len(list(folder.rglob("*.safetensors")))
    process = context.Process(target=halve, args=(folder,))
    process.start()
    while len(list(folder.rglob("*.safetensors"))) <= before:
        time.sleep(0.001)
    time.sleep(chance.uniform(0, 0.01))
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_ten_kills_lose_nothing(tmp_path: Path):
    chance = random.Random(0)
    for _ in range(10):
        kill_one_who_has_stored(tmp_path / "killed", chance)
    store = gs.Store(tmp_path / "killed")
    found = sweep(LARGE, 4000, 4, store=store, strategy="halving")
    assert store.computed < found.run_steps
    assert_same(found, sweep(LARGE, 4000, 4, store=tmp_path / "whole", strategy="halving"))


class Interrupted(Exception):
    """What ends a search on its way."""


def interrupt_at_20(recorded: gs.Recorded) -> None:
    if recorded.step >= 20:
        raise Interrupted


def fourth_power(x: torch.Tensor, centre: torch.Tensor) -> torch.Tensor:
    return ((x - centre) ** 4).sum()


def test_runs_that_diverge_while_others_of_their_setting_go_on_are_told(tmp_path: Path):
    problem = gs.FunctionProblem(fourth_power, torch.zeros(4, 3), dim=3)
    how = {"strategy": gs.Halving([(0.5, 1.0), (0.75, 1.0)]), "record_every": 4}
    task = (gs.DSGD, {"lr": [0.005, 0.05]}, problem, gs.complete(4))
    how |= {"noise": gs.StudentT(1.2), "steps": 80, "seeds": range(5)}
    whole = gs.sweep(*task, store=tmp_path / "whole", **how)
    assert whole.diverged_at[1].tolist() == [32, -1, -1, 30, 56]
    store = gs.Store(tmp_path / "interrupted", seconds=1e-9)
    with pytest.raises(Interrupted):
        gs.sweep(*task, store=store, on_record=interrupt_at_20, **how)
    assert_same(gs.sweep(*task, store=store, **how), whole)


def share_of_the_work(folder: Path) -> float:
    store = gs.Store(folder, seconds=0.02)
    run_steps = sweep(LARGE, 1000, 4, store=store).run_steps
    return store.computed / run_steps


def test_two_processes_share_a_folder(tmp_path: Path):
    """The second waits for the first and computes nothing."""
    shared = tmp_path / "shared"
    with ProcessPoolExecutor(2, context) as pool:
        assert sorted(pool.map(share_of_the_work, [shared, shared])) == [0, 1]
    store = gs.Store(shared)
    found = sweep(LARGE, 1000, 4, store=store)
    assert store.computed == 0
    assert_same(found, sweep(LARGE, 1000, 4, store=tmp_path / "whole"))


def test_a_first_record_that_takes_long_is_found_again(tmp_path: Path):
    @gs.metric()
    def slow(stack: gs.Stack) -> torch.Tensor:
        time.sleep(0.2 if stack.t == 0 else 0)
        return stack.x.mean((0, 2))

    task = (gs.DSGD(0.1), PROBLEM, NETWORKS["ring"])
    computed = []
    for _ in range(2):
        store = gs.Store(tmp_path, seconds=0.1)
        gs.simulate(*task, steps=200, metrics=[slow], store=store)
        computed.append(store.computed)
    assert computed == [200, 0]


def test_own_noise_is_the_same_after_it_was_used(tmp_path: Path):
    store, noise = gs.Store(tmp_path), gs.SampledNoise(drawn)
    for _ in range(3):
        gs.simulate(gs.DSGD(0.1), PROBLEM, NETWORKS["ring"], noise=noise, steps=20, store=store)
    assert store.computed == 20


class Described(gs.Quadratic):
    def describe(self) -> dict[str, object]:
        return {"type": "Described", "scale": np.float32(0.5), "curvature": torch.ones(2)}


def test_a_description_may_hold_numbers_of_numpy_and_torch(tmp_path: Path):
    gs.simulate(gs.DSGD(0.1), Described(6, 5), NETWORKS["ring"], steps=2, store=tmp_path)
    (task,) = gs.Store(tmp_path).tasks()
    assert task.facts["problem"] == {"type": "Described", "scale": 0.5, "curvature": [1.0, 1.0]}


def drawn(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def test_a_damaged_file_is_named(tmp_path: Path):
    sweep(SMALL, 20, 1, store=tmp_path)
    path = next(tmp_path.rglob("*.records.safetensors"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(gs.InvalidInput, match=f"store: {path} is damaged"):
        sweep(SMALL, 20, 1, store=tmp_path)


@pytest.mark.parametrize("word", ["problem", "network", "noise", "dtype"])
def test_a_damaged_description_is_named(tmp_path: Path, word: str):
    sweep(SMALL, 20, 1, store=tmp_path)
    (path,) = tmp_path.glob("*/task.json")
    path.write_text(path.read_text().replace(f'"{word}"', f'"{word.upper()}"'))
    with pytest.raises(gs.InvalidInput, match=f"store: {path} is damaged"):
        gs.Store(tmp_path).tasks()[0].words  # noqa: B018


@pytest.mark.parametrize("kind", ["records", "state"])
def test_a_changed_byte_is_noticed(tmp_path: Path, kind: str):
    sweep(SMALL, 20, 1, store=tmp_path)
    path = next(tmp_path.rglob(f"*.{kind}.safetensors"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(gs.InvalidInput, match=f"store: {path} is damaged .*checksum is wrong"):
        sweep(SMALL, 40, 1, store=tmp_path)


def test_every_file_of_records_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = gs.Store(tmp_path / "runs", seconds=0.01)
    for steps, seeds in ((20, 1), (40, 1), (40, 2)):
        sweep(SMALL, steps, seeds, store=store)
    asked: list[Path] = []

    def counted(path: Path, *words: str) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
        asked.append(path)
        return read_sealed(path, *words)

    read_sealed = stored_runs.read_sealed
    monkeypatch.setattr(stored_runs, "read_sealed", counted)
    for use in (
        lambda: sweep(SMALL, 60, 2, store=store),
        lambda: store.export(tmp_path / "all.csv"),
        lambda: stores.read(store.folder),
    ):
        files = sorted(store.folder.rglob("*.records.safetensors"))
        asked.clear()
        use()
        assert sorted(path for path in asked if path in files) == files
        assert len(files) >= 3


def test_runs_whose_state_is_gone_begin_anew(tmp_path: Path):
    store = gs.Store(tmp_path)
    sweep(SMALL, 20, 1, store=store)
    for path in tmp_path.rglob("*.state.safetensors"):
        path.unlink()
    before = store.computed
    assert_same(sweep(SMALL, 40, 1, store=store), sweep(SMALL, 40, 1, store=tmp_path / "new"))
    assert store.computed > before


def test_a_seed_that_is_given_twice_is_found_twice(tmp_path: Path):
    store, grid = gs.Store(tmp_path), {"lr": [0.1, 1e308], "clip": [1.0, 1e300]}
    how = {"noise": NOISE, "seeds": [1, 1, 2]}

    def found(steps: int, store: gs.Store | Path) -> gs.Sweep:
        return gs.sweep(
            gs.DSGDGClip, grid, PROBLEM, NETWORKS["ring"], steps=steps, store=store, **how
        )

    assert (found(20, store).diverged_at >= 0).any()
    computed = store.computed
    assert_same(found(20, store), found(20, tmp_path / "short"))
    assert store.computed == computed
    longer = found(40, store)
    assert_same(longer, found(40, tmp_path / "long"))
    computed = store.computed
    assert_same(found(40, store), longer)
    assert store.computed == computed


def test_runs_that_were_stored_once_are_found_for_a_seed_given_twice(tmp_path: Path):
    store, how = gs.Store(tmp_path), {"noise": NOISE, "steps": 20, "metrics": ["error"]}
    task = (gs.DSGD(0.1), PROBLEM, NETWORKS["ring"])
    once = gs.simulate(*task, seeds=[2, 1], store=store, **how)
    twice = gs.simulate(*task, seeds=[1, 2, 1], store=store, **how)
    assert store.computed == 40
    assert torch.equal(twice.x, once.x[:, [1, 0, 1]])
    assert torch.equal(twice.metrics["error"], once.metrics["error"][:, [1, 0, 1]])


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ([0.1, gs.Linear(0.1, 10)], [0.1]),
        ([1, gs.Linear(0.1, 10)], [1.0]),
        ([gs.Linear(1, 10)], [gs.Linear(1.0, 10.0)]),
        ([gs.WarmUp(gs.Cosine(1, 10), 5)], [gs.WarmUp(gs.Cosine(1.0, 10.0), 5.0)]),
        ([gs.Linear(0.1, 10), gs.Linear(0.2, 20)], [gs.Linear(0.1, 10)]),
        ([gs.Linear(np.float64(0.1), np.int64(10))], [gs.Linear(0.1, 10)]),
    ],
)
def test_equal_hyperparameters_are_one_however_they_are_written(tmp_path: Path, one, same):
    store = gs.Store(tmp_path)
    for grid in (one, same):
        gs.sweep(gs.DSGD, {"lr": grid}, PROBLEM, NETWORKS["ring"], steps=20, store=store)
        assert store.computed == 20 * len(one)


def test_a_number_that_several_files_hold_is_exported_once(tmp_path: Path):
    store = gs.Store(tmp_path / "store")
    for steps in (200, 100):
        gs.simulate(gs.DSGD(0.1), PROBLEM, NETWORKS["ring"], steps=steps, seeds=[1, 1], store=store)
    rows = store.export(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        names, *numbers = csv.reader(file)
    what = [tuple(row[:-1]) for row in numbers]
    assert names[-1] == "value"
    assert len(set(what)) == len(what) == rows
    of_one = {int(row[7]) for row in numbers if row[8] == "error"}
    assert of_one == {*range(101), *range(100, 201, 2)}


def test_a_call_that_would_wait_for_itself_is_refused(tmp_path: Path):
    """On the same task, within `on_record`; on another task it goes ahead."""
    network, inner = NETWORKS["ring"], []

    def run(problem: gs.Problem, on_record=None) -> gs.Run:
        how = {"steps": 4, "store": tmp_path, "on_record": on_record}
        return gs.simulate(gs.DSGD(0.1), problem, network, **how)

    run(PROBLEM, lambda one: inner.append(run(gs.Quadratic(6, 2))))
    assert len(inner) == 5
    with pytest.raises(gs.InvalidInput, match="need a folder that no call around"):
        run(gs.Quadratic(6, 3), lambda one: run(gs.Quadratic(6, 3)))
    assert run(gs.Quadratic(6, 3)).final().isfinite(), "the folder is free again"


@pytest.mark.parametrize("whole", [np.int64, np.int32, torch.tensor])
def test_steps_may_be_any_integers(tmp_path: Path, whole):
    task = (gs.DSGD(0.1), PROBLEM, NETWORKS["ring"])
    plain = gs.simulate(*task, steps=50, record_every=5, store=tmp_path / "plain")
    for folder in (None, tmp_path / "plain", tmp_path / "new"):
        run = gs.simulate(*task, steps=whole(50), record_every=whole(5), store=folder)
        assert run.steps.tolist() == plain.steps.tolist()
        assert run.config["steps"] == 50
        assert run.config["record_every"] == 5
        torch.testing.assert_close(run.x, plain.x)


def test_half_written_files_of_others_are_not_merged(tmp_path: Path):
    sweep(SMALL, 8, 1, store=tmp_path / "whole")
    (task,) = (tmp_path / "whole").glob("*/")
    (task / ".000-001.records.safetensors.4711.partial").write_bytes(b"half")
    target = gs.Store(tmp_path / "target")
    files = sum(not path.name.startswith(".") for path in task.iterdir())
    assert target.merge(tmp_path / "whole") == files
    assert not list(target.folder.glob("*/*.partial"))
