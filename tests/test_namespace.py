"""The names of modules: none is hidden by a function of its name, and parts are there on use."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import gossamer as gs

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(gs.__path__, "gossamer.")
    if not module.name.endswith("__main__")
)
PARTS = sorted(
    name.removeprefix("gossamer.")
    for name in MODULES
    if name.count(".") == 1 and (Path(gs.__path__[0]) / name.split(".")[1]).is_dir()
)

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
PAGES = sorted(page.stem for page in REFERENCE.glob("*.md") if page.stem != "index")


def hidden(package: ModuleType) -> list[str]:
    """Modules of a package in whose place the package has something else."""
    inside = [module.name for module in pkgutil.iter_modules(package.__path__)]
    public = {name: value for name, value in vars(package).items() if name in inside}
    return [name for name, value in public.items() if not isinstance(value, ModuleType)]


def test_no_module_is_hidden_by_a_function_or_class_of_its_name():
    """Every module is imported first: whichever import binds a name last would win."""
    loaded = [gs, *map(importlib.import_module, MODULES)]
    packages = [module for module in loaded if hasattr(module, "__path__")]
    assert len(packages) > 10
    assert {package.__name__: hidden(package) for package in packages if hidden(package)} == {}


def test_the_search_finds_a_hidden_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "hiding").mkdir()
    (tmp_path / "hiding" / "__init__.py").write_text("from hiding.plan import plan\n")
    (tmp_path / "hiding" / "plan.py").write_text("def plan(): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert hidden(importlib.import_module("hiding")) == ["plan"]


@pytest.mark.parametrize("name", MODULES)
def test_import_as_gives_the_module(name: str):
    namespace: dict[str, object] = {}
    exec(f"import {name} as module", namespace)
    assert namespace["module"] is sys.modules[name]


def test_every_part_is_there_without_an_import_of_its_own():
    """In a new process: here, other tests have imported them all."""
    code = f"""
import gossamer as gs
parts = set({PARTS + PAGES}) - {{"cli"}}
late = parts - vars(gs).keys()
assert late == set(gs.PARTS_ON_USE) & late, late
assert parts <= set(dir(gs))
assert all(getattr(gs, part).__name__ == f"gossamer.{{part}}" for part in parts)
assert gs.plots.style
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_type_checker_knows_every_part_that_is_loaded_on_use():
    source = Path(gs.__path__[0], "__init__.py").read_text(encoding="utf-8")
    told = [line for line in source.splitlines() if line.startswith("    from gossamer import")]
    assert told == [f"    from gossamer import {part} as {part}" for part in gs.PARTS_ON_USE]


def test_what_does_not_exist_is_missed():
    with pytest.raises(AttributeError, match="module 'gossamer' has no attribute 'theroy'"):
        gs.theroy  # noqa: B018
    assert set(gs.__all__) <= set(dir(gs))
