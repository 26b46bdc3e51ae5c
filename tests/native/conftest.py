"""What all tests of steps in C share."""

import pytest

from gossamer.native import build
from gossamer.simulation import simulation as simulations


@pytest.fixture(autouse=True)
def compiled_in_a_hurry(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "native"
    folder.mkdir(exist_ok=True)
    monkeypatch.setattr(build, "program_folder", lambda: folder)
    monkeypatch.setattr(build, "FLAGS", ("-O0", "-march=native", "-shared", "-fPIC"))
    monkeypatch.delenv("GOSSAMER_NATIVE", raising=False)
    build.function.cache_clear()


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of any length are worth it."""
    monkeypatch.setattr(simulations, "COMPILE_SECONDS", 0.0)
