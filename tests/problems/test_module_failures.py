"""What torch raises is told as bad input, and where memory ends, that is."""

import pytest
import torch

import gossamer as gs
from gossamer.problems.module_failures import refusing


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (RuntimeError("mat1 and mat2\ndetails"), r"module: it fails \(mat1 and mat2\)$"),
        (gs.InvalidInput("loss: got None"), "^loss: got None$"),
        (torch.OutOfMemoryError("CUDA out of memory."), r"^memory: got .*CUDA .*smaller batch"),
        (MemoryError(), r"^memory: got less than the module needs \(MemoryError\)"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "^memory: got"),
    ],
)
def test_failures_are_told_by_their_kind(raised: Exception, told: str):
    with (
        pytest.raises(gs.InvalidInput, match=told),
        refusing(lambda reason: f"module: it fails ({reason})"),
    ):
        raise raised


def test_a_gpu_that_fails_later_than_it_is_asked_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    def fail() -> None:
        raise RuntimeError("CUDA error: device-side assert triggered\ndetails")

    monkeypatch.setattr("torch.cuda.is_initialized", lambda: True)
    monkeypatch.setattr("torch.cuda.synchronize", fail)
    told = r"^loss: it fails \(CUDA error: device-side assert triggered\)$"
    with (
        pytest.raises(gs.InvalidInput, match=told),
        refusing(lambda reason: f"loss: it fails ({reason})"),
    ):
        pass
