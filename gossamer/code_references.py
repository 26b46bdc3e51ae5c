"""What the code of a function refers to: globals, what it takes of modules, and imports."""

import dis
import importlib
import importlib.util
import itertools
import types
from typing import Any

from gossamer.libraries import files_of, is_library_module

_LOADS = ("LOAD_GLOBAL", "LOAD_NAME")

_DEEPEST = 6
"""Dots in the name of what is taken of modules in modules."""


def references(value: types.FunctionType) -> dict[str, Any]:
    """Name → value of the globals and modules that code refers to, and of what it takes of them."""
    codes = _codes(value.__code__)
    used = sorted({name for code in codes for name in code.co_names})
    steps = [step for code in codes for step in _steps(code)]
    known, bare = value.__globals__, _bare(steps)
    names = {s.argval for s in steps if s.opname in _LOADS} & known.keys()
    imported = {f"import {name}": module for name, module in _imported(value, steps).items()}
    found = {name: known[name] for name in sorted(names)} | imported
    taken = [_taken(name, part, used) for name, part in found.items()]
    whole = bare | imported.keys()
    shown = {n: z.__name__ if _is_own(z) and n not in whole else z for n, z in found.items()}
    return {**shown, **{name: part for parts in taken for name, part in parts.items()}}


def _codes(code: types.CodeType) -> list[types.CodeType]:
    """The code and all that is nested in it."""
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return [code, *(deeper for part in inner for deeper in _codes(part))]


def _steps(code: types.CodeType) -> list[dis.Instruction]:
    return [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]


def _bare(steps: list[dis.Instruction]) -> set[str]:
    """The globals that are used in any other way than by their attributes."""
    pairs = itertools.pairwise(steps)
    takes = ("LOAD_ATTR", "LOAD_METHOD")
    return {s.argval for s, then in pairs if s.opname in _LOADS and then.opname not in takes}


def _is_own(value: Any) -> bool:
    """Whether this is a module of the user's, of which not all counts where it is only used."""
    return isinstance(value, types.ModuleType) and not is_library_module(value.__name__)


def _taken(name: str, module: Any, used: list[str]) -> dict[str, Any]:
    """Dotted name → what code that uses the given names takes of a module of the user."""
    if not _is_own(module):
        return {}
    found = {f"{name}.{part}": vars(module)[part] for part in used if part in vars(module)}
    for inner, part in list(found.items()):
        if inner.count(".") < _DEEPEST:
            found |= _taken(inner, part, used)
    return found


def _imported(value: types.FunctionType, steps: list[dis.Instruction]) -> dict[str, Any]:
    """Name → module that a function imports; of a library what its files are."""
    found: dict[str, Any] = {}
    package = value.__globals__.get("__package__") or ""
    for at, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            level, names = steps[at - 2].argval, steps[at - 1].argval or ()
            start = "." * level + step.argval
            inner = [start + ("." if step.argval else "") + name for name in names]
            for name in (start, *inner):
                found |= _modules(name, package)
    return dict(sorted(found.items()))


def _modules(name: str, package: str) -> dict[str, Any]:
    """Name → module, of a library what its files are; nothing where there is none."""
    try:
        full = importlib.util.resolve_name(name, package)
        top = full.partition(".")[0]
        if is_library_module(top):
            return {top: files_of(top)}
        return {top: importlib.import_module(top), full: importlib.import_module(full)}
    except Exception:  # code that imports it would fail
        return {}
