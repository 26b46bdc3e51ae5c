"""Hugging Face's Trainer and Accelerate, at the versions that are installed."""

import re
from pathlib import Path

import pytest
from scripts import EXAMPLES, TORCHRUN, output

for package in ("transformers", "accelerate"):
    pytest.importorskip(package, reason=f"needs {package}; pip install '.[integrations]'")


def test_the_example_of_the_trainer(tmp_path):
    out = output([*TORCHRUN, "--standalone", str(EXAMPLES / "hf_trainer.py")], tmp_path)
    before, after = re.search(r"average model ([\d.]+) → ([\d.]+) after 100 steps", out).groups()
    assert float(before) > 2.0  # log 16 = 2.8
    assert float(after) < 0.1
    assert (tmp_path / "runs/hf/checkpoint-100/model.safetensors").exists()


def test_the_trainer_takes_the_steps_of_a_loop(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES))
    script = Path(__file__).with_name("with_hf_trainer.py")
    out = output([*TORCHRUN, "--standalone", str(script)], tmp_path)
    assert sorted(re.findall(r"rank (\d) agrees", out)) == list("0123")


def test_the_example_of_accelerate(tmp_path):
    out = output([*TORCHRUN, "--standalone", str(EXAMPLES / "hf_accelerate.py")], tmp_path)
    accuracy, steps = re.search(r"average model ([\d.]+) after (\d+) steps on 4 pro", out).groups()
    assert float(accuracy) > 0.95
    assert int(steps) == 4 * 2048 / 4 / 16
