"""Gossamer beside its peers: same problem, same graph, same update, same number of rounds.

    make peers                                 everything, in about ten minutes
    python benchmarks/peers/run.py --losses    the second table only: it needs no quiet machine
    python benchmarks/peers/run.py --agreement the third table only: likewise
    python benchmarks/peers/run.py --quick     a look, not numbers: writes nothing

Writes benchmarks/peers/results.json, docs/peers.md and docs/images/peers.png. The peers are
installed from the package index into environments of their own (.venvs), which are kept. Every tool
is launched several times, in turns, so that a busy machine disturbs all alike. It is an error if a
peer and Gossamer do not compute the same iterates. The second table, what loss and compression do
to each tool, is about errors, not speed; the third shows that methods which both have are the same.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cases import CASES, STACKED
from environments import ENVIRONMENTS, HERE, Unavailable
from losses import NODES as LOSSY_NODES
from losses import ROUNDS as LOSSY_ROUNDS
from report import RESULTS, write_report
from task import Task, make_task, ring_weights, save

TURNS, REPETITIONS, ROUNDS = 3, 3, 500
NODES = {"one process": 20, "four processes": 4}
TOLERANCE = 1e-10
"""Two tools that compute the same in float64 differ by rounding only."""

AGREE = 1e-9
"""Likewise, of methods that sum up their rounding errors."""


@dataclass(frozen=True)
class Tool:
    """How a script is launched, and on which task."""

    script: str
    nodes: int
    python: Callable[[], str] = lambda: sys.executable
    launcher: str = ""
    """"torchrun" or "mpirun" for one process per node."""

    def command(self, task: str) -> list[str]:
        run, count = [self.python(), str(HERE / self.script), task], str(self.nodes)
        if self.launcher == "torchrun":
            run[1:1] = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", count]
        if self.launcher == "mpirun":
            root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
            run[:0] = ["mpirun", *root, "--oversubscribe", "-n", count]
        return run


TOOLS = {
    "Gossamer, simulator": Tool("with_gossamer.py", 20),
    "decent-bench": Tool("with_decent_bench.py", 20, ENVIRONMENTS["decent-bench"].python),
    "Gossamer, four nodes simulated": Tool("with_gossamer.py", 4),
    "Gossamer, processes": Tool("with_gossamer_processes.py", 4, launcher="torchrun"),
    "DISROPT": Tool("with_disropt.py", 4, ENVIRONMENTS["DISROPT"].python, "mpirun"),
    "decent-dp": Tool("with_decent_dp.py", 4, ENVIRONMENTS["decent-dp"].python, "torchrun"),
}


AGREEING_TOOLS = {
    "decent-bench": Tool("with_decent_bench_agreement.py", 20, ENVIRONMENTS["decent-bench"].python),
    "Gossamer": Tool("with_gossamer_agreement.py", 20),
}

LOSSY_TOOLS = {
    "decent-bench": Tool(
        "with_decent_bench_losses.py", LOSSY_NODES, ENVIRONMENTS["decent-bench"].python
    ),
    "Gossamer": Tool("with_gossamer_losses.py", LOSSY_NODES),
}


def launch(tool: Tool, task: str, timeout: float = 180) -> list[dict[str, Any]]:
    """What a tool answered, one record per case."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        tool.command(task), env=environment, capture_output=True, text=True, timeout=timeout
    )
    if done.returncode:
        raise Unavailable(f"ended with: {done.stderr.strip().splitlines()[-1]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def measure(turns: int, tasks: dict[int, Task]) -> tuple[dict[str, Any], dict[str, str]]:
    """Case → seconds of all repetitions, final x and version; and why a peer is missing."""
    found: dict[str, Any] = {}
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = {n: str(Path(folder) / f"task-{n}.npz") for n in tasks}
        for n, task in tasks.items():
            save(task, paths[n])
        for turn in range(turns):
            for name, tool in TOOLS.items():
                if name in missing:
                    continue
                print(f"turn {turn + 1} of {turns}: {name}", file=sys.stderr, flush=True)
                try:
                    records = launch(tool, paths[tool.nodes])
                except (Unavailable, subprocess.TimeoutExpired) as reason:
                    if name not in ENVIRONMENTS:
                        raise
                    missing[name] = str(reason)
                    continue
                for record in records:
                    held = found.setdefault(record["case"], {**record, "seconds": []})
                    held["seconds"] += record["seconds"]
    return found, missing


def compared(found: dict[str, Any], tasks: dict[int, Task]) -> list[dict[str, Any]]:
    """One row per case and tool: rounds per second, error reached, distance from our iterates."""
    rows = []
    for name, case in CASES.items():
        task = tasks[case.network.num_nodes]
        ours = np.array(found[f"{name}: simulator"]["x"])
        for key in (name, f"{name}: processes", f"{name}: simulator", f"{name}: {STACKED} stacked"):
            if key in found:
                x = at_same_point(name, key, np.array(found[key]["x"]))
                gap = float(np.abs(x - ours).max())
                assert gap < TOLERANCE, f"not the same computation: {key} ends {gap:g} apart"
                runs = STACKED if key.endswith("stacked") else 1
                tool = f"Gossamer, {key.split(': ')[1]}" if ": " in key else case.peer
                rows.append(
                    {
                        "case": name,
                        "update": case.update,
                        "tool": tool,
                        "version": found[key]["version"],
                        "rounds per second": [
                            runs * task.rounds / s for s in found[key]["seconds"]
                        ],
                        "error": task.error(x),
                        "gap": gap,
                    }
                )
    return rows


def measure_losses(rounds: int) -> dict[str, Any]:
    """Final errors of every tool's methods on a ring that loses or compresses messages."""
    task = make_task(LOSSY_NODES, rounds, 1)
    found, missing = ask_once(LOSSY_TOOLS, task, "loss and compression", timeout=1800)
    rows = [{"tool": name, **record} for name, records in found.items() for record in records]
    return {"date": date.today().isoformat(), "rounds": rounds, "missing": missing, "rows": rows}


def ask_once(
    tools: dict[str, Tool], task: Task, about: str, timeout: float = 180
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """Tool → its records; and why a peer is missing."""
    found: dict[str, list[dict[str, Any]]] = {}
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "task.npz")
        save(task, path)
        for name, tool in tools.items():
            print(f"{about}: {name}", file=sys.stderr, flush=True)
            try:
                found[name] = launch(tool, path, timeout)
            except (Unavailable, subprocess.TimeoutExpired) as reason:
                if name not in ENVIRONMENTS:
                    raise
                missing[name] = str(reason)
    return found, missing


def measure_agreement(rounds: int) -> dict[str, Any]:
    """How far apart the tools end, of every method that both have."""
    task = make_task(20, rounds, 1)
    records, missing = ask_once(AGREEING_TOOLS, task, "the same iterates")
    found = {k: {one["case"]: np.array(one["x"]) for one in ones} for k, ones in records.items()}
    theirs, ours = found.get("decent-bench", {}), found["Gossamer"]
    rows = [
        {"method": name, "error": task.error(x), "gap": float(np.abs(x - ours[name]).max())}
        for name, x in theirs.items()
    ]
    assert all(row["gap"] < AGREE for row in rows), f"not the same computation: {rows}"
    return {"date": date.today().isoformat(), "rounds": rounds, "missing": missing, "rows": rows}


def at_same_point(case: str, key: str, x: np.ndarray) -> np.ndarray:
    """DISROPT's DSGD begins a round with the mixing that ends ours: mix once more."""
    return ring_weights(4) @ x if case == key == "four on a ring, DSGD" else x


def machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.split(": ")[1] for line in lines if line.startswith("model name")]
    return {
        "date": date.today().isoformat(),
        "cpu": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "load before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def measure_speed(quick: bool) -> dict[str, Any]:
    """The first table: rounds per second, and that all compute the same."""
    rounds, repetitions, turns = (50, 2, 1) if quick else (ROUNDS, REPETITIONS, TURNS)
    facts = machine()
    tasks = {n: make_task(n, rounds, repetitions) for n in NODES.values()}
    found, missing = measure(turns, tasks)
    return {
        "machine": facts,
        "problem": {"dim": 20, "rounds": rounds, "launches": turns, "repetitions": repetitions},
        "missing": missing,
        "rows": compared(found, tasks),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="50 rounds once, write nothing")
    parser.add_argument("--losses", action="store_true", help="only what loss and compression do")
    parser.add_argument("--agreement", action="store_true", help="only that iterates are the same")
    options = parser.parse_args(arguments)
    one = options.losses or options.agreement
    results = json.loads(RESULTS.read_text()) if one else measure_speed(options.quick)
    if options.losses or not one:
        results["losses"] = measure_losses(50 if options.quick else LOSSY_ROUNDS)
    if options.agreement or not one:
        results["agreement"] = measure_agreement(50 if options.quick else ROUNDS)
    if options.quick:
        print(json.dumps(results, indent=1))
    else:
        write_report(results)


if __name__ == "__main__":
    main()
