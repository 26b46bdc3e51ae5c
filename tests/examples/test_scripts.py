"""The short examples run as their first lines say."""

import re
import sys
from pathlib import Path

from distributed.test_examples import EXAMPLES, TORCHRUN, output


def run(name: str, folder: Path) -> str:
    return output([sys.executable, str(EXAMPLES / name)], folder)


def test_compare_methods(tmp_path):
    out = run("compare_methods.py", tmp_path)
    errors = dict(re.findall(r"^([\w-]+) .*\(tuned\) +([\d.]+) \[", out, re.MULTILINE))
    assert len(errors) == 5
    assert float(errors["GT-NSGDm"]) < float(errors["DSGD"])  # the noise has no variance
    assert (tmp_path / "compare_methods.png").stat().st_size > 10_000


def test_diagnose_noise(tmp_path):
    """The labels' outliers have tail index 1.5, so the gradients do."""
    out = run("diagnose_noise.py", tmp_path)
    assert "Infinite variance." in out
    low, high = map(float, re.search(r"Hill, 5 % .* ([\d.]+) – ([\d.]+)", out).groups())
    assert low < 1.5 < high
    assert (tmp_path / "diagnose_noise.png").stat().st_size > 10_000


def test_simulate_then_torchrun(tmp_path):
    loss = re.search(r"loss ([\d.]+)", run("simulate_then_torchrun.py", tmp_path))[1]
    assert float(loss) < 0.3  # log 3 = 1.1 at the start
    out = output([*TORCHRUN, "--standalone", str(EXAMPLES / "simulate_then_torchrun.py")], tmp_path)
    gaps = [float(gap) for gap in re.findall(r"simulation ([\d.e-]+)", out)]
    assert len(gaps) == 4
    assert max(gaps) < 1e-12


def test_survive_a_dead_node(tmp_path):
    out = run("survive_a_dead_node.py", tmp_path)
    assert "step 100 on ring(4): x = 1.500000" in out
    assert "step 400 on ring(4).without(3): x = 1.000000" in out
    assert "exit codes: [0, 0, 0, 1]" in out
