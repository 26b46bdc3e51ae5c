"""Freed memory stays with the process: stepping a large stack faults hardly any page in."""

import platform
import resource
import subprocess
import sys

import pytest
import torch

import gossamer as gs

STACKS = {
    "many runs": (20, lambda: gs.RobustRegression(20), 983),  # faulted in 1,000 pages at every step
    "large blocks": (12, lambda: gs.Quadratic(8, 700_000), 1),  # 35,000 to 60,000 pages
}
"""Steps until the heap has about its size, and again in each of three counts; problem; runs."""


def faults_per_step(name: str) -> float:
    steps, make, runs = STACKS[name]
    problem = make()
    method, network = gs.GTNSGDm(0.01, 0.8), gs.ring(problem.num_nodes)
    stack = gs.Stack(method, problem, network, None, [0] * runs, torch.float32)
    stack.advance(steps)
    return min(faults_of(stack, steps) for _ in range(3)) / steps


def faults_of(stack: gs.Stack, steps: int) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    stack.advance(steps)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc's malloc")
@pytest.mark.parametrize(("name", "most"), [("many runs", 250), ("large blocks", 5_500)])
def test_a_step_faults_hardly_any_pages_in(name: str, most: int):
    """Of large blocks fewer than one tensor's pages, a fraction of what a step needs.

    The fewest of three counts: a heap may still grow, but what is given back always faults.
    """
    command = [sys.executable, __file__, name]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert float(answer.stdout) < most


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(faults_per_step(sys.argv[1]))
