"""Runs the scripts of examples/ and what a shell would start, for tests."""

import contextlib
import io
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4"]


def printed(script: Path, folder: Path) -> str:
    """What a script prints that runs in this process, which has imported torch already."""
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(str(script), run_name="__main__")
    return out.getvalue()


def output(command: list[str], folder: Path, deadline: float = 90) -> str:
    """What the command prints; everything it started is killed at the deadline."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHON": sys.executable,
        "PYTHONPATH": path,
    }
    pipe, shared = subprocess.PIPE, {"env": environment, "cwd": folder, "text": True}
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, start_new_session=True, **shared
    ) as job:
        try:
            out, errors = job.communicate(timeout=deadline)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            raise
    assert job.returncode == 0, errors[-3000:]
    return out
