"""Freed memory stays with the process: stepping a large stack faults hardly any page in."""

import platform
import resource
import subprocess
import sys

import pytest
import torch

import gossamer as gs

STEPS = 20


def faults_per_step() -> float:
    problem, network = gs.RobustRegression(20), gs.ring(20)
    stack = gs.Stack(gs.GTNSGDm(0.01, 0.8), problem, network, None, [0] * 983, torch.float32)
    stack.advance(STEPS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    stack.advance(STEPS)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / STEPS


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc's malloc")
def test_a_step_faults_no_pages_in():
    """Without keep_freed_memory this size faults more than 1,000 pages in at every step."""
    answer = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, check=True, timeout=120
    )
    assert float(answer.stdout) < 250


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(faults_per_step())
