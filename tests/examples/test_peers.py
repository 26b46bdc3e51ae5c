"""The page of peers is what its results say, and the peers' forms are what they are called."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

import gossamer as gs

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A file of the benchmark, imported the way its scripts import each other."""
    monkeypatch.syspath_prepend(PEERS)
    spec = importlib.util.spec_from_file_location(name, PEERS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_written_from_the_results(monkeypatch):
    report = load("report", monkeypatch)
    results = json.loads(report.RESULTS.read_text())
    assert (report.DOCS / "peers.md").read_text() == report.page(results)
    assert max(row["gap"] for row in results["rows"]) < 1e-10
    agreement = results["agreement"]["rows"]
    assert len(agreement) == 5
    assert max(row["gap"] for row in agreement) < 1e-9


def test_a_missing_peer_is_named_with_its_reason(monkeypatch):
    report = load("report", monkeypatch)
    results = json.loads(report.RESULTS.read_text())
    results["missing"] = {"DISROPT": "needs mpirun"}
    results["agreement"]["missing"] = {"decent-bench": "needs python3.13"}
    assert "DISROPT is missing: needs mpirun.\n" in report.page(results)
    assert "decent-bench is missing: needs python3.13.\n" in report.page(results)


def test_dgd_is_dsgd_gclip_in_the_other_order_without_clipping(monkeypatch):
    """As the page says: its error is that of decent-bench's class in the second table."""
    report, losses = load("report", monkeypatch), load("losses", monkeypatch)
    rows = json.loads(report.RESULTS.read_text())["losses"]["rows"]
    ((theirs,),) = [r["errors"] for r in rows if (r["method"], r["network"]) == ("DGD", "whole")]
    task = load("task", monkeypatch).make_task(losses.NODES, rounds=losses.ROUNDS, repetitions=1)
    hessians, linear = torch.tensor(task.hessians), torch.tensor(task.linear)
    method = gs.DSGDGClip(losses.SLOWER * task.lr, clip=1e9, order="combine-then-adapt")
    x, mixer = torch.zeros_like(linear), gs.ring(losses.NODES).mixer()
    state = method.init(x)
    for t in range(task.rounds):
        grad = torch.einsum("nij,nj->ni", hessians, x) + linear
        x, state = method.step(t, x, grad, state, mixer)
    assert task.error(x.numpy()) == pytest.approx(theirs, rel=1e-12)


def test_the_forms_of_tracking_find_the_optimum_and_the_others_stop_near_it(monkeypatch):
    """On the benchmark's own task, with its own networks, ten times its rounds."""
    for name in ("task", "forms"):
        load(name, monkeypatch)
    cases = load("cases", monkeypatch)
    for case in cases.CASES.values():
        task = sys.modules["task"].make_task(case.network.num_nodes, rounds=5000, repetitions=1)
        hessians, linear = torch.tensor(task.hessians), torch.tensor(task.linear)
        x = torch.zeros_like(linear)
        algorithm = case.algorithm(task)
        state = algorithm.init(x)
        mixers = [case.network.at(t).mixer() for t in range(case.network.period)]
        for t in range(task.rounds):
            grad = torch.einsum("nij,nj->ni", hessians, x) + linear
            x, state = algorithm.step(t, x, grad, state, mixers[t % len(mixers)])
        error = task.error(x.numpy())
        assert error < 1e-9 if algorithm.tracker else 1e-3 < error < 0.2
