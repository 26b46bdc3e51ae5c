"""Scripts that cannot run as they are called say what they need."""

import os
import subprocess
import sys

import pytest
from scripts import ROOT


@pytest.mark.parametrize(
    ("script", "needs"),
    [
        ("examples/gpt.py", "examples/gpt.py README.md"),
        ("benchmarks/gpt_step.py", "needs a CUDA GPU"),
    ],
)
def test_what_is_missing_is_said_without_a_traceback(script: str, needs: str):
    command, alone = [sys.executable, str(ROOT / script)], {"CUDA_VISIBLE_DEVICES": ""}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **alone}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert needs in done.stderr
    assert "Traceback" not in done.stderr
