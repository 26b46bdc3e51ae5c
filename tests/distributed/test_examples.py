"""The examples run as their first lines say."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4"]


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


def test_mlp(tmp_path):
    pytest.importorskip("sklearn", reason="the digits ship with scikit-learn")
    out = output([*TORCHRUN, str(EXAMPLES / "mlp.py")], tmp_path)
    assert float(re.search(r"average model ([\d.]+)", out)[1]) > 0.9


def test_gpt(tmp_path):
    text = "the quick brown fox jumps over the lazy dog and runs away. " * 60
    (tmp_path / "text.txt").write_text(text)
    out = output([*TORCHRUN, str(EXAMPLES / "gpt.py"), "text.txt"], tmp_path)
    losses = [float(loss) for loss in re.findall(r"step \d+: ([\d.]+) nats", out)]
    assert len(losses) == 4
    assert losses[-1] < min(losses[0], 2.0)  # 27 characters at random cost 3.3


def can_make_namespaces() -> bool:
    ip, name = shutil.which("ip"), f"gossamer-probe-{os.getpid()}"
    if ip is None or subprocess.run([ip, "netns", "add", name], capture_output=True).returncode:
        return False
    return subprocess.run([ip, "netns", "del", name], capture_output=True).returncode == 0


def test_two_hosts(tmp_path):
    if not can_make_namespaces():
        pytest.skip("needs iproute2 and the right to make network namespaces")
    out = output([str(EXAMPLES / "two_hosts.sh")], tmp_path)
    assert float(re.search(r"step 50 .* validation_loss ([\d.]+)", out)[1]) < 0.2
