"""Lightning, at the version that is installed."""

import re
from pathlib import Path

import pytest
from scripts import EXAMPLES, TORCHRUN, output

pytest.importorskip("lightning", reason="needs lightning; pip install '.[integrations]'")


def test_the_example(tmp_path):
    out = output([*TORCHRUN, "--standalone", str(EXAMPLES / "lightning_module.py")], tmp_path)
    accuracy, steps = re.search(r"average model ([\d.]+) after (\d+) steps on 4 pro", out).groups()
    assert float(accuracy) > 0.95
    assert int(steps) == 4 * 2048 / 4 / 16


def test_the_trainer_takes_the_steps_of_a_loop(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES))
    script = Path(__file__).with_name("with_lightning.py")
    out = output([*TORCHRUN, "--standalone", str(script)], tmp_path)
    assert sorted(re.findall(r"rank (\d) agrees", out)) == list("0123")
