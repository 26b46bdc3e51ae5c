"""How much slower is a sweep beside busy processes? Quiet and busy in turns, by number of threads.

    python benchmarks/busy.py                two busy processes beside it
    python benchmarks/busy.py --processes 4
    python benchmarks/busy.py --only sweep   the public `gs.sweep` only; it must take ≤ 3 × as long

A stack is advanced with one thread, with all, and with as many as `gossamer.simulation.threads`
decides; times are medians, ratios are to one thread on the quiet machine. On two cores, two busy
processes leave 2/3 of a core: one thread is 1.5 times slower, whatever is done. Start it on a
machine that is quiet otherwise, or its "quiet" is not.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from speeds import Speed, keep
from sweep import our_sweep

import gossamer as gs
from gossamer.simulation import threads

SECONDS, REPETITIONS = 0.25, 5
SWEEP_STEPS, GOAL = 1000, 3.0
CASES = {
    "30 × 40 × 31": (gs.Quadratic(30, 31), gs.ring(30), 40),
    "20 × 160 × 20": (gs.RobustRegression(20), gs.ring(20, hops=2), 160),
    "20 × 480 × 20": (gs.RobustRegression(20), gs.ring(20, hops=2), 480),
    "8 × 1 × 100,000": (gs.Quadratic(8, 100_000), gs.ring(8), 1),
}
POLICIES = {"one": 2**60, "all": -1, "gossamer": threads.SMALL}
"""Size up to which one thread is used; "all" does not ask for free cores either."""


class AllCores:
    def free_cores(self) -> int:
        return os.cpu_count() or 1


OURS = threads.LOAD


@contextmanager
def busy(processes: int) -> Iterator[None]:
    started = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)
    ]
    try:
        time.sleep(0.2)
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def micros_per_step(stack: gs.Stack, policy: str) -> float:
    threads.SMALL = POLICIES[policy]
    threads.LOAD = AllCores() if policy == "all" else OURS
    stack.advance(32)
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        stack.advance(8)
        steps += 8
    return 1e6 * (time.perf_counter() - start) / steps


def measure(stack: gs.Stack, processes: int) -> dict[tuple[str, int], float]:
    times: dict[tuple[str, int], list[float]] = {}
    for _ in range(REPETITIONS):
        for beside in (0, processes):
            with busy(beside):
                for policy in POLICIES:
                    times.setdefault((policy, beside), []).append(micros_per_step(stack, policy))
    return {key: statistics.median(values) for key, values in times.items()}


def sweep_seconds() -> float:
    """The sweep of `sweep.py`, as users get it: with steps in C where there is a compiler."""
    start = time.perf_counter()
    our_sweep(gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1), SWEEP_STEPS)
    return time.perf_counter() - start


def compare_sweeps(processes: int) -> None:
    sweep_seconds()  # compile
    times: dict[int, list[float]] = {0: [], processes: []}
    for _ in range(REPETITIONS):
        for beside, found in times.items():
            with busy(beside):
                found.append(sweep_seconds())
    quiet, slow = (statistics.median(found) for found in times.values())
    ratio = f"{slow / quiet:.2f} times (goal {GOAL})"
    keep("cpu", [Speed(f"sweep beside {processes} busy processes", slow / quiet, "times", GOAL)])
    print(
        f"sweep of 715 runs: quiet {quiet:.2f} s, beside {processes} busy {slow:.2f} s: {ratio}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", choices=["sweep", "stacks"])
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, torch {torch.__version__}")
    if options.only != "stacks":
        compare_sweeps(options.processes)
    if options.only != "sweep":
        compare_stacks(options.processes)


def compare_stacks(beside: int) -> None:
    print(
        f"{'nodes × runs × dim':18} {'µs, one':>9}  quiet: all, gossamer   busy: one, all, gossamer"
    )
    for name, (problem, network, runs) in CASES.items():
        method, noise = gs.GTNSGDm(lr=0.01, momentum=0.8), gs.Gaussian(0.1)
        found = measure(gs.Stack(method, problem, network, noise, range(runs)), beside)
        base = found["one", 0]
        quiet = [found[policy, 0] / base for policy in ("all", "gossamer")]
        slow = [found[policy, beside] / base for policy in POLICIES]
        print(
            f"{name:18} {base:9,.0f}         {quiet[0]:4.2f}     {quiet[1]:4.2f}"
            f"         {slow[0]:4.1f} {slow[1]:5.1f}     {slow[2]:4.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
