"""The examples for one process do what their first lines say."""

import re

import pytest
from scripts import EXAMPLES, printed


@pytest.mark.slow
def test_compare_methods(tmp_path):
    out = printed(EXAMPLES / "compare_methods.py", tmp_path)
    errors = dict(re.findall(r"^([\w-]+) .*\(tuned\) +([\d.]+) \[", out, re.MULTILINE))
    assert len(errors) == 5
    assert float(errors["GT-NSGDm"]) < float(errors["DSGD"])  # the noise has no variance
    assert (tmp_path / "compare_methods.png").stat().st_size > 10_000


@pytest.mark.slow
def test_own_comparison(tmp_path):
    out = printed(EXAMPLES / "own_comparison.py", tmp_path)
    losses = dict(re.findall(r"^([\w-]+) .*\(tuned\) +([\d.]+) \[", out, re.MULTILINE))
    assert len(losses) == 5
    assert float(losses["GT-NSGDm"]) < float(losses["GT-DSGD"])  # the noise has no variance
    assert (tmp_path / "own_comparison.png").stat().st_size > 10_000
    assert "GT-NSGDm" in (tmp_path / "own_comparison.tex").read_text(encoding="utf-8")


@pytest.mark.slow
def test_diagnose_noise(tmp_path):
    """The labels' outliers have tail index 1.5, so the gradients do."""
    out = printed(EXAMPLES / "diagnose_noise.py", tmp_path)
    assert "Infinite variance." in out
    low, high = map(float, re.search(r"Hill, 5 % .* ([\d.]+) – ([\d.]+)", out).groups())
    assert low < 1.5 < high
    assert (tmp_path / "diagnose_noise.png").stat().st_size > 10_000
