"""What a library is: it comes with Python, is installed or is Gossamer; the rest is own code."""

import functools
import hashlib
import importlib.util
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

from gossamer.digests import digest_of_words

LIBRARIES = (Path(sysconfig.get_path("stdlib")).resolve(), Path(__file__).resolve().parent)
"""Where the files of Python and of Gossamer are."""

INSTALLED = {"site-packages", "dist-packages"}
"""What a folder of packages is called wherever it is: a user's own, or one of a cluster, too."""

HEAP_TYPE = 1 << 9
"""The flag of classes that a `class` statement makes; those of the interpreter lack it."""

_VERSIONED = {*sys.stdlib_module_names, *sys.builtin_module_names, "torch", "gossamer"}
"""What is told apart by the versions that a store keeps, or by that of Python."""


def is_library_function(value: types.FunctionType) -> bool:
    """Whether a function was written in a file of a library, or made by one of its modules."""
    file = value.__code__.co_filename
    written = not file.startswith("<")
    return _in_libraries(file) if written else is_library_module(value.__module__)


def is_library_class(value: type) -> bool:
    """Whether a class was compiled, or a library has it under its name."""
    name: Any = value.__module__
    made_in_c = type(value).__module__ == "pybind11_builtins" or not value.__flags__ & HEAP_TYPE
    if made_in_c or not isinstance(name, str) or name.startswith("_cython_"):
        return True
    if name == "builtins" or not is_library_module(name):
        return False
    return is_named_in_library(value) or not is_python_module(name)


def is_library_module(name: object) -> bool:
    """Whether a module, imported or not, comes with Python, is installed or is of Gossamer."""
    if not isinstance(name, str) or name in ("", "__main__"):
        return False
    if name in sys.builtin_module_names:
        return True
    folders, file = _places(name)
    places = [place for place in ([file] if file else folders) if Path(place).is_absolute()]
    parent = name.rpartition(".")[0]
    if not places:
        return is_library_module(parent) if parent else name in sys.stdlib_module_names
    return all(_in_libraries(place) for place in places)


def _places(name: str) -> tuple[list[str], str | None]:
    """The folders of a package, and the file of a module; a package need not be imported."""
    module = sys.modules.get(name)
    if module is None and "." not in name and (spec := importlib.util.find_spec(name)):
        return spec.submodule_search_locations or [], spec.origin
    return list(getattr(module, "__path__", [])), getattr(module, "__file__", None)


def is_python_module(name: str) -> bool:
    """Whether a module is a Python file, or was written in a session."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return name not in sys.builtin_module_names if file is None else file.endswith(".py")


def is_named_in_library(value: "types.FunctionType | type") -> bool:
    """Whether a library has it under its name: no closure, no wrapper, and no class of a call.

    A class that `type` or a decorator makes calls itself one of the module where it was made.
    """
    found: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    found = found.__func__ if isinstance(found, staticmethod | classmethod) else found
    return found is value and is_library_module(value.__module__)


@functools.lru_cache(maxsize=4096)
def _in_libraries(file: str) -> bool:
    path, real = Path(file), Path(file).resolve()
    installed = not INSTALLED.isdisjoint((*path.parts, *real.parts))
    return installed or any(real.is_relative_to(folder) for folder in LIBRARIES)


def name_in_library(value: object) -> str | None:
    """The name under which the library of an object's class has it, as SciPy has its `norm`."""
    module = type(value).__module__
    held = vars(sys.modules[module]) if is_library_module(module) and module in sys.modules else {}
    return next((f"{module}.{name}" for name, one in held.items() if one is value), None)


def files_of(module: object) -> list[str]:
    """What tells apart the releases of a library whose version is not kept: its Python files."""
    top = top_of(module)
    return [] if top in _VERSIONED or not is_library_module(top) else [_of_files(top)]


@functools.lru_cache(maxsize=4096)
def _of_files(package: str) -> str:
    """The digest of all files of a package, or of the file of a single module."""
    folders, file = _places(package)
    found = {
        path.relative_to(folder).as_posix(): path
        for folder in map(Path, folders)
        for path in folder.rglob("*.py")
    }
    if not found and file:
        found = {"": Path(file)}
    return digest_of_words(*(f"{name} {_of_file(found[name])}" for name in sorted(found)))


def _of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def top_of(module: object) -> str:
    """The package that a module is in."""
    return str(module).partition(".")[0]
