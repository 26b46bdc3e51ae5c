"""Scripts that cannot run as they are called say what they need."""

import runpy
import sys

import pytest
import torch
from scripts import ROOT


@pytest.mark.parametrize(
    ("script", "needs"),
    [
        ("examples/gpt.py", "examples/gpt.py README.md"),
        ("benchmarks/gpt_step.py", "needs a CUDA GPU"),
    ],
)
def test_what_is_missing_is_said_without_a_traceback(script, needs, monkeypatch, capsys):
    """On stderr, or in a SystemExit, whose words Python writes there before it ends with 1."""
    monkeypatch.setattr(sys, "argv", [script])
    monkeypatch.syspath_prepend(str((ROOT / script).parent))  # as Python does with a script
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit) as leave:
        runpy.run_path(str(ROOT / script), run_name="__main__")
    assert leave.value.code not in (0, None)
    assert needs in f"{capsys.readouterr().err}{leave.value}"
