"""How fast is a sweep? Against hand-written JAX, and as runs, nodes and dimensions grow.

    make benchmark            everything: prints tables, writes benchmarks/sweep.json
    python benchmarks/sweep.py --only jax       only the comparison
    python benchmarks/sweep.py --only growth    only the growth
    python benchmarks/sweep.py --only growth --growth "random regular"      one of its tables
    python benchmarks/sweep.py --device cuda    on a GPU, where JAX is not compared; writes
                                                benchmarks/sweep_cuda.json
    python benchmarks/sweep.py --one-core       CPU time on one core: holds on a busy machine too

The workload is the paper's synthetic study: GT-NSGDm, 2-hop ring of 20 nodes, robust regression,
0.1 × S(1.5, 0.5) noise, 143 hyper-parameters × 5 seeds, float32.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from speeds import GROWN, GROWTH_WITH, Speed, keep, machine

import gossamer as gs
from gossamer.simulation.noise_stream import block_steps

SETTINGS, SEEDS, STEPS, SINGLE_STEPS, REPETITIONS = 143, 5, 1000, 20_000, 5
LR = torch.linspace(0.001, 0.1, SETTINGS).tolist()
MOMENTUM = 0.8
GOALS = {"sweep": 0.5, "single run": 1.0}

NETWORKS: dict[str, Callable[[int], gs.Network]] = {
    "ring": gs.ring,
    "torus": lambda n: gs.torus(n // 50, 50),
    "regular": lambda n: gs.random_regular(n, degree=4),
    "lossy": lambda n: gs.ring(n).drops(0.1, both_ways=True),
    "matching": gs.random_matching,
}
PROBLEMS: dict[str, Callable[[int, int], gs.Problem]] = {
    "quadratic": gs.Quadratic,
    "regression": lambda n, dim: gs.RobustRegression(n, num_samples=10 * n, dim=dim),
}

MANY = [100, 1000, 2500, 5000, 10_000]
GROWTH: dict[str, tuple[str, list[int], dict[str, Any]]] = {
    "number of runs, 20 nodes, 20 dimensions": ("runs", [1, 10, 100, 1000, 5000], {}),
    "number of nodes, ring": ("nodes", [8, *MANY], {}),
    "number of nodes, torus": ("nodes", MANY, {"network": "torus"}),
    "number of nodes, random regular graph": ("nodes", MANY, {"network": "regular"}),
    "number of nodes, robust regression": (
        "nodes", MANY, {"network": "regular", "problem": "regression"}
    ),
    "number of nodes, lossy ring": ("nodes", MANY, {"network": "lossy"}),
    "number of nodes, random matching": ("nodes", MANY, {"network": "matching"}),
    "dimension, 8 nodes": ("dim", [20, 1000, 100_000, 1_000_000], {"nodes": 8}),
    "dimension, 64 nodes": ("dim", [20, 1000, 100_000, 1_000_000], {"nodes": 64}),
}  # fmt: skip
"""What grows → its name, its sizes, and what stays."""

STEPS_OF_GROWTH = {"cpu": (1024, 5 * 10**7, 1), "cuda": (4096, 5 * 10**9, 8)}
"""The most steps, the most numbers that they write together, and blocks of steps before them, after
which a GPU replays graphs."""

LARGE, FLAT = 50_000, 1.5
"""From so many numbers on, the cost of one must not change by more than this factor."""

STORES = {
    "cpu": Path(__file__).with_name("sweep.json"),
    "cuda": Path(__file__).with_name("sweep_cuda.json"),
}

MEASURED = {
    "cpu": "wall time on all cores",
    "one core": "CPU time on one core",
    "cuda": "wall time",
}

Times = dict[str, list[float]]
clock = time.perf_counter
console = Console(width=100)


def seconds(call: Callable[[], object]) -> float:
    start = clock()
    call()
    return clock() - start


def use_one_core() -> None:
    """Pin everything to one core and count the time that it worked for us."""
    global clock
    clock = time.process_time
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)


def interleaved(calls: dict[str, Callable[[], object]], repetitions: int) -> Times:
    """Seconds of each call, taken in turns so that a busy machine disturbs all alike."""
    for call in calls.values():
        call()  # compile, fill caches
    times: Times = {name: [] for name in calls}
    for _ in range(repetitions):
        for name, call in calls.items():
            times[name].append(seconds(call))
    return times


def our_sweep(noise: gs.Noise | None, steps: int = STEPS, device: str = "cpu") -> gs.Sweep:
    return gs.sweep(
        gs.GTNSGDm,
        {"lr": LR, "momentum": [MOMENTUM]},
        gs.RobustRegression(num_nodes=20, seed=0),
        gs.ring(20, hops=2),
        noise=noise,
        steps=steps,
        seeds=range(SEEDS),
        record_every=steps,
        dtype=torch.float32,
        device=device,
    )


def our_run(
    problem: gs.Problem, network: gs.Network, noise: gs.Noise | None, steps: int = SINGLE_STEPS
) -> gs.Run:
    return gs.simulate(
        gs.GTNSGDm(lr=0.01, momentum=MOMENTUM),
        problem,
        network,
        noise=noise,
        steps=steps,
        record_every=steps,
        metrics=["error"],
        dtype=torch.float32,
    )


NOISE = gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)
GPU_GOALS = {"five seeds, per step": 60.0, "sweep, per run and step": 0.15}


def five_seeds(steps: int, device: str) -> gs.Run:
    method, problem = gs.GTNSGDm(lr=0.01, momentum=MOMENTUM), gs.RobustRegression(20)
    kept = {"metrics": ["error"], "record_every": steps, "progress": False}
    where = {"dtype": torch.float32, "device": device}
    network = gs.ring(20, hops=2)
    return gs.simulate(
        method, problem, network, noise=NOISE, seeds=range(5), steps=steps, **kept, **where
    )


def on_gpu(few: int = 1000, many: int = 6000) -> dict[str, float]:
    """What a step costs once all is captured, and with all that comes before."""
    five = partial(five_seeds, device="cuda")
    sweep, runs = partial(our_sweep, NOISE, device="cuda"), SETTINGS * SEEDS
    calls = {"five seeds, per step": (five, 1), "sweep, per run and step": (sweep, runs)}
    return {name: show_on_gpu(name, *call, few, many) for name, call in calls.items()}


def show_on_gpu(name: str, call: Callable[..., object], runs: int, few: int, many: int) -> float:
    first = seconds(partial(call, steps=few))
    short, long = (min(seconds(partial(call, steps=k)) for _ in range(2)) for k in (few, many))
    each, all_included = (1e6 * s / runs for s in ((long - short) / (many - few), long / many))
    before = f"all included {all_included:.3f} (of {many} steps), first call {first:.1f} s"
    console.print(f"{name:24} {each:8.3f} µs (goal {GPU_GOALS[name]}), {before}")
    keep("cuda", [Speed(f"synthetic study, {name}", each, "µs", GPU_GOALS[name])])
    return each


def against_jax(place: str) -> dict[str, Any]:
    """Microseconds per run and step of both, and how they compare."""
    import jax.numpy as jnp
    from sweep_jax import TUKEY, build

    problem, network = gs.RobustRegression(num_nodes=20, seed=0), gs.ring(20, hops=2)
    data = (
        problem._features.mT.numpy() * TUKEY,
        -problem._offset[:, 0].numpy() * TUKEY,
        network.weights.numpy(),
    )
    lr, momentum, seeds = jnp.array(LR), jnp.full(SETTINGS, MOMENTUM), jnp.arange(SEEDS)

    gap = gap_without_noise(build(*data, 20, noise=0.0)(lr, momentum, seeds[:1])[0])
    assert gap < 1e-4, f"not the same computation: without noise they end {gap:g} apart"

    jax_sweep, jax_run = build(*data, STEPS, 0.1), build(*data, SINGLE_STEPS, 0.1)
    sweep = interleaved(
        {
            "gossamer": lambda: our_sweep(NOISE),
            "jax": lambda: jax_sweep(lr, momentum, seeds).block_until_ready(),
        },
        REPETITIONS,
    )
    single = interleaved(
        {
            "gossamer": lambda: our_run(problem, network, NOISE),
            "jax": lambda: jax_run(lr[:1], momentum[:1], seeds[:1]).block_until_ready(),
        },
        REPETITIONS,
    )
    result = {
        "sweep": compared(sweep, STEPS * SETTINGS * SEEDS),
        "single run": compared(single, SINGLE_STEPS),
        "products alone": products_alone(problem, network),
        "gap without noise": gap,
    }
    show_comparison(result, place)
    return result


def products_alone(problem: gs.RobustRegression, network: gs.Network, steps: int = 100) -> float:
    """Microseconds per run and step of the sweep's matrix products, of which the rest is to hide.

    Those of the gradient, Xᵀ ψ(X w − y), and of the two mixes.
    """
    features = problem._features.float()  # Xᵀ of every node
    weights, runs = network.weights.float(), SETTINGS * SEEDS
    x = torch.randn(problem.num_nodes, problem.dim, runs)

    def products() -> None:
        for _ in range(steps):
            features @ (features.mT @ x)
            weights @ x.view(problem.num_nodes, -1)
            weights @ x.view(problem.num_nodes, -1)

    return 1e6 * min(interleaved({"products": products}, REPETITIONS)["products"]) / steps / runs


def gap_without_noise(theirs: Any) -> float:
    """Largest difference after 20 exact steps, before normalization amplifies the rounding."""
    ours = our_sweep(None, steps=20).x[:, :, 0].transpose(0, 1)
    return float((torch.tensor(theirs.tolist()) - ours).abs().max())


def compared(times: Times, run_steps: int) -> dict[str, Any]:
    ratios = [a / b for a, b in zip(times["gossamer"], times["jax"], strict=True)]
    micros = {name: [1e6 * t / run_steps for t in values] for name, values in times.items()}
    return {**{name: summary(values) for name, values in micros.items()}, "ratio": summary(ratios)}


def summary(values: list[float]) -> dict[str, float]:
    low, median, high = statistics.quantiles(values, n=4)
    return {"median": median, "lower quartile": low, "upper quartile": high, "best": min(values)}


def growth_case(
    runs: int = 1,
    nodes: int = 20,
    dim: int = 20,
    network: str = "ring",
    problem: str = "quadratic",
    device: str = "cpu",
) -> dict[str, float]:
    """One size, alone in its process: microseconds per step and the memory it took at its peak.

    A step is what a longer run takes more than a short one, once memory was touched.
    """
    before, start = held_mb(device), clock()
    net, task = NETWORKS[network](nodes), PROBLEMS[problem](nodes, dim)
    json.dumps([repr(net), net.describe(), net.lam, task.describe()])
    prepared, block = clock() - start, block_steps(nodes, dim)
    most, work, before_all = STEPS_OF_GROWTH[device]
    more = block * max(-(-4 // block), min(most, work // (runs * nodes * dim)) // block)
    few = block * before_all
    rates = torch.linspace(0.001, 0.1, runs)[:, None]

    def simulate(steps: int) -> None:
        gs.simulate(
            gs.GTNSGDm(lr=rates, momentum=MOMENTUM),
            task,
            net,
            noise=NOISE,
            steps=steps,
            seeds=[run % SEEDS for run in range(runs)],
            record_every=steps,
            metrics=["error"],
            dtype=torch.float32,
            device=device,
        )

    times = [[seconds(partial(simulate, steps)) for steps in (few, few + more)] for _ in range(3)]
    short, long = (min(column) for column in zip(*times, strict=True))
    return {
        "set up s": prepared,
        "us per step": 1e6 * (long - short) / more,
        "before MB": before,
        "peak MB": peak_mb(device),
    }


def held_mb(device: str) -> float:
    """The memory held now, from which on the peak counts."""
    if device == "cpu":
        return memory_mb("VmRSS")
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated() / 1e6


def peak_mb(device: str) -> float:
    """The most memory that was ever held."""
    return memory_mb("VmHWM") if device == "cpu" else torch.cuda.max_memory_allocated() / 1e6


def memory_mb(field: str) -> float:
    """VmRSS, the memory held now, or VmHWM, the most ever held; 0 where there is no /proc."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6


def growth(place: str, wanted: str) -> dict[str, list[dict[str, float]]]:
    results: dict[str, list[dict[str, float]]] = {}
    for name, (axis, sizes, rest) in GROWTH.items():
        if wanted not in name:
            continue
        results[name] = []
        for size in sizes:
            case = {axis: size, **rest}
            elements = case.get("runs", 1) * case.get("nodes", 20) * case.get("dim", 20)
            found = grown_to(case, place)
            results[name].append({"size": size, "elements": elements, **found})
        show_growth(name, results[name], place)
    return results


def grown_to(case: dict[str, Any], place: str) -> dict[str, float]:
    """One size, with steps as they are written, on a CPU in a process of its own."""
    if place == "cuda":
        return growth_case(**case, device=place)
    options = ["--one-core"] if place == "one core" else []
    command = [sys.executable, __file__, *options, "--case", json.dumps(case)]
    as_written = {**os.environ, "GOSSAMER_NATIVE": "0"}
    asked = partial(subprocess.run, check=True, capture_output=True, text=True)
    return json.loads(asked(command, env=as_written).stdout)


def show_comparison(result: dict[str, Any], place: str) -> None:
    table = Table(title="µs per run and step: median, quartiles")
    for column in ("", "gossamer", "jax", "ratio", "goal"):
        table.add_column(column, justify="right")
    for name, goal in GOALS.items():
        cells = [spread(result[name][part]) for part in ("gossamer", "jax", "ratio")]
        table.add_row(name, *cells, f"≤ {goal}")
    alone = result["products alone"]
    table.add_row("products alone", f"{alone:.3g}")
    console.print(table)
    names = {"sweep": "sweep of 715 runs, per run and step", "single run": "one run, per step"}
    floors = {"sweep": alone, "single run": None}
    keep(place, [
        Speed(names[name], result[name]["gossamer"]["median"], "µs",
              goal * (theirs := result[name]["jax"]["median"]), floors[name], "JAX", theirs)
        for name, goal in GOALS.items()
    ])  # fmt: skip


def spread(s: dict[str, float]) -> str:
    return f"{s['median']:.3g} ({s['lower quartile']:.3g}–{s['upper quartile']:.3g})"


def show_growth(name: str, rows: list[dict[str, float]], place: str) -> None:
    table = Table(title=f"{GROWTH_WITH}{name}", caption=flatness(name, rows, place))
    for column in ("size", "set up, s", "µs per step", "ns per number", "MB", "B per number"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            f"{row['size']:,}",
            f"{row['set up s']:.2f}",
            f"{row['us per step']:,.0f}",
            f"{nanoseconds(row):.2f}",
            f"{row['peak MB'] - row['before MB']:,.0f}",
            f"{octets(row):,.0f}",
        )
    console.print(table)


def nanoseconds(row: dict[str, float]) -> float:
    """Per number and step."""
    return 1e3 * row["us per step"] / row["elements"]


def octets(row: dict[str, float]) -> float:
    """Bytes per number, beyond what Python, torch and Gossamer take to start."""
    return 1e6 * (row["peak MB"] - row["before MB"]) / row["elements"]


def flatness(name: str, rows: list[dict[str, float]], place: str) -> str:
    """How much dearer a number is at the largest size than at the cheapest large one."""
    large = [row for row in rows if row["elements"] >= LARGE]
    if len(large) < 2:
        return ""
    grown = [each(large[-1]) / min(map(each, large)) for each in (nanoseconds, octets)]
    whats = [f"{GROWTH_WITH}{name}: {kind} per number" for kind in GROWN]
    pairs = zip(whats, grown, strict=True)
    keep(place, [Speed(what, value, "times", FLAT) for what, value in pairs])
    verdict = "flat" if max(grown) <= FLAT else "NOT FLAT"
    return f"largest / cheapest from {LARGE:,} numbers on: time {grown[0]:.2f}, memory " + (
        f"{grown[1]:.2f}: {verdict} (goal {FLAT})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["jax", "growth"])
    parser.add_argument(
        "--json", type=Path, help="where to write; by default sweep*.json, if all is measured"
    )
    parser.add_argument("--growth", default="", help="only the tables whose name holds this word")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--one-core", action="store_true")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    chosen = parser.parse_args()
    if chosen.one_core:
        use_one_core()
    if chosen.case:
        print(json.dumps(growth_case(**json.loads(chosen.case))))
        return
    place = "one core" if chosen.one_core else chosen.device
    result: dict[str, Any] = {"machine": machine(place), "load": os.getloadavg(), "place": place}
    console.print(f"{machine(place)}: {MEASURED[place]}")
    if chosen.only != "growth":
        result |= on_gpu() if place == "cuda" else against_jax(place)
    if chosen.only != "jax":
        result["growth"] = growth(place, chosen.growth)
    everything = not (chosen.only or chosen.one_core or chosen.growth)
    path = chosen.json or (STORES[chosen.device] if everything else None)
    if path:
        path.write_text(json.dumps(result, indent=2) + "\n")
        console.print(f"written to {path}")


if __name__ == "__main__":
    main()
