"""The examples for several processes do what their first lines say."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from processes import on_ranks
from scripts import EXAMPLES, output, printed


def script_on_ranks(script: Path, folder: Path, *arguments: str) -> str:
    """What a script prints on four ranks, one after the other, when started in `folder`.

    Forked, they need not import torch again; torchrun itself is in test_pages and test_restart.
    """
    return "".join(on_ranks(run_script, script, folder, arguments, deadline=90))


def run_script(rank: int, script: Path, folder: Path, arguments: tuple[str, ...]) -> str:
    os.environ["RANK"] = str(rank)
    sys.argv = [str(script), *arguments]
    return printed(script, folder)


def test_mlp(tmp_path):
    pytest.importorskip("sklearn", reason="the digits ship with scikit-learn")
    out = script_on_ranks(EXAMPLES / "mlp.py", tmp_path)
    assert float(re.search(r"average model ([\d.]+)", out)[1]) > 0.9


def test_gpt(tmp_path):
    text = "the quick brown fox jumps over the lazy dog and runs away. " * 60
    (tmp_path / "text.txt").write_text(text)
    out = script_on_ranks(EXAMPLES / "gpt.py", tmp_path, "text.txt")
    losses = [float(loss) for loss in re.findall(r"step \d+: ([\d.]+) nats", out)]
    assert len(losses) == 4
    assert losses[-1] < min(losses[0], 2.0)  # 27 characters at random cost 3.3


def test_sharded_nodes(tmp_path):
    out = script_on_ranks(EXAMPLES / "sharded_nodes.py", tmp_path)
    held = [int(count) for count in re.findall(r"node \d: (\d+) of 147 parameters", out)]
    assert sum(held) == 2 * 147
    assert float(re.search(r"average model ([\d.]+)", out)[1]) < 0.3  # log 3 = 1.1 at the start


def test_simulate_then_torchrun(tmp_path):
    script = EXAMPLES / "simulate_then_torchrun.py"
    loss = re.search(r"loss ([\d.]+)", printed(script, tmp_path))[1]
    assert float(loss) < 0.3  # log 3 = 1.1 at the start
    out = script_on_ranks(script, tmp_path)
    gaps = [float(gap) for gap in re.findall(r"simulation ([\d.e-]+)", out)]
    assert len(gaps) == 4
    assert max(gaps) < 1e-12


def test_survive_a_dead_node(tmp_path):
    out = output([sys.executable, str(EXAMPLES / "survive_a_dead_node.py")], tmp_path)
    assert "step 50 on ring(4): x = 1.500000" in out
    assert "step 150 on ring(3): x = 1.000000" in out
    assert "exit codes: [0, 0, 0, 1]" in out


def can_make_namespaces() -> bool:
    ip, name = shutil.which("ip"), f"gossamer-probe-{os.getpid()}"
    if ip is None or subprocess.run([ip, "netns", "add", name], capture_output=True).returncode:
        return False
    return subprocess.run([ip, "netns", "del", name], capture_output=True).returncode == 0


def test_two_hosts(tmp_path, monkeypatch):
    """Of one rank each, since every process imports torch."""
    monkeypatch.setenv("RANKS", "1")
    if not can_make_namespaces():
        pytest.skip("needs iproute2 and the right to make network namespaces")
    out = output([str(EXAMPLES / "two_hosts.sh")], tmp_path)
    assert float(re.search(r"^ +50 +\S+ +(\S+)", out, re.MULTILINE)[1]) < 0.2
