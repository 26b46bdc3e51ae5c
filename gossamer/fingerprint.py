"""What makes two objects the same: a digest of their content, and of the code that is not ours."""

import functools
import hashlib
import inspect
import sysconfig
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

LIBRARIES = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
LIBRARIES.append(Path(__file__).parent)


def fingerprint(value: Any) -> str:
    """A digest that changes with any number, word or line of code in `value`.

    Numbers, words, tensors and arrays count by their content, containers and objects by what they
    hold, functions and classes by name; those of the user also by their source and by what they
    refer to. Libraries and Gossamer itself are told apart by their versions, not here.

    >>> import torch
    >>> fingerprint({"a": torch.ones(2)}) == fingerprint({"a": torch.ones(2)})
    True
    >>> fingerprint({"a": torch.ones(2)}) == fingerprint({"a": torch.zeros(2)})
    False
    """
    return _Digest().of(value)


class _Digest:
    """Digests of values, each object looked into once."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self._kept: list[Any] = []  # an id names an object only as long as it lives

    def of(self, value: Any) -> str:
        """The digest of a value; one that holds itself ends there."""
        plain = _plain(value)
        if plain is None and id(value) in self._known:
            return self._known[id(value)]
        if plain is None:
            self._known[id(value)] = "itself"
            self._kept.append(value)
        text = "\n".join(self._parts(value)) if plain is None else plain
        digest = hashlib.sha256(f"{type(value).__qualname__}\n{text}".encode()).hexdigest()[:32]
        if plain is None:
            self._known[id(value)] = digest
        return digest

    def _parts(self, value: Any) -> list[str]:
        """The digests of what a value consists of."""
        if isinstance(value, torch.Tensor | np.ndarray):
            return _content(value)
        if isinstance(value, Mapping):
            return [self.of(part) for item in value.items() for part in item]
        if isinstance(value, list | tuple):
            return [self.of(item) for item in value]
        if isinstance(value, set | frozenset):
            return sorted(self.of(item) for item in value)
        return self._of_code(value) if _is_code(value) else self._of_object(value)

    def _of_code(self, value: Any) -> list[str]:
        """A function or class: its name; if it is the user's, also its source and references."""
        if isinstance(value, functools.partial):
            return [self.of(part) for part in (value.func, value.args, value.keywords)]
        if isinstance(value, types.MethodType):
            return [self.of(value.__self__), self.of(value.__func__)]
        if _of_a_library(value):
            return [f"{value.__module__}.{value.__qualname__}"]
        return [value.__qualname__, _source(value), self.of(_references(value))]

    def _of_object(self, value: Any) -> list[str]:
        """What an object holds but for what it only remembers of its computations."""
        kind = type(value)
        held = dict(getattr(value, "__dict__", {}))
        for name in [n for c in kind.__mro__ for n in getattr(c, "__slots__", ())]:
            held[name] = getattr(value, name, None)
        computed = {n for n in held if isinstance(inspect.getattr_static(kind, n, None), _LAZY)}
        return [self.of(kind), self.of({n: held[n] for n in sorted(held) if n not in computed})]


_LAZY = (functools.cached_property,)


def _plain(value: Any) -> str | None:
    """The words for what is no container and no object."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | range):
        return repr(value)
    if isinstance(value, torch.dtype | torch.device | np.dtype):
        return str(value)
    return value.__name__ if isinstance(value, types.ModuleType) else None


def _is_code(value: Any) -> bool:
    kinds = types.FunctionType | types.BuiltinFunctionType | types.MethodType | type
    return isinstance(value, kinds | functools.partial)


def _content(value: "torch.Tensor | np.ndarray[Any, Any]") -> list[str]:
    if isinstance(value, torch.Tensor):
        value = value.detach().to_dense() if value.layout != torch.strided else value.detach()
        plain = value.cpu().contiguous().view(torch.uint8) if value.dim() > 0 else value.cpu()
        data, shape, kind = plain.numpy().tobytes(), tuple(value.shape), str(value.dtype)
    else:
        data, shape, kind = np.ascontiguousarray(value).tobytes(), value.shape, str(value.dtype)
    return [kind, str(shape), hashlib.sha256(data).hexdigest()]


def _of_a_library(value: Any) -> bool:
    if isinstance(value, types.BuiltinFunctionType):
        return True
    try:
        file = Path(inspect.getfile(value)).resolve()
    except (TypeError, OSError):  # built in, or written in a session
        return getattr(value, "__module__", None) == "builtins"
    return any(file.is_relative_to(folder) for folder in LIBRARIES)


def _source(value: Any) -> str:
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):  # written in a session that keeps no source
        code = getattr(value, "__code__", None)
        return repr((code.co_code, code.co_consts)) if code else repr(sorted(vars(value)))


def _references(value: Any) -> dict[str, Any]:
    """Name → value of what code refers to: a class to its bases, methods and constants."""
    if isinstance(value, type):
        methods = {name: part for name, part in vars(value).items() if inspect.isfunction(part)}
        return {"bases": value.__bases__, **{name: _references(m) for name, m in methods.items()}}
    found = inspect.getclosurevars(value)
    defaults = {"defaults": value.__defaults__, "keywords": value.__kwdefaults__}
    return {**defaults, **dict(found.nonlocals), **dict(found.globals)}
